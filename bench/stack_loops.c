/* stack_loops.c: spans that begin at the end of a chain of calls, compiled with frame pointers. */
#include "harness.h"

PLUMB_POINT(deep, "deep");

static __attribute__((noinline)) void go_down(uint32_t levels, uint64_t n)
{
    if (levels) {
        go_down(levels - 1, n);
        bench_barrier(); /* so that this frame stays */
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&deep);
        bench_barrier();
        plumb_end(s);
    }
}

void bench_spans_below(void *levels, uint64_t n)
{
    go_down(*(const uint32_t *)levels, n);
}
