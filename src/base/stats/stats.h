/* stats.h: integer statistics of durations, in any unit, and what is derived from them.
 *
 * Everything kept is an integer whose merge is commutative and associative, so threads, processes
 * and files merge bit-equally in any order; mean, deviation and quantiles are derived on demand. */
#ifndef PLUMB_BASE_STATS_STATS_H
#define PLUMB_BASE_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

enum { PLUMB_EXACT = 5 }; /* up to this many samples quantiles are exact */

/* Totals stop here, at 584 years in ns, and never wrap: a total of this value means "at least".
 * Wider integers are not worth it: only wrong samples get there, and a saturated sum is still
 * independent of the order. */
#define PLUMB_TOTAL_MAX UINT64_MAX

/* Returns a + b, at most PLUMB_TOTAL_MAX. */
static inline uint64_t plumb_total_add(uint64_t a, uint64_t b)
{
    return a + b < a ? PLUMB_TOTAL_MAX : a + b;
}

struct plumb_stats {
    uint64_t count;
    uint64_t total;        /* stops at PLUMB_TOTAL_MAX */
    uint64_t sq_lo, sq_hi; /* 128-bit sum of squares, at most 2^128 - 1 */
    uint64_t min;          /* UINT64_MAX while count is 0 */
    uint64_t max;
    uint64_t last;
    uint64_t last_at;            /* when the last sample ended; ties: the larger sample wins */
    uint64_t first[PLUMB_EXACT]; /* the samples themselves while count <= PLUMB_EXACT, any order */
};

/* Counts of one histogram bucket (sketch.h): `value` is the bucket's representative in the unit of
 * the statistics. Sorted by value, unique. */
struct plumb_bucket {
    double value;
    uint64_t count;
};

void plumb_stats_init(struct plumb_stats *s);
void plumb_stats_add(struct plumb_stats *s, uint64_t value, uint64_t at);
void plumb_stats_merge(struct plumb_stats *s, const struct plumb_stats *from);

/* Returns the mean; 0 while count is 0. */
double plumb_stats_mean(const struct plumb_stats *s);
/* Returns the population standard deviation; exact up to the final division and root. */
double plumb_stats_std(const struct plumb_stats *s);

/* Returns the q-quantile, 0 < q < 1: the order statistic of rank ceil(q * count), read from
 * `buckets` [n] and clamped to [min, max]; exact from `first` while count <= PLUMB_EXACT. 0 while
 * count is 0. */
double plumb_stats_quantile(const struct plumb_stats *s, const struct plumb_bucket *buckets,
                            size_t n, double q);
/* Returns the middle sample, or the mean of the two middle ones if count is even, read like a
 * quantile. */
double plumb_stats_median(const struct plumb_stats *s, const struct plumb_bucket *buckets,
                          size_t n);
/* Returns the relative error of quantiles: 0 where they are exact. */
double plumb_stats_resolution(const struct plumb_stats *s);

#endif
