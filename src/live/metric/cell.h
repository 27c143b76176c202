/* cell.h: metrics (plumb/metrics.h) in the live mapping. Part of layout.h's mapping: families are
 * names with a type, series are sets of labels, each with a cell of words.
 *
 * A cell is written by any thread with atomic operations on single words, without a lock, and is
 * complete at any moment but for observations on their way. It has several *shards*, whole cache
 * lines, so that threads seldom meet; the value is the sum over them:
 *
 *   word 0   counter: its whole amounts; histogram: unused; summary: observations so far
 *   word 1   bits of a double: other amounts; the sum of observations; the value of a gauge
 *   word 2.. histogram: observations of each bucket; summary, from word 8: bits of the newest
 *            samples, inverted (0: none)
 *
 * After the shards of a histogram in the mapping there is a struct plumb_live_exemplar for each
 * bucket. */
#ifndef PLUMB_LIVE_METRIC_CELL_H
#define PLUMB_LIVE_METRIC_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include <plumb/metrics.h>

enum {
    PLUMB_METRIC_SHARDS = 8,
    PLUMB_METRIC_HISTOGRAM_SHARDS = 4,
    PLUMB_METRIC_FIRST_BUCKET = 2,
    PLUMB_METRIC_FIRST_SAMPLE = 8
};

struct plumb_live_metric_family {
    uint64_t name_off, help_off; /* texts; help 0: none */
    uint64_t bounds_off;         /* doubles */
    uint32_t type;               /* enum plumb_metric_type */
    uint32_t bounds;
};
struct plumb_live_metric {
    uint64_t labels_off; /* text: `a="1",b="2"`, as Prometheus has it */
    uint64_t cell_off;
    uint32_t family; /* index */
    uint32_t reserved;
};
/* The last observation of a bucket that was made in a request. A writer raises `began` first and
 * `done` last. `done` comes first here, so that a copy that is made from the front, by a reader of
 * the file, is whole if both are equal. */
struct plumb_live_exemplar {
    uint64_t done;       /* 0: no observation yet */
    uint64_t request;    /* serial */
    uint64_t value_bits; /* of a double */
    uint64_t ticks;
    uint64_t began;
};

static inline uint32_t plumb_metric_shards(uint32_t type)
{
    return type == PLUMB_METRIC_COUNTER     ? PLUMB_METRIC_SHARDS
           : type == PLUMB_METRIC_HISTOGRAM ? PLUMB_METRIC_HISTOGRAM_SHARDS
                                            : 1;
}
/* Returns the words of one shard, a multiple of a cache line. */
static inline uint32_t plumb_metric_stride(uint32_t type, uint32_t bounds)
{
    uint32_t words = PLUMB_METRIC_FIRST_BUCKET;
    if (type == PLUMB_METRIC_HISTOGRAM)
        words += bounds + 1;
    if (type == PLUMB_METRIC_SUMMARY)
        words = PLUMB_METRIC_FIRST_SAMPLE + PLUMB_METRIC_SAMPLES;
    return (words + 7) & ~7u;
}
/* Returns the bytes of a cell with that many shards; exemplars come after them. */
static inline size_t plumb_metric_cell_bytes(uint32_t type, uint32_t bounds, uint32_t shards)
{
    return (size_t)plumb_metric_stride(type, bounds) * shards * sizeof(uint64_t);
}
static inline size_t plumb_metric_exemplar_bytes(uint32_t type, uint32_t bounds)
{
    return type == PLUMB_METRIC_HISTOGRAM ? (bounds + 1) * sizeof(struct plumb_live_exemplar) : 0;
}

static inline uint64_t plumb_metric_bits(double v)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}
static inline double plumb_metric_real(uint64_t bits)
{
    double v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

/* Adds the contents of a cell to `out`, without quantiles: count, sum, value, buckets. */
void plumb_metric_sum(plumb_metric_value *out, const uint64_t *cell, uint32_t shards);
/* Copies the samples of a summary's cell to `out` [PLUMB_METRIC_SAMPLES]; returns how many. */
uint32_t plumb_metric_samples(double *out, const uint64_t *cell);
/* Sorts `n` samples and sets the quantiles: number floor(q * (n - 1)); NaN if n is 0. */
void plumb_metric_quantiles(plumb_metric_value *out, double *samples, uint32_t n);

#endif
