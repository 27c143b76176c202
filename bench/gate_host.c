/* gate_host.c: two variants of one loop, timed in turn in one process: gate_host ROUNDS PERCENT.
 * Variant B does PERCENT percent more work. Prints a line "A B" of ns for each round. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FLOATS = 16384, SWEEPS = 400 };

static float a[FLOATS], b[FLOATS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(int sweeps)
{
    double begin = now_ns();
    for (int k = 0; k < sweeps; k++)
        for (int i = 0; i < FLOATS; i++)
            a[i] = a[i] * 0.999f + b[i];
    return now_ns() - begin;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    int sweeps[2] = {SWEEPS, SWEEPS * (100 + (argc > 2 ? atoi(argv[2]) : 0)) / 100};
    for (int i = 0; i < FLOATS; i++)
        b[i] = (float)i * 1e-6f;
    for (int i = -3; i < rounds; i++) {
        double ns[2];
        int first = i & 1;
        ns[first] = measure(sweeps[first]);
        ns[!first] = measure(sweeps[!first]);
        if (i >= 0)
            printf("%.0f %.0f\n", ns[0], ns[1]);
    }
    return a[7] < 0;
}
