/* merge_figures.c: quantiles and lists of buckets of a channel, from its counts (merge_parts.h).
 *
 * Quantiles are searched from the top: three of the four lie in the highest groups in use, and the
 * search ends at the median, so the lower half is not read at all. */
#include "base/stats/line.h"
#include "live/merge.h"

enum { RANKS = PLUMB_QUANTILES - 1 };
_Static_assert((int)PLUMB_GROUP_LINES == PLUMB_LINE_SUMS, "line.h adds up a group");

/* The bucket of a rank that no bucket reaches, because a file is damaged. */
#define NO_BUCKET UINT32_MAX

/* Returns a count of a group that is not NULL. */
static PLUMB_ALWAYS_INLINE uint64_t count_at(union plumb_merge_group group, uint32_t i, bool wide)
{
    return wide ? group.wide[i] : group.narrow[i];
}

static PLUMB_ALWAYS_INLINE bool is_there(union plumb_merge_group group, bool wide)
{
    return wide ? group.wide != NULL : group.narrow != NULL;
}

/* ---- Quantiles ------------------------------------------------------------------------------- */

/* Sets sums[l] to the sum of the lines before line l. Returns the last one, the sum of all. */
static PLUMB_ALWAYS_INLINE uint64_t sum_lines(uint64_t sums[PLUMB_GROUP_LINES + 1],
                                              union plumb_merge_group group, bool wide)
{
    uint32_t narrow[PLUMB_GROUP_LINES];
    if (!wide)
        plumb_line_sums(narrow, group.narrow);
    sums[0] = 0;
    for (uint32_t l = 0; l < PLUMB_GROUP_LINES; l++) {
        sums[l + 1] = sums[l] + (wide ? 0 : narrow[l]);
        for (uint32_t i = 0; wide && i < PLUMB_SKETCH_LINE; i++)
            sums[l + 1] += group.wide[l * PLUMB_SKETCH_LINE + i];
    }
    return sums[PLUMB_GROUP_LINES];
}

/* Returns the first count that, with all before it, reaches `rank`. The usual case has no branch on
 * a count, because it would be mispredicted. */
static PLUMB_ALWAYS_INLINE uint32_t place_of_rank(union plumb_merge_group group,
                                                  const uint64_t sums[PLUMB_GROUP_LINES + 1],
                                                  uint64_t rank, bool wide)
{
    uint32_t l = 0, i = 0;
    uint64_t before;
    for (uint32_t j = 1; j < PLUMB_GROUP_LINES; j++)
        l += rank > sums[j];
    rank -= sums[l];
    l *= PLUMB_SKETCH_LINE;
    if (!wide)
        return l + plumb_line_place(&group.narrow[l], (uint32_t)rank);
    for (before = group.wide[l]; rank > before && i < PLUMB_SKETCH_LINE - 1; i++)
        before += group.wide[l + i + 1];
    return l + i;
}

/* Sums up all counts, for files, where the count of the statistics may differ. */
static uint64_t total_of(const struct plumb_merge_channel *c)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++)
        if (c->group[i / PLUMB_GROUP].wide)
            total += c->group[i / PLUMB_GROUP].wide[i % PLUMB_GROUP];
    return total;
}

/* Returns the first bucket in use in a group after that of `bucket`, or `bucket` if there is
 * none. */
static uint32_t bucket_above(const struct plumb_merge_channel *c, uint32_t bucket, bool wide)
{
    for (uint32_t g = bucket / PLUMB_GROUP + 1; g < PLUMB_GROUPS; g++)
        for (uint32_t i = 0; is_there(c->group[g], wide) && i < PLUMB_GROUP; i++)
            if (count_at(c->group[g], i, wide))
                return g * PLUMB_GROUP + i;
    return bucket;
}

/* Finds the buckets of the first `n` of the 1-based, rising ranks, all of them <= total, and that
 * of the sample after the first. */
