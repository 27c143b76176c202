/* A program with regions, for the tests of rows FV-1 to FV-16: says which regions are selected.
 * With an argument it registers that region first; with a second one it kills itself at the end. */
#include <signal.h>
#include <stdio.h>

#include <plumb/plumb.h>

static void work(void)
{
    PLUMB_SPAN("work");
}

int main(int argc, char **argv)
{
    plumb_region list[256];
    size_t n;
    if (argc > 1)
        plumb_region_register(argv[1], "of the test", NULL);
    {
        PLUMB_SPAN("before");
        work();
    }
    {
        PLUMB_REGION("model_loading");
        work();
    }
    {
        PLUMB_SPAN("between");
    }
    for (int i = 0; i < 2; i++) {
        PLUMB_REGION("Profiler_Region_Training_Step");
        work();
        if (i == 1)
            break;
    }
    for (int i = 0; i < 2; i++) {
        PLUMB_REGION("no_such_region");
        PLUMB_SPAN("inside a strange one");
    }
    if (argc > 1) {
        plumb_span s = plumb_region_begin(argv[1]);
        work();
        plumb_region_end(s);
    }
    {
        PLUMB_SPAN("after");
    }
    n = plumb_region_list(list, 256);
    for (size_t i = 0; i < n && i < 256; i++)
        if (list[i].selected)
            printf("%s %d\n", list[i].short_name, (int)list[i].entered);
    if (argc > 2)
        raise(SIGKILL);
    puts("done");
    return 7;
}
