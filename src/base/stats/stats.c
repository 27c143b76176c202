/* stats.c: integer statistics of durations. One thread at a time per struct.
 *
 * Equal samples give equal bytes, in whatever order they were added or merged: `first` is kept
 * sorted, and zero once there are more samples than it holds. Why not Welford's update for the
 * deviation: its result depends on the order, and the exact sum of squares costs one
 * multiplication. */
#include "base/stats/stats.h"

#include <stdbool.h>
#include <string.h>

#include "base/stats/sketch.h"
#include "base/stats/sqrt.h"
#include "base/u128.h"

static void add_squares(struct plumb_stats *s, plumb_u128 squares)
{
    plumb_u128 sum = plumb_u128_sum(plumb_u128_make(s->sq_lo, s->sq_hi), squares);
    s->sq_lo = (uint64_t)sum;
    s->sq_hi = (uint64_t)(sum >> 64);
}

/* Inserts into the `n` sorted values of `first`. */
static void insert_sorted(uint64_t *first, size_t n, uint64_t value)
{
    while (n > 0 && first[n - 1] > value) {
        first[n] = first[n - 1];
        n--;
    }
    first[n] = value;
}

static void set_last(struct plumb_stats *s, uint64_t value, uint64_t at)
{
    if (s->count > 0 && (at < s->last_at || (at == s->last_at && value < s->last)))
        return;
    s->last = value;
    s->last_at = at;
}

void plumb_stats_init(struct plumb_stats *s)
{
    memset(s, 0, sizeof *s);
    s->min = UINT64_MAX;
}

void plumb_stats_add(struct plumb_stats *s, uint64_t value, uint64_t at)
{
    set_last(s, value, at);
    if (s->count < PLUMB_EXACT)
        insert_sorted(s->first, s->count, value);
    else if (s->count == PLUMB_EXACT)
        memset(s->first, 0, sizeof s->first);
    s->count++;
    s->total = plumb_total_add(s->total, value);
    add_squares(s, (plumb_u128)value * value);
    if (value < s->min)
        s->min = value;
    if (value > s->max)
        s->max = value;
}

static void merge_first(struct plumb_stats *s, const struct plumb_stats *from)
{
    uint64_t merged[PLUMB_EXACT] = {0};
    for (size_t i = 0; i < s->count; i++)
        insert_sorted(merged, i, s->first[i]);
    for (size_t i = 0; i < from->count; i++)
        insert_sorted(merged, s->count + i, from->first[i]);
    memcpy(s->first, merged, sizeof merged);
}

void plumb_stats_merge(struct plumb_stats *s, const struct plumb_stats *from)
{
    if (from->count == 0)
        return;
    set_last(s, from->last, from->last_at);
    if (s->count <= PLUMB_EXACT && from->count <= PLUMB_EXACT - s->count)
        merge_first(s, from);
    else
        memset(s->first, 0, sizeof s->first);
    s->count += from->count;
    s->total = plumb_total_add(s->total, from->total);
    add_squares(s, plumb_u128_make(from->sq_lo, from->sq_hi));
    if (from->min < s->min)
        s->min = from->min;
    if (from->max > s->max)
        s->max = from->max;
}

double plumb_stats_mean(const struct plumb_stats *s)
{
    return s->count ? (double)s->total / (double)s->count : 0;
}

/* With total = n m + r, 0 <= r < n, the mean is m + r/n and
 *     sum((x - mean)^2) = sum((x - m)^2) - r^2/n,   sum((x - m)^2) = S2 - m (total + r)
 * all in integers; intermediate results may wrap, the difference does not. */
double plumb_stats_std(const struct plumb_stats *s)
{
    uint64_t n = s->count;
    if (n < 2)
        return 0;
    uint64_t m = s->total / n;
    uint64_t r = s->total % n;
    plumb_u128 around_m =
        plumb_u128_make(s->sq_lo, s->sq_hi) - (plumb_u128)m * ((plumb_u128)s->total + r);
    plumb_u128 r_squared = (plumb_u128)r * r;
    /* r < n: below 2^32 samples the division fits one instruction. */
    bool narrow = n <= UINT32_MAX;
    uint64_t low = (uint64_t)r_squared;
    plumb_u128 whole = around_m - (narrow ? low / n : r_squared / n);
    uint64_t part = narrow ? low % n : (uint64_t)(r_squared % n);
    /* whole - part/n, without the cancellation of a subtraction in doubles. */
    double sum = part ? plumb_u128_double(whole - 1) + (double)(n - part) / (double)n
                      : plumb_u128_double(whole);
    return plumb_sqrt(sum / (double)n);
}

/* ceil(q * count) for the decimal q that was meant: 0.07 * 100 is a little above 7 in doubles. */
static uint64_t rank_of(double q, uint64_t count)
{
    double exact = q * (double)count;
    if (!(exact > 1))
        return 1;
    if (exact >= (double)count)
        return count;
    uint64_t rank = (uint64_t)exact;
    if (exact - (double)rank > exact * 0x1p-51)
        rank++;
    return rank < count ? rank : count;
}

/* The sample of the given rank, 1-based, while all samples are kept. They may come unsorted, from a
 * writer other than plumb_stats_add(). */
static uint64_t exact_sample(const struct plumb_stats *s, uint64_t rank)
{
    uint64_t sorted[PLUMB_EXACT];
    for (size_t i = 0; i < s->count; i++)
        insert_sorted(sorted, i, s->first[i]);
    return sorted[rank - 1];
}

/* The sample of the given rank, 1-based. */
static double sample_at(const struct plumb_stats *s, const struct plumb_bucket *buckets, size_t n,
                        uint64_t rank)
{
    if (s->count <= PLUMB_EXACT)
        return (double)exact_sample(s, rank);
    if (rank == 1)
        return (double)s->min;
    double value = (double)s->max;
    uint64_t below = 0;
    for (size_t i = 0; i < n && rank < s->count; i++) {
        below += buckets[i].count;
        if (below >= rank) {
            value = buckets[i].value;
            break;
        }
    }
    if (value < (double)s->min)
        return (double)s->min;
    return value > (double)s->max ? (double)s->max : value;
}

double plumb_stats_quantile(const struct plumb_stats *s, const struct plumb_bucket *buckets,
                            size_t n, double q)
{
    return s->count ? sample_at(s, buckets, n, rank_of(q, s->count)) : 0;
}

double plumb_stats_median(const struct plumb_stats *s, const struct plumb_bucket *buckets, size_t n)
{
    if (s->count == 0)
        return 0;
    double low = sample_at(s, buckets, n, (s->count + 1) / 2);
    return low + (sample_at(s, buckets, n, s->count / 2 + 1) - low) / 2;
}

double plumb_stats_resolution(const struct plumb_stats *s)
{
    return s->count > PLUMB_EXACT && s->max > s->min ? PLUMB_SKETCH_ERROR : 0;
}
