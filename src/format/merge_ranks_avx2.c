/* merge_ranks_avx2.c: ranks for processors with AVX2. See merge_ranks.h.
 *
 * First the sums of whole groups, from the top until the lowest rank is passed or from the bottom
 * until the highest is, of which nothing is stored. How many groups come before that of each rank
 * is counted on the way, for all four together, so that the walk has no branch on a count but its
 * end. Then the groups that hold the ranks once more, which the cache has by now. Read twice, a
 * group is the same: what its thread has changed in between is in the copy.
 *
 * Tried and left: a walk by the lines in use, which reads less and takes longer, because outliers
 * make it end elsewhere for each node; and fetching the lines of the next node meanwhile. */
#include <immintrin.h>
#include <string.h>

#include "base/atomic.h"
#include "base/line.h"
#include "format/merge_ranks.h"

enum { VECTORS = PLUMB_GROUP / 8 };

static PLUMB_ALWAYS_INLINE __m256i load(const uint32_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static PLUMB_ALWAYS_INLINE void store(uint32_t *at, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)at, v);
}

/* ---- A group of a state ---------------------------------------------------------------------- */

/* Group `g` of a state, read in place once more, but for the lines that its thread has changed
 * since the snapshot. */
static __attribute__((noinline)) const uint32_t *as_it_was(uint32_t room[PLUMB_GROUP],
                                                           const uint32_t *counts,
                                                           const struct plumb_copy *copy,
                                                           uint32_t g)
{
    memcpy(room, counts, PLUMB_GROUP * sizeof *room);
    plumb_order();
    for (const struct plumb_copy_line *l = PLUMB_ACQUIRE(copy->lines); l; l = l->next) {
        if (l->line / PLUMB_GROUP_LINES == g)
            memcpy(&room[l->line % PLUMB_GROUP_LINES * PLUMB_SKETCH_LINE], l->counts,
                   sizeof l->counts);
    }
    return room;
}

/* The copy that has lines of group `g`, which has been read in place by now. NULL: there is none,
 * and what was read is right. */
static PLUMB_ALWAYS_INLINE const struct plumb_copy *copy_of(const struct plumb_merge_sketch *k,
                                                            uint32_t g)
{
    const struct plumb_copy *copy;
    plumb_order();
    copy = k->copy ? PLUMB_ACQUIRE(*k->copy) : NULL;
    return copy && PLUMB_ACQUIRE(copy->groups) >> g & 1 ? copy : NULL;
}

/* Eight sums that make up a group. */
static PLUMB_ALWAYS_INLINE __m256i fold(const uint32_t *counts)
{
    __m256i a = _mm256_add_epi32(load(counts), load(counts + 8));
    __m256i b = _mm256_add_epi32(load(counts + 16), load(counts + 24));
    __m256i c = _mm256_add_epi32(load(counts + 32), load(counts + 40));
    __m256i d = _mm256_add_epi32(load(counts + 48), load(counts + 56));
    return _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
}

static PLUMB_ALWAYS_INLINE void add_state(uint32_t to[PLUMB_GROUP],
                                          const struct plumb_merge_sketch *k, uint32_t g)
{
    const uint32_t *counts = &k->counts[g * PLUMB_GROUP];
    uint32_t room[PLUMB_GROUP];
    __m256i in[VECTORS];
    const struct plumb_copy *copy;
    for (int i = 0; i < VECTORS; i++)
        in[i] = load(counts + 8 * i);
    copy = copy_of(k, g);
    if (copy) {
        counts = as_it_was(room, counts, copy, g);
        for (int i = 0; i < VECTORS; i++)
            in[i] = load(counts + 8 * i);
    }
    for (int i = 0; i < VECTORS; i++)
        store(to + 8 * i, _mm256_add_epi32(load(to + 8 * i), in[i]));
}

