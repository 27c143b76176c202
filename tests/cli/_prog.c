/* A marked program for the tests of the command line: 20 frames, each with one piece of work and
 * three steps; then what the argument says. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <plumb/plumb.h>

static volatile double sum;

static void work(int n)
{
    PLUMB_SPAN("work");
    for (int i = 0; i < n; i++)
        sum += i;
}

static void frame(void)
{
    PLUMB_SPAN("frame");
    work(100);
    for (PLUMB_STEPS (step, 3)) {
        PLUMB_SPAN("step");
        work(200);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 20; i++)
        frame();
    if (strcmp(what, "print") == 0)
        printf("%s\n", argv[2] ? argv[2] : "");
    if (strcmp(what, "status") == 0)
        return atoi(argv[2]);
    if (strcmp(what, "signal") == 0) {
        PLUMB_SPAN("last");
        raise(atoi(argv[2]));
    }
    if (strcmp(what, "wait") == 0) { /* until a byte, or the end, arrives */
        char c;
        PLUMB_SPAN("waiting");
        puts("waiting");
        fflush(stdout);
        return read(0, &c, 1) < 0;
    }
    return 0;
}
