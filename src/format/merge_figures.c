/* merge_figures.c: quantiles and lists of buckets of a channel, from the counts of its states where
 * they lie (merge.h).
 *
 * Quantiles are looked for from the top: three of the four lie in the highest groups that are in
 * use, and at the median the walk is over, so that the lower half is not read at all. Each group is
 * read once, all states together, into a copy of our own; the ranks are looked for there.
 *
 * A state whose thread is recording is read in place. Lines that the thread has left a copy of by
 * then may be newer than the snapshot, and are taken from the copy again. */
#include <string.h>

#include "base/line.h"
#include "format/merge_ranks.h"

enum { GROUP = PLUMB_GROUP, GROUP_LINES = PLUMB_GROUP_LINES, WORD_GROUPS = PLUMB_WORD_GROUPS };
_Static_assert((int)GROUP_LINES == PLUMB_LINE_SUMS, "line.h adds up a group");

/* The counts of a group. Narrow where all samples together fit 31 bits: half the work. */
union counts {
    uint32_t narrow[GROUP];
    uint64_t wide[GROUP];
};

/* What a sum begins with. */
static const union counts zeros;

/* ---- One group of all states ----------------------------------------------------------------- */

/* to = from + lines, from count `at` on. */
static PLUMB_ALWAYS_INLINE void add_lines(union counts *to, const union counts *from, uint32_t at,
                                          const uint32_t *lines, uint32_t n, bool wide)
{
    if (wide)
        plumb_lines_add_wide(&to->wide[at], &from->wide[at], lines, n);
    else
        plumb_lines_add(&to->narrow[at], &from->narrow[at], lines, n);
}

/* The lines of group `g` that the thread has changed since the snapshot, again, as they were. */
static PLUMB_COLD void put_back(union counts *to, const union counts *from,
                                const struct plumb_copy *copy, uint32_t g, bool wide)
{
    const struct plumb_copy_line *line = PLUMB_ACQUIRE(copy->lines);
    for (; line; line = line->next) {
        if (line->line / GROUP_LINES == g)
            add_lines(to, from, line->line % GROUP_LINES * PLUMB_SKETCH_LINE, line->counts, 1,
                      wide);
    }
}

/* to = from + group `g` of a state. A group is read whole: lines that are not in use hold zeros,
 * and to leave them out costs more. */
static PLUMB_ALWAYS_INLINE void add_state(union counts *to, const union counts *from,
                                          const struct plumb_merge_sketch *k, uint32_t g, bool wide)
{
    const struct plumb_copy *copy;
    plumb_order();
    add_lines(to, from, 0, &k->counts[g * GROUP], GROUP_LINES, wide);
    plumb_order();
    copy = k->copy ? PLUMB_ACQUIRE(*k->copy) : NULL;
    if (copy && PLUMB_ACQUIRE(copy->groups) >> g & 1)
        put_back(to, from, copy, g, wide);
}

/* sum + what is counted besides states in a line of the group. */
static PLUMB_ALWAYS_INLINE const union counts *add_extra(union counts room[2],
                                                         const union counts *sum,
                                                         const struct plumb_merge_extra *x,
                                                         bool wide)
{
    union counts *to = &room[sum == &room[1]];
    uint32_t at = x->line % GROUP_LINES * PLUMB_SKETCH_LINE;
    if (sum == &zeros)
        *to = zeros;
    for (uint32_t left = x->used; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        if (wide)
            to->wide[at + i] += x->count[i];
        else
            to->narrow[at + i] += (uint32_t)x->count[i];
    }
    return to;
}

/* The counts of group `g`, in `room` or elsewhere. */
static PLUMB_ALWAYS_INLINE const union counts *
group_counts(const struct plumb_merge_channel *c, uint32_t g, union counts room[2], bool wide)
{
    const union counts *sum = &zeros;
    for (const struct plumb_merge_sketch *k = c->sketches; k; k = k->next) {
        union counts *to = &room[sum == &room[0]];
        if (!plumb_sketch_has(k, g))
            continue;
        /* Never in place: it may have to be done again. */
        add_state(to, sum, k, g, wide);
        sum = to;
    }
    for (const struct plumb_merge_extra *x = c->extra; x; x = x->next) {
        if (x->line / GROUP_LINES == g)
            sum = add_extra(room, sum, x, wide);
    }
    return sum;
}

/* Bit g: a line of group g is in use. Bits that a damaged file has beyond the last line are not
 * looked at. */
static uint64_t groups_in_use(const struct plumb_merge_channel *c)
{
    uint64_t groups = 0;
    for (uint32_t w = 0; w < PLUMB_SKETCH_LINE_WORDS; w++) {
        uint64_t x = c->lines[w];
        x = (x | x >> 1 | x >> 2 | x >> 3) & UINT64_C(0x1111111111111111);
        x = (x | x >> 3) & UINT64_C(0x0303030303030303);
        x = (x | x >> 6) & UINT64_C(0x000f000f000f000f);
        x = (x | x >> 12) & UINT64_C(0x000000ff000000ff);
        groups |= ((x | x >> 24) & 0xffff) << w * WORD_GROUPS;
    }
    return groups & ((UINT64_C(1) << PLUMB_SKETCH_GROUPS) - 1);
}

