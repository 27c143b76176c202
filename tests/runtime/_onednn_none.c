/* A program with a mark and without oneDNN. */
#include <plumb/plumb.h>

int main(void)
{
    PLUMB_SPAN("work");
    return 0;
}