/* ---- A group of all states ------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE void fetch_group(const struct plumb_merge_channel *c, uint32_t g)
{
    for (const struct plumb_merge_sketch *k = c->sketches; k; k = k->next) {
        for (uint32_t i = 0; i < PLUMB_GROUP; i += PLUMB_SKETCH_LINE)
            __builtin_prefetch(&k->counts[g * PLUMB_GROUP + i]);
    }
}

/* Which counts of `x` lie in group `g`, a bit each. */
static PLUMB_ALWAYS_INLINE uint32_t extra_of(const struct plumb_merge_extra *x, uint32_t g)
{
    return x->line / PLUMB_GROUP_LINES == g ? x->used : 0;
}

/* All counts of group `g`. */
static PLUMB_ALWAYS_INLINE uint32_t sum_group(const struct plumb_merge_channel *c, uint32_t g)
{
    uint32_t room[PLUMB_GROUP], extra = 0;
    __m256i sum = _mm256_setzero_si256();
    __m128i four;
    for (const struct plumb_merge_sketch *k = c->sketches; k; k = k->next) {
        const uint32_t *counts = &k->counts[g * PLUMB_GROUP];
        const struct plumb_copy *copy;
        __m256i part;
        if (!plumb_sketch_has(k, g))
            continue;
        plumb_order();
        part = fold(counts);
        copy = copy_of(k, g);
        if (copy)
            part = fold(as_it_was(room, counts, copy, g));
        sum = _mm256_add_epi32(sum, part);
    }
    for (const struct plumb_merge_extra *x = c->extra; x; x = x->next) {
        for (uint32_t left = extra_of(x, g); left; left &= left - 1)
            extra += (uint32_t)x->count[__builtin_ctz(left)];
    }
    four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(four) + extra;
}

/* The counts of a group, and what lies before each of its lines. */
struct group {
    _Alignas(32) uint32_t counts[PLUMB_GROUP];
    uint32_t before[PLUMB_GROUP_LINES + 1];
};

static PLUMB_ALWAYS_INLINE void read_group(struct group *to, const struct plumb_merge_channel *c,
                                           uint32_t g)
{
    const uint32_t *n = to->counts;
    __m256i low, high;
    __m128i four;
    for (int i = 0; i < VECTORS; i++)
        store(to->counts + 8 * i, _mm256_setzero_si256());
    for (const struct plumb_merge_sketch *k = c->sketches; k; k = k->next) {
        if (plumb_sketch_has(k, g))
            add_state(to->counts, k, g);
    }
    for (const struct plumb_merge_extra *x = c->extra; x; x = x->next) {
        uint32_t *line = &to->counts[x->line % PLUMB_GROUP_LINES * PLUMB_SKETCH_LINE];
        for (uint32_t left = extra_of(x, g); left; left &= left - 1)
            line[__builtin_ctz(left)] += (uint32_t)x->count[__builtin_ctz(left)];
    }
    low = _mm256_hadd_epi32(_mm256_add_epi32(load(n), load(n + 8)),
                            _mm256_add_epi32(load(n + 16), load(n + 24)));
    high = _mm256_hadd_epi32(_mm256_add_epi32(load(n + 32), load(n + 40)),
                             _mm256_add_epi32(load(n + 48), load(n + 56)));
    low = _mm256_hadd_epi32(low, high);
    four = _mm_add_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    four = _mm_add_epi32(four, _mm_slli_si128(four, 4));
    four = _mm_add_epi32(four, _mm_slli_si128(four, 8));
    to->before[0] = 0;
    _mm_storeu_si128((__m128i *)(void *)(to->before + 1), four);
}