/* ---- Quantiles ------------------------------------------------------------------------------- */

/* sums[l]: of the lines before line l; the last one, of all, is returned. */
static PLUMB_ALWAYS_INLINE uint64_t sum_lines(uint64_t sums[GROUP_LINES + 1],
                                              const union counts *counts, bool wide)
{
    uint32_t narrow[GROUP_LINES];
    if (!wide)
        plumb_line_sums(narrow, counts->narrow);
    sums[0] = 0;
    for (uint32_t l = 0; l < GROUP_LINES; l++) {
        sums[l + 1] = sums[l] + (wide ? 0 : narrow[l]);
        for (uint32_t i = 0; wide && i < PLUMB_SKETCH_LINE; i++)
            sums[l + 1] += counts->wide[l * PLUMB_SKETCH_LINE + i];
    }
    return sums[GROUP_LINES];
}

/* The first count that, with all before it, reaches `rank`. No branch on a count, where most
 * summaries are: it would be guessed wrong. */
static PLUMB_ALWAYS_INLINE uint32_t place_of_rank(const union counts *counts,
                                                  const uint64_t sums[GROUP_LINES + 1],
                                                  uint64_t rank, bool wide)
{
    uint32_t l = 0, i = 0;
    uint64_t before;
    for (uint32_t j = 1; j < GROUP_LINES; j++)
        l += rank > sums[j];
    rank -= sums[l];
    l *= PLUMB_SKETCH_LINE;
    if (!wide)
        return l + plumb_line_place(&counts->narrow[l], (uint32_t)rank);
    for (before = counts->wide[l]; rank > before && i < PLUMB_SKETCH_LINE - 1; i++)
        before += counts->wide[l + i + 1];
    return l + i;
}

/* All counts, where they cannot be taken for those of the statistics. */
static uint64_t total_of(const struct plumb_merge_channel *c, uint64_t groups)
{
    union counts room[2];
    uint64_t total = 0, sums[GROUP_LINES + 1];
    for (; groups; groups &= groups - 1)
        total +=
            sum_lines(sums, group_counts(c, (uint32_t)__builtin_ctzll(groups), room, true), true);
    return total;
}

/* The first bucket in use of the lowest of `groups`; `otherwise` where there is none. */
static uint32_t lowest_bucket(const struct plumb_merge_channel *c, uint64_t groups,
                              uint32_t otherwise)
{
    union counts room[2];
    for (; groups; groups &= groups - 1) {
        uint32_t g = (uint32_t)__builtin_ctzll(groups);
        const union counts *counts = group_counts(c, g, room, true);
        for (uint32_t i = 0; i < GROUP; i++) {
            if (counts->wide[i])
                return g * GROUP + i;
        }
    }
    return otherwise;
}

uint32_t plumb_ranks_above(const struct plumb_merge_channel *c, uint64_t groups, uint32_t bucket)
{
    return lowest_bucket(c, groups & ~(((UINT64_C(2) << bucket / GROUP) - 1)), bucket);
}

/* Finds the first `n` of four ranks, all of them <= total, and the sample after the first. */
static PLUMB_ALWAYS_INLINE void find_ranks(uint32_t bucket[PLUMB_QUANTILES],
                                           const struct plumb_merge_channel *c, uint64_t groups,
                                           uint64_t total, const uint64_t rank[PLUMB_RANKS], int n,
                                           bool wide)
{
    union counts room[2];
    const uint64_t all = groups;
    bucket[PLUMB_RANKS] = PLUMB_NO_BUCKET;
    while (groups && n > 0) {
        uint32_t g = 63u - (uint32_t)__builtin_clzll(groups);
        const union counts *counts = group_counts(c, g, room, wide);
        uint64_t sums[GROUP_LINES + 1], sum = sum_lines(sums, counts, wide);
        /* More than there were: somebody goes on writing to the file. */
        total = sum < total ? total - sum : 0;
        for (; n > 0 && rank[n - 1] > total; n--)
            bucket[n - 1] = g * GROUP + place_of_rank(counts, sums, rank[n - 1] - total, wide);
        if (n == 0)
            bucket[PLUMB_RANKS] =
                rank[0] - total < sum
                    ? g * GROUP + place_of_rank(counts, sums, rank[0] + 1 - total, wide)
                    : plumb_ranks_above(c, all, bucket[0]);
        groups &= ~(UINT64_C(1) << g);
    }
    while (n > 0)
        bucket[--n] = PLUMB_NO_BUCKET;
}

