/* bench_payload.c: what a span costs where it matters: around work, with cold caches, and while
 * recording is off.
 *
 * Around work: the loop does 70 or 270 ns of vector arithmetic, once with a pair of clock reads
 * around it and once with a span; the figure is the difference. A tight loop cannot show it,
 * because there the library's instructions have nothing to compete with.
 *
 * Cold: between two spans a buffer of twice the L2 cache is walked, so that everything the library
 * wants comes from L3. Here the time between two fenced clock reads is taken, not CPU time of a
 * block: the walk is a thousand times longer than what is measured. Spans and bare clock pairs take
 * turns. The median leaves out the one span in about 60 that folds its thread's records; the mean
 * has it in. */
#include "least.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LANES = 32, COLD_SAMPLES = 2000 };

PLUMB_POINT(around, "around");
PLUMB_POINT(cold, "cold");

/* ---- Around work
 * ------------------------------------------------------------------------------------ */

struct work {
    float lane[LANES];
    uint32_t rounds;
};

/* Independent multiply-adds: many instructions a cycle, as in a real kernel. Not inlined, so that
 * all loops run the same code at the same address. */
static __attribute__((noinline)) void work_do(struct work *w)
{
    float lane[LANES];
    memcpy(lane, w->lane, sizeof lane);
    for (uint32_t r = 0; r < w->rounds; r++) {
        for (int i = 0; i < LANES; i++)
            lane[i] = lane[i] * 0.999f + 0.5f;
    }
    memcpy(w->lane, lane, sizeof lane);
}

static void work_alone(void *arg, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        work_do(arg);
}

static void work_in_pair(void *arg, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        (void)bench_ticks();
        work_do(arg);
        (void)bench_ticks();
        bench_barrier();
    }
}

static void work_in_span(void *arg, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        plumb_span s = plumb_begin(&around);
        work_do(arg);
        plumb_end(s);
        bench_barrier();
    }
}

static void work_in_least(void *arg, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        bench_least_begin();
        work_do(arg);
        bench_least_end();
        bench_barrier();
    }
}

/* So many rounds that the work takes `ns`. */
static void work_size(struct work *w, double ns)
{
    double best = 1e9;
    uint32_t probe = 1000;
    w->rounds = probe;
    for (int i = 0; i < 50; i++) {
        uint64_t from = bench_cpu_ns();
        work_alone(w, 100);
        from = bench_cpu_ns() - from;
        best = (double)from < best ? (double)from : best;
    }
    w->rounds = (uint32_t)(ns / (best / 100 / probe) + 0.5);
}

/* Returns span minus pair. */
static double around_work(struct bench *b, double ns)
{
    struct work w = {{0}, 0};
    struct bench_cell c[4] = {
        {.name = "two rdtsc around the work", .run = work_in_pair, .arg = &w},
        {.name = "span around the work", .run = work_in_span, .arg = &w},
        {.name = "the work", .run = work_alone, .arg = &w},
        {.name = "the least with statistics around it", .run = work_in_least, .arg = &w}};
    char key[64];
    double over;
    work_size(&w, ns);
    bench_interleave(b, c, 4, 4000, 600);
    bench_print_cells(c, 4);
    over = c[1].ns.median - c[0].ns.median;
    snprintf(key, sizeof key, "payload_%.0f_ns", ns);
    bench_put(b, key, c[2].ns.median);
    snprintf(key, sizeof key, "pair_around_%.0f_ns", ns);
    bench_put(b, key, c[0].ns.median - c[2].ns.median);
    snprintf(key, sizeof key, "span_payload_%.0f_over_pair_ns", ns);
    bench_put(b, key, over);
    snprintf(key, sizeof key, "least_payload_%.0f_over_pair_ns", ns);
    bench_put(b, key, c[3].ns.median - c[0].ns.median);
    return over;
}

/* ---- Cold caches
 * -------------------------------------------------------------------------------------- */

static size_t l2_bytes(void)
{
    long n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return n > 0 ? (size_t)n : 1024 * 1024;
}

static uint64_t walk(const unsigned char *buffer, size_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i += 64)
        sum += buffer[i];
    return sum;
}

static void fence(void)
{
#if defined(__x86_64__)
    _mm_lfence();
#endif
}

static uint64_t cold_pair(void)
{
    uint64_t from, to;
    fence();
    from = bench_ticks();
    fence();
    (void)bench_ticks();
    bench_barrier();
    (void)bench_ticks();
    fence();
    to = bench_ticks();
    return to - from;
}

static uint64_t cold_span(void)
{
    uint64_t from, to;
    plumb_span s;
    fence();
    from = bench_ticks();
    fence();
    s = plumb_begin(&cold);
    bench_barrier();
    plumb_end(s);
    fence();
    to = bench_ticks();
    return to - from;
}

/* Lines of memory, each on a page of its own and with the address of the next one. */
enum { CHAIN = 6, CHAIN_STEP = 4096 + 64 };

