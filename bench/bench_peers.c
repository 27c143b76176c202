/* bench_peers.c: others' ways to time a piece of work, in one process and in turns with plumb's
 * span: a pair of clock_gettime() calls, which is what people write by hand, and a pair of
 * LTTng-UST tracepoints with a session running (bench/lttng.sh starts it). uftrace must run the
 * program itself and has one of its own, bench_uftrace.c. */
#include "harness.h"

#include <stdlib.h>
#include <time.h>

#if defined(BENCH_LTTNG)
#include "lttng_tp.h"
#endif

PLUMB_POINT(tight, "tight");

static void spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&tight);
        bench_barrier();
        plumb_end(s);
    }
}

static void clock_pairs(void *unused, uint64_t n)
{
    struct timespec from, to;
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        clock_gettime(CLOCK_MONOTONIC, &from);
        bench_barrier();
        clock_gettime(CLOCK_MONOTONIC, &to);
    }
}

#if defined(BENCH_LTTNG)
static double events; /* sent */

static void tracepoint_pairs(void *unused, uint64_t n)
{
    (void)unused;
    events += 2 * (double)n;
    for (uint64_t i = 0; i < n; i++) {
        lttng_ust_tracepoint(plumb_bench, begin, (unsigned int)i);
        bench_barrier();
        lttng_ust_tracepoint(plumb_bench, end, (unsigned int)i);
    }
}

/* Null: a session is recording our tracepoints. */
static const char *lttng_missing(void)
{
    if (!lttng_ust_tracepoint_enabled(plumb_bench, begin) ||
        !lttng_ust_tracepoint_enabled(plumb_bench, end))
        return "no LTTng session records plumb_bench:* (bench/lttng.sh starts one)";
    return NULL;
}
#else
static const char *lttng_missing(void)
{
    return "built without lttng-ust (liblttng-ust-dev)";
}
#endif

enum { FLOOR, SPAN, CLOCK, LTTNG, CELLS };

int main(int argc, char **argv)
{
    static struct bench b;
    struct bench_cell c[CELLS] = {
        [FLOOR] = {.name = "two rdtsc", .run = bench_floor},
        [SPAN] = {.name = "plumb span, everything on", .run = spans},
        [CLOCK] = {.name = "clock_gettime pair", .run = clock_pairs},
    };
    const char *missing;
    size_t count = CELLS;
    bench_open(&b, "peers", argc, argv);
    missing = lttng_missing();
    bench_record_start(&b, false);
#if defined(BENCH_LTTNG)
    c[LTTNG] = (struct bench_cell){.name = "LTTng-UST tracepoint pair", .run = tracepoint_pairs};
#endif
    if (missing)
        count = LTTNG;
    /* Short blocks: a tracepoint pair is worth six floors, and LTTng's buffers should not run over
     * within one. */
    bench_interleave(&b, c, count, 5000, 1000);
    bench_print_cells(c, count);
    bench_put_stat(&b, "peers_span_x_floor", &c[SPAN].x);
    bench_put_stat(&b, "clock_gettime_pair_x_floor", &c[CLOCK].x);
    if (missing) {
        bench_put_null(&b, "lttng_x_floor", missing);
    } else {
        bench_put(&b, "lttng_ns", c[LTTNG].ns.median);
        bench_put_stat(&b, "lttng_x_floor", &c[LTTNG].x);
#if defined(BENCH_LTTNG)
        bench_put(&b, "lttng_events", events);
#endif
        bench_put_text(&b, "lttng_mode",
                       getenv("BENCH_LTTNG_MODE") ? getenv("BENCH_LTTNG_MODE")
                                                  : "a session of the caller's");
    }
    bench_record_stop(&b);
    return bench_close(&b);
}
