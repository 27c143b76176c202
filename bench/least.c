/* least.c: what a span costs that keeps what plumb keeps, each statistic by itself and nothing
 * safe. */
#include "least.h"

__extension__ typedef unsigned __int128 wide;

enum { RING = 512, DEPTH = 64, STEPS = 64, NODE_BITS = 12 };

static struct {
    uint64_t record[RING];
    uint32_t head, depth;
    uint64_t began[DEPTH], inside[DEPTH];
    uint64_t ended, self; /* of the span that ended last: counted at the next begin */
    uint64_t count, total, self_total, min, max, last;
    wide squares;
    uint32_t bucket[64 * STEPS];
} least = {.min = UINT64_MAX};

static void record(uint64_t node, uint64_t ticks)
{
    least.record[least.head++ % RING] = ticks << NODE_BITS | node;
}

/* A span late, because a store whose place depends on a time just read holds up the next reading.
 */
static void count_last(void)
{
    uint64_t d = least.ended;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(d | STEPS);
    least.bucket[(octave - 6) * STEPS + ((d >> (octave - 6)) % STEPS)]++;
    least.count++;
    least.total += d;
    least.self_total += least.self;
    least.squares += (wide)d * d;
    least.min = d < least.min ? d : least.min;
    least.max = d > least.max ? d : least.max;
    least.last = d;
}

static __attribute__((noinline)) void bare(uint64_t node)
{
    record(node, bench_ticks());
}

static __attribute__((noinline)) void begin(uint64_t node)
{
    uint64_t t;
    count_last();
    least.inside[++least.depth] = 0;
    t = bench_ticks();
    least.began[least.depth] = t;
    record(node, t);
}

static __attribute__((noinline)) void end(uint64_t node)
{
    uint64_t t = bench_ticks();
    record(node, t);
    least.ended = t - least.began[least.depth];
    least.self = least.ended - least.inside[least.depth];
    least.inside[--least.depth] += least.ended;
}

/* One clock read, which ends a node and begins the next: one record. */
static __attribute__((noinline)) void lap(uint64_t node)
{
    uint64_t t;
    count_last();
    t = bench_ticks();
    record(node, t);
    least.ended = least.self = t - least.began[0];
    least.began[0] = t;
}

/* Called through a table, as a program calls a library. */
typedef void call(uint64_t node);
static call *volatile const bares[2] = {bare, bare}, *volatile const spans[2] = {begin, end};
static call *volatile const laps[1] = {lap};

void bench_bare_spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        bares[0](1);
        bench_barrier();
        bares[1](2);
    }
}

void bench_least_spans(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        spans[0](1);
        bench_barrier();
        spans[1](2);
    }
}

void bench_least_laps(void *unused, uint64_t n)
{
    (void)unused;
    for (uint64_t i = 0; i < n; i++) {
        laps[0](1);
        bench_barrier();
    }
}

void bench_least_begin(void)
{
    spans[0](1);
}

void bench_least_end(void)
{
    spans[1](2);
}
