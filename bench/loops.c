/* loops.c: the loops that several programs share. */
#include "harness.h"

void bench_floor(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        (void)bench_ticks();
        bench_barrier();
        (void)bench_ticks();
    }
}

#define POINT(n) PLUMB_POINT_INIT("node." n, PLUMB_POINT_PLAIN)
#define TEN(n)                                                                                     \
    POINT(n "0"), POINT(n "1"), POINT(n "2"), POINT(n "3"), POINT(n "4"), POINT(n "5"),            \
        POINT(n "6"), POINT(n "7"), POINT(n "8"), POINT(n "9")

struct plumb_point bench_points[BENCH_NODES] = {TEN("0"), TEN("1"), TEN("2"), TEN("3"), TEN("4"),
                                                TEN("5"), TEN("6"), TEN("7"), TEN("8"), TEN("9")};

void bench_spans_over_nodes(void *unused, uint64_t n)
{
    uint32_t node = 0;
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&bench_points[node]);
        bench_barrier();
        plumb_end(s);
        node = node == BENCH_NODES - 1 ? 0 : node + 1;
    }
}