static PLUMB_ALWAYS_INLINE void find_ranks(uint32_t bucket[PLUMB_QUANTILES],
                                           const struct plumb_merge_channel *c, uint64_t total,
                                           const uint64_t rank[RANKS], int n, bool wide)
{
    bucket[RANKS] = NO_BUCKET;
    for (uint32_t g = PLUMB_GROUPS; g-- > 0 && n > 0;) {
        union plumb_merge_group group = c->group[g];
        uint64_t sums[PLUMB_GROUP_LINES + 1], sum;
        if (!is_there(group, wide))
            continue;
        sum = sum_lines(sums, group, wide);
        /* More than before: the process continues to write to the file. */
        total = sum < total ? total - sum : 0;
        for (; n > 0 && rank[n - 1] > total; n--)
            bucket[n - 1] = g * PLUMB_GROUP + place_of_rank(group, sums, rank[n - 1] - total, wide);
        if (n == 0)
            bucket[RANKS] =
                rank[0] - total < sum
                    ? g * PLUMB_GROUP + place_of_rank(group, sums, rank[0] + 1 - total, wide)
                    : bucket_above(c, bucket[0], wide);
    }
    while (n > 0)
        bucket[--n] = NO_BUCKET;
}

/* Returns the value of `bucket`, clamped to minimum and maximum. */
static double value_of(const struct plumb_merge_channel *c, uint32_t bucket)
{
    double min = (double)c->stats.min, max = (double)c->stats.max;
    double v =
        bucket == NO_BUCKET ? min : plumb_sketch_value(bucket) * (double)(UINT64_C(1) << c->shift);
    return v < min ? min : v > max ? max : v;
}

void plumb_merge_quantiles(const struct plumb_merge_channel *c, double out[PLUMB_QUANTILES])
{
    static const uint32_t percent[RANKS] = {50, 90, 95, 99};
    uint64_t n = c ? c->stats.count : 0, rank[RANKS];
    uint32_t bucket[PLUMB_QUANTILES];
    int found = RANKS;
    if (n <= PLUMB_EXACT) {
        for (int i = 0; i < RANKS; i++)
            out[i] = n ? plumb_stats_quantile(&c->stats, NULL, 0, percent[i] / 100.0) : 0;
        out[RANKS] = n ? plumb_stats_quantile(&c->stats, NULL, 0, 0.5 + 1.0 / (double)n) : 0;
        return;
    }
    for (int i = 0; i < RANKS; i++)
        rank[i] = n / 100 * percent[i] + (n % 100 * percent[i] + 99) / 100;
    if (c->wide) {
        uint64_t total = c->unsure ? total_of(c) : n;
        while (found && rank[found - 1] > total)
            found--;
        find_ranks(bucket, c, total, rank, found, true);
    } else {
        find_ranks(bucket, c, n, rank, found, false);
    }
    for (int i = 0; i < found; i++)
        out[i] = value_of(c, bucket[i]);
    /* Fewer in the buckets than were counted: a damaged file. */
    for (int q = found; q < RANKS; q++)
        out[q] = q && out[q - 1] > (double)c->stats.max ? out[q - 1] : (double)c->stats.max;
    out[RANKS] = found && bucket[RANKS] != NO_BUCKET ? value_of(c, bucket[RANKS]) : out[0];
}

/* ---- Lists of buckets ------------------------------------------------------------------------ */

/* The buckets that are not empty, in rising order: writes the first `most` of them and returns how
 * many there are. */
static size_t list_buckets(struct plumb_bucket *list, size_t most,
                           const struct plumb_merge_channel *c, double unit_ns)
{
    const double unit = unit_ns * (double)(UINT64_C(1) << c->shift);
    size_t n = 0;
    for (uint32_t bucket = 0; bucket < PLUMB_SKETCH_BUCKETS; bucket++) {
        union plumb_merge_group group = c->group[bucket / PLUMB_GROUP];
        uint64_t count =
            is_there(group, c->wide) ? count_at(group, bucket % PLUMB_GROUP, c->wide) : 0;
        if (count && n < most)
            list[n] = (struct plumb_bucket){plumb_sketch_value(bucket) * unit, count};
        n += count != 0;
    }
    return n;
}

struct plumb_bucket *plumb_merge_buckets(const struct plumb_merge *m,
                                         const struct plumb_merge_channel *c, double unit_ns,
                                         size_t *n)
{
    size_t most = c ? list_buckets(NULL, 0, c, unit_ns) : 0;
    struct plumb_bucket *list = most ? plumb_arena_alloc(m->arena, most * sizeof *list) : NULL;
    *n = list ? list_buckets(list, most, c, unit_ns) : 0;
    return list;
}
