/* The first program of a user: one marked function, run twice. */
#include <plumb/plumb.h>
#include <stdio.h>

static int work(int x)
{
    PLUMB_SPAN("work");
    return x + 1;
}

int main(void)
{
    printf("answer %d\n", work(work(40)));
    return 0;
}