/* Which bucket of a group holds its sample number `rank`. */
static PLUMB_ALWAYS_INLINE uint32_t place(const struct group *in, uint32_t rank)
{
    uint32_t line = 0;
    for (uint32_t l = 1; l < PLUMB_GROUP_LINES; l++)
        line += rank > in->before[l];
    return line * PLUMB_SKETCH_LINE +
           plumb_line_place(&in->counts[line * PLUMB_SKETCH_LINE], rank - in->before[line]);
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

/* Groups in the order in which they were added up. */
struct walk {
    uint32_t n;
    uint32_t group[PLUMB_SKETCH_GROUPS];
    uint32_t below[PLUMB_SKETCH_GROUPS]; /* samples in all groups below that one */
    __m128i passed;                      /* for each rank, how many came before its own */
};

/* One up for each rank that compares so. */
static PLUMB_ALWAYS_INLINE void pass(struct walk *w, __m128i ranks_that)
{
    w->passed = _mm_sub_epi32(w->passed, ranks_that);
}

/* From the top, until the lowest rank is reached. */
static PLUMB_ALWAYS_INLINE void walk_down(struct walk *w, const struct plumb_merge_channel *c,
                                          uint64_t groups, uint32_t total,
                                          const uint32_t rank[PLUMB_RANKS])
{
    const __m128i below =
        _mm_sub_epi32(_mm_loadu_si128((const __m128i *)(const void *)rank), _mm_set1_epi32(1));
    do {
        uint32_t g = 63u - (uint32_t)__builtin_clzll(groups), sum;
        groups &= ~(UINT64_C(1) << g);
        if (groups)
            fetch_group(c, 63u - (uint32_t)__builtin_clzll(groups));
        sum = sum_group(c, g);
        total = sum < total ? total - sum : 0;
        w->group[w->n] = g;
        w->below[w->n++] = total;
        pass(w, _mm_cmpgt_epi32(_mm_set1_epi32((int)total), below));
    } while (groups && total >= rank[0]);
}

/* From the bottom, until the highest rank is reached. */
static PLUMB_ALWAYS_INLINE void walk_up(struct walk *w, const struct plumb_merge_channel *c,
                                        uint64_t groups, const uint32_t rank[PLUMB_RANKS])
{
    const __m128i wanted = _mm_loadu_si128((const __m128i *)(const void *)rank);
    uint32_t total = 0;
    do {
        uint32_t g = (uint32_t)__builtin_ctzll(groups);
        groups &= groups - 1;
        w->group[w->n] = g;
        w->below[w->n++] = total;
        total += sum_group(c, g);
        pass(w, _mm_cmpgt_epi32(wanted, _mm_set1_epi32((int)total)));
    } while (groups && total < rank[PLUMB_RANKS - 1]);
}

/* Which way is shorter: the median lies about where the mean does, and the highest rank not far
 * above; what is further up are outliers, a few in each of many groups. */
static PLUMB_ALWAYS_INLINE bool goes_up(const struct plumb_merge_channel *c, uint64_t groups)
{
    uint32_t mean = plumb_sketch_index(c->stats.total / c->stats.count) / PLUMB_GROUP;
    int above = __builtin_popcountll(groups >> mean);
    return __builtin_popcountll(groups) - above + 2 < above;
}

void plumb_ranks_avx2(uint32_t bucket[PLUMB_QUANTILES], const struct plumb_merge_channel *c,
                      uint64_t groups, uint32_t total, const uint32_t rank[PLUMB_RANKS])
{
    uint32_t passed[PLUMB_RANKS], last = UINT32_MAX, above;
    struct walk w;
    struct group in;
    w.n = 0;
    w.passed = _mm_setzero_si128();
    if (groups && goes_up(c, groups))
        walk_up(&w, c, groups, rank);
    else if (groups)
        walk_down(&w, c, groups, total, rank);
    _mm_storeu_si128((__m128i *)(void *)passed, w.passed);
    bucket[PLUMB_RANKS] = PLUMB_NO_BUCKET;
    for (int i = 0; i < PLUMB_RANKS; i++) {
        bucket[i] = PLUMB_NO_BUCKET;
        if (passed[i] >= w.n)
            continue;
        if (passed[i] != last)
            read_group(&in, c, w.group[passed[i]]);
        last = passed[i];
        bucket[i] = w.group[last] * PLUMB_GROUP + place(&in, rank[i] - w.below[last]);
        if (i > 0)
            continue;
        above = rank[0] + 1 - w.below[last];
        bucket[PLUMB_RANKS] = above <= in.before[PLUMB_GROUP_LINES]
                                  ? w.group[last] * PLUMB_GROUP + place(&in, above)
                                  : plumb_ranks_above(c, groups, bucket[0]);
    }
}
