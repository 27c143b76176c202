/* count_host.c: calls a function of a library as often as it is told, for count.py, which lets
 * tracers count the calls. Prints the time of a call in ns: wall time, because a tracer works in
 * another process while this one waits. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void bench_counted(void); /* count_called.c */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    double from = now_ns();
    for (unsigned long i = 0; i < n; i++)
        bench_counted();
    printf("%.3f\n", (now_ns() - from) / (double)n);
    return 0;
}