void plumb_ranks_scalar(uint32_t bucket[PLUMB_QUANTILES], const struct plumb_merge_channel *c,
                        uint64_t groups, uint32_t total, const uint32_t rank[PLUMB_RANKS])
{
    const uint64_t wide[PLUMB_RANKS] = {rank[0], rank[1], rank[2], rank[3]};
    find_ranks(bucket, c, groups, total, wide, PLUMB_RANKS, false);
}

static void narrow_ranks(uint32_t bucket[PLUMB_QUANTILES], const struct plumb_merge_channel *c,
                         uint64_t groups, uint64_t total, const uint64_t rank[PLUMB_RANKS])
{
    const uint32_t narrow[PLUMB_RANKS] = {(uint32_t)rank[0], (uint32_t)rank[1], (uint32_t)rank[2],
                                          (uint32_t)rank[3]};
    /* A race detector does not know that what is read twice may be changing. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    if (__builtin_cpu_supports("avx2")) {
        plumb_ranks_avx2(bucket, c, groups, (uint32_t)total, narrow);
        return;
    }
#endif
    plumb_ranks_scalar(bucket, c, groups, (uint32_t)total, narrow);
}

/* The value of `bucket`, within what was measured. */
static double value_of(const struct plumb_merge_channel *c, uint32_t bucket)
{
    double min = (double)c->stats.min, max = (double)c->stats.max;
    double v = bucket == PLUMB_NO_BUCKET
                   ? min
                   : plumb_sketch_value(bucket) * (double)(UINT64_C(1) << c->shift);
    return v < min ? min : v > max ? max : v;
}

void plumb_merge_quantiles(const struct plumb_merge_channel *c, double out[PLUMB_QUANTILES])
{
    static const uint32_t percent[PLUMB_RANKS] = {50, 90, 95, 99};
    uint64_t n = c ? c->stats.count : 0, groups, rank[PLUMB_RANKS];
    uint32_t bucket[PLUMB_QUANTILES];
    int found = PLUMB_RANKS;
    if (n <= PLUMB_EXACT) {
        for (int i = 0; i < PLUMB_RANKS; i++)
            out[i] = n ? plumb_stats_quantile(&c->stats, NULL, 0, percent[i] / 100.0) : 0;
        out[PLUMB_RANKS] = n ? plumb_stats_quantile(&c->stats, NULL, 0, 0.5 + 1.0 / (double)n) : 0;
        return;
    }
    for (int i = 0; i < PLUMB_RANKS; i++)
        rank[i] = n / 100 * percent[i] + (n % 100 * percent[i] + 99) / 100;
    groups = groups_in_use(c);
    if (c->unsure || n > INT32_MAX) {
        uint64_t total = c->unsure ? total_of(c, groups) : n;
        while (found && rank[found - 1] > total)
            found--;
        find_ranks(bucket, c, groups, total, rank, found, true);
    } else {
        narrow_ranks(bucket, c, groups, n, rank);
    }
    for (int i = 0; i < found; i++)
        out[i] = value_of(c, bucket[i]);
    /* Fewer in the buckets than were counted: a damaged file. */
    for (int q = found; q < PLUMB_RANKS; q++)
        out[q] = q && out[q - 1] > (double)c->stats.max ? out[q - 1] : (double)c->stats.max;
    out[PLUMB_RANKS] =
        found && bucket[PLUMB_RANKS] != PLUMB_NO_BUCKET ? value_of(c, bucket[PLUMB_RANKS]) : out[0];
}

/* ---- Lists of buckets ------------------------------------------------------------------------ */

/* The buckets that are not empty, in rising order: writes the first `most` of them and returns how
 * many there are. */
static size_t list_buckets(struct plumb_bucket *list, size_t most,
                           const struct plumb_merge_channel *c, double unit_ns)
{
    union counts room[2];
    const double unit = unit_ns * (double)(UINT64_C(1) << c->shift);
    size_t n = 0;
    for (uint64_t left = groups_in_use(c); left; left &= left - 1) {
        uint32_t g = (uint32_t)__builtin_ctzll(left);
        const union counts *counts = group_counts(c, g, room, true);
        for (uint32_t i = 0; i < GROUP; i++) {
            if (counts->wide[i] && n < most)
                list[n] = (struct plumb_bucket){plumb_sketch_value(g * GROUP + i) * unit,
                                                counts->wide[i]};
            n += counts->wide[i] != 0;
        }
    }
    return n;
}

struct plumb_bucket *plumb_merge_buckets(const struct plumb_merge *m,
                                         const struct plumb_merge_channel *c, double unit_ns,
                                         size_t *n)
{
    size_t most = c ? list_buckets(NULL, 0, c, unit_ns) : 0, count;
    struct plumb_bucket *list = most ? plumb_arena_alloc(m->arena, most * sizeof *list) : NULL;
    count = list ? list_buckets(list, most, c, unit_ns) : 0;
    /* More than a moment ago: a summary that found no room for copies, and is taken again. */
    *n = count < most ? count : most;
    return list;
}
