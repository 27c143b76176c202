/* merge_figures.c: quantiles and lists of buckets of a channel, from the counts of its states where
 * they lie (merge.h).
 *
 * Quantiles are looked for from the top: three of the four lie in the highest groups that are in
 * use, and at the median the walk is over, so that the lower half is not read at all. Each group is
 * read once, all states together, into a copy of our own; the ranks are looked for there.
 *
 * A state whose thread is recording is read in place. If the thread has left a copy of it
 * meanwhile, what was read may be newer than the snapshot, and is taken from the copy again. */
#include <string.h>

#include "base/line.h"
#include "format/merge.h"

enum {
    GROUP = PLUMB_SKETCH_BUCKETS / PLUMB_SKETCH_GROUPS,
    GROUP_LINES = PLUMB_LINE_SUMS,
    GROUP_MASK = (1 << GROUP_LINES) - 1,
    WORD_GROUPS = 64 / GROUP_LINES /* of one word of a set of lines */
};

/* The counts of a group. Narrow where all samples together fit 31 bits: half the work. */
union counts {
    uint32_t narrow[GROUP];
    uint64_t wide[GROUP];
};

/* What a sum begins with. */
static const union counts zeros;

/* ---- One group of all states ----------------------------------------------------------------- */

static uint32_t bits_in(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)((x * UINT64_C(0x0101010101010101)) >> 56);
}

/* Where a copy has the lines from `l` on. */
static const uint32_t *lines_of_copy(const struct plumb_live_state *copy, uint32_t l)
{
    uint32_t before = bits_in(copy->lines_used[l / 64] & ((UINT64_C(1) << (l % 64)) - 1));
    for (uint32_t w = 0; w < l / 64; w++)
        before += bits_in(copy->lines_used[w]);
    return plumb_copy_counts(copy) + (size_t)before * PLUMB_SKETCH_LINE;
}

/* to = from + lines, from count `at` on. */
static PLUMB_ALWAYS_INLINE void add_lines(union counts *to, const union counts *from, uint32_t at,
                                          const uint32_t *lines, uint32_t n, bool wide)
{
    if (wide)
        plumb_lines_add_wide(&to->wide[at], &from->wide[at], lines, n);
    else
        plumb_lines_add(&to->narrow[at], &from->narrow[at], lines, n);
}

/* to = from + group `g` of a copy, in which the lines in use follow each other. */
static PLUMB_ALWAYS_INLINE void add_copy(union counts *to, const union counts *from,
                                         const struct plumb_live_state *copy, uint32_t g, bool wide)
{
    uint32_t used = copy->lines_used[g / WORD_GROUPS] >> g % WORD_GROUPS * GROUP_LINES & GROUP_MASK;
    const uint32_t *line = lines_of_copy(copy, g * GROUP_LINES);
    if (used == GROUP_MASK) {
        add_lines(to, from, 0, line, GROUP_LINES, wide);
        return;
    }
    for (uint32_t l = 0; l < GROUP_LINES; l++) {
        bool uses = used >> l & 1;
        add_lines(to, from, l * PLUMB_SKETCH_LINE, uses ? line : zeros.narrow, 1, wide);
        line += uses ? PLUMB_SKETCH_LINE : 0;
    }
}

/* to = from + group `g` of a state. In place a group is read whole: lines that are not in use hold
 * zeros, and to leave them out costs more. */
static PLUMB_ALWAYS_INLINE void add_state(union counts *to, const union counts *from,
                                          const struct plumb_merge_sketch *k, uint32_t g, bool wide)
{
    const struct plumb_live_state *copy = k->copy ? PLUMB_ACQUIRE(*k->copy) : NULL;
    if (!copy) {
        plumb_order();
        add_lines(to, from, 0, &k->counts[g * GROUP], GROUP_LINES, wide);
        plumb_order();
        copy = k->copy ? PLUMB_ACQUIRE(*k->copy) : NULL;
    }
    if (copy)
        add_copy(to, from, copy, g, wide);
}