static void *const *chain_make(unsigned char *memory)
{
    for (size_t i = 0; i < CHAIN; i++) {
        void *next = memory + (i + 1) % CHAIN * CHAIN_STEP;
        memcpy(memory + i * CHAIN_STEP, &next, sizeof next);
    }
    return (void *const *)(void *)memory;
}

static uint64_t cold_chain(void *const *at, const void **end)
{
    uint64_t from, to;
    fence();
    from = bench_ticks();
    fence();
    (void)bench_ticks();
    for (int i = 0; i < CHAIN; i++)
        at = *at;
    *end = at;
    bench_barrier();
    (void)bench_ticks();
    fence();
    to = bench_ticks();
    return to - from;
}

/* Mean without the samples during which the thread was interrupted: 20 us are far more than a fold
 * from memory takes. */
static double calm_mean(const double *v, size_t n, double tick_ns)
{
    double sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i] * tick_ns < 20000) {
            sum += v[i] * tick_ns;
            kept++;
        }
    }
    return kept ? sum / (double)kept : 0;
}

static void cold_caches(struct bench *b)
{
    static double spans[COLD_SAMPLES], pairs[COLD_SAMPLES], chains[COLD_SAMPLES];
    static unsigned char lines[CHAIN * CHAIN_STEP] __attribute__((aligned(64)));
    size_t bytes = 2 * l2_bytes(), n = b->quick ? COLD_SAMPLES / 8 : COLD_SAMPLES;
    unsigned char *buffer = malloc(bytes);
    double tick_ns = bench_tick_ns(), mean;
    struct bench_stat span, pair, chain;
    void *const *first = chain_make(lines);
    const void *end;
    uint64_t sum = 0;
    if (!buffer) {
        fprintf(stderr, "bench_payload: out of memory\n");
        exit(1);
    }
    memset(buffer, 1, bytes);
    for (size_t i = 0; i < n; i++) {
        sum += walk(buffer, bytes);
        spans[i] = (double)cold_span();
        sum += walk(buffer, bytes);
        pairs[i] = (double)cold_pair();
        sum += walk(buffer, bytes);
        chains[i] = (double)cold_chain(first, &end);
        sum += end == first;
    }
    mean = calm_mean(spans, n, tick_ns) - calm_mean(pairs, n, tick_ns);
    span = bench_stat_of(spans, n);
    pair = bench_stat_of(pairs, n);
    chain = bench_stat_of(chains, n);
    printf("  cold: span %.1f ns, clock pair %.1f ns, with %d loads one after the other %.1f ns "
           "(medians; walked %zu KiB, sum %llu)\n",
           span.median * tick_ns, pair.median * tick_ns, (int)CHAIN, chain.median * tick_ns,
           bytes / 1024, (unsigned long long)sum);
    bench_put(b, "cold_load_ns", (chain.median - pair.median) * tick_ns / CHAIN);
    bench_put(b, "cold_walk_kb", (double)bytes / 1024);
    bench_put(b, "span_cold_l2_ns", (span.median - pair.median) * tick_ns);
    bench_put(b, "span_cold_l2_q3_ns", (span.q3 - pair.q3) * tick_ns);
    bench_put(b, "span_cold_l2_mean_ns", mean);
    free(buffer);
}

/* ---- Recording off
 * ------------------------------------------------------------------------------------- */

static void nothing(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++)
        bench_barrier();
}

static void disabled(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        PLUMB_SPAN("disabled");
        bench_barrier();
    }
}

/* The least that code must do if it can be switched on while the program runs: test a flag. */
static void flag_test(void *arg, uint64_t n)
{
    const atomic_uint *flag = arg;
    uint64_t seen = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (atomic_load_explicit(flag, memory_order_relaxed))
            seen++;
        bench_barrier();
    }
    if (seen)
        fprintf(stderr, "bench_payload: the flag was not zero\n");
}

static void recording_off(struct bench *b)
{
    static atomic_uint flag;
    struct bench_cell c[3] = {{.name = "empty loop", .run = nothing},
                              {.name = "PLUMB_SPAN, recording off", .run = disabled},
                              {.name = "one flag test", .run = flag_test, .arg = &flag}};
    bench_interleave(b, c, 3, 1000000, 600);
    bench_print_cells(c, 3);
    bench_put(b, "empty_loop_ns", c[0].ns.median);
    bench_put(b, "disabled_ns_over_loop", c[1].ns.median - c[0].ns.median);
    bench_put(b, "flag_test_ns_over_loop", c[2].ns.median - c[0].ns.median);
}

int main(int argc, char **argv)
{
    static struct bench b;
    double small, large;
    bench_open(&b, "payload", argc, argv);
    bench_record_start(&b, false);
    small = around_work(&b, 70);
    large = around_work(&b, 270);
    bench_put(&b, "span_payload_over_pair_ns", small > large ? small : large);
    cold_caches(&b);
    bench_record_stop(&b);
    recording_off(&b);
    return bench_close(&b);
}
