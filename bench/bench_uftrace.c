/* bench_uftrace.c: what a function costs that uftrace records, less the call itself, as a multiple
 * of two clock reads. Runs under `uftrace record` (bench/run.sh does that): its library is then in
 * the process and records every call of the one function that is built with -finstrument-functions.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

/* bench_uftrace_called.c, built twice. */
void called_plain(void);
void called_traced(void);

static void plain_calls(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        called_plain();
        bench_barrier();
    }
}

static double events; /* an entry and an exit a call */

static void traced_calls(void *unused, uint64_t n)
{
    (void)unused;
    events += 2 * (double)n;
    for (uint64_t i = 0; i < n; i++) {
        called_traced();
        bench_barrier();
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct bench_cell c[3] = {{.name = "two rdtsc", .run = bench_floor},
                              {.name = "a call", .run = plain_calls},
                              {.name = "a call that uftrace records", .run = traced_calls}};
    const char *preload = getenv("LD_PRELOAD");
    double cost;
    bench_open(&b, "uftrace", argc, argv);
    if (!preload || !strstr(preload, "libmcount")) {
        bench_put_null(&b, "uftrace_x_floor", "not run by `uftrace record`");
        return bench_close(&b);
    }
    bench_interleave(&b, c, 3, 5000, 400);
    bench_print_cells(c, 3);
    cost = c[2].ns.median - c[1].ns.median;
    bench_put(&b, "uftrace_ns", cost);
    bench_put(&b, "uftrace_x_floor", cost / c[0].ns.median);
    bench_put(&b, "uftrace_events", events);
    bench_put_text(&b, "uftrace_mode", "record, -finstrument-functions, to disk");
    return bench_close(&b);
}