/* sum + what is counted besides states. */
static PLUMB_ALWAYS_INLINE const union counts *add_extra(union counts room[2],
                                                         const union counts *sum,
                                                         const struct plumb_merge_extra *x,
                                                         bool wide)
{
    union counts *to = &room[sum == &room[1]];
    if (sum == &zeros)
        *to = zeros;
    for (uint64_t left = x->used; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        if (wide)
            to->wide[i] += x->count[i];
        else
            to->narrow[i] += (uint32_t)x->count[i];
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
        if (!(k->lines[g / WORD_GROUPS] >> g % WORD_GROUPS * GROUP_LINES & GROUP_MASK))
            continue;
        /* Never in place: it may have to be done again. */
        add_state(to, sum, k, g, wide);
        sum = to;
    }
    for (const struct plumb_merge_extra *x = c->extra; x; x = x->next) {
        if (x->group == g)
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

/* Finds the first `n` of four ranks, all of them <= total. */
static PLUMB_ALWAYS_INLINE void find_ranks(const struct plumb_merge_channel *c, uint64_t groups,
                                           uint64_t total, const uint64_t rank[4], int n,
                                           double out[4], bool wide)
{
    double min = (double)c->stats.min, max = (double)c->stats.max;
    union counts room[2];
    while (groups && n > 0) {
        uint32_t g = 63u - (uint32_t)__builtin_clzll(groups);
        const union counts *counts = group_counts(c, g, room, wide);
        uint64_t sums[GROUP_LINES + 1], sum = sum_lines(sums, counts, wide);
        /* More than there were: somebody goes on writing to the file. */
        total = sum < total ? total - sum : 0;
        for (; n > 0 && rank[n - 1] > total; n--) {
            uint32_t at = place_of_rank(counts, sums, rank[n - 1] - total, wide);
            double v = plumb_sketch_value(g * GROUP + at);
            out[n - 1] = v < min ? min : v > max ? max : v;
        }
        groups &= ~(UINT64_C(1) << g);
    }
    /* Fewer than there were. */
    while (n > 0)
        out[--n] = min;
}

void plumb_merge_quantiles(const struct plumb_merge_channel *c, double out[4])
{
    static const uint32_t percent[4] = {50, 90, 95, 99};
    uint64_t n = c ? c->stats.count : 0, groups, total, rank[4];
    int found = 4;
    for (int i = 0; i < 4; i++)
        out[i] = n && n <= PLUMB_EXACT
                     ? plumb_stats_quantile(&c->stats, NULL, 0, percent[i] / 100.0)
                     : 0;
    if (n <= PLUMB_EXACT)
        return;
    for (int i = 0; i < 4; i++)
        rank[i] = n / 100 * percent[i] + (n % 100 * percent[i] + 99) / 100;
    groups = groups_in_use(c);
    total = c->unsure ? total_of(c, groups) : n;
    while (found && rank[found - 1] > total)
        found--;
    if (c->unsure || n > INT32_MAX)
        find_ranks(c, groups, total, rank, found, out, true);
    else
        find_ranks(c, groups, total, rank, found, out, false);
    /* Fewer in the buckets than were counted: a damaged file. */
    for (int q = found; q < 4; q++)
        out[q] = q && out[q - 1] > (double)c->stats.max ? out[q - 1] : (double)c->stats.max;
}

/* ---- Lists of buckets ------------------------------------------------------------------------ */

/* The buckets that are not empty, in rising order: writes the first `most` of them and returns how
 * many there are. */
static size_t list_buckets(struct plumb_bucket *list, size_t most,
                           const struct plumb_merge_channel *c, double unit_ns)
{
    union counts room[2];
    size_t n = 0;
    for (uint64_t left = groups_in_use(c); left; left &= left - 1) {
        uint32_t g = (uint32_t)__builtin_ctzll(left);
        const union counts *counts = group_counts(c, g, room, true);
        for (uint32_t i = 0; i < GROUP; i++) {
            if (counts->wide[i] && n < most)
                list[n] = (struct plumb_bucket){plumb_sketch_value(g * GROUP + i) * unit_ns,
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
