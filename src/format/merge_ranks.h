/* merge_ranks.h: which buckets of a channel hold four ranks: what most of the time of a summary
 * goes to. Behind plumb_merge_quantiles() (merge.h); the same buckets from every implementation. */
#ifndef PLUMB_FORMAT_MERGE_RANKS_H
#define PLUMB_FORMAT_MERGE_RANKS_H

#include "format/merge.h"

enum {
    PLUMB_RANKS = 4,
    PLUMB_GROUP = PLUMB_SKETCH_BUCKETS / PLUMB_SKETCH_GROUPS, /* buckets */
    PLUMB_GROUP_LINES = PLUMB_GROUP / PLUMB_SKETCH_LINE,
    PLUMB_WORD_GROUPS = 64 / PLUMB_GROUP_LINES /* of one word of a set of lines */
};

/* Of ranks that nobody holds, because a writer did not leave its states alone. */
#define PLUMB_NO_BUCKET UINT32_MAX

/* The buckets that hold the 1-based, rising `rank`; the last one holds the sample after rank[0].
 * `groups`: bit g: a line of group g is in use. The channel, which is not unsure, counts `total`
 * samples, no rank is above that, and it is at most INT32_MAX. */
typedef void plumb_ranks_fn(uint32_t bucket[PLUMB_QUANTILES], const struct plumb_merge_channel *c,
                            uint64_t groups, uint32_t total, const uint32_t rank[PLUMB_RANKS]);
plumb_ranks_fn plumb_ranks_scalar;
#if defined(__x86_64__)
plumb_ranks_fn plumb_ranks_avx2; /* where the processor has AVX2 */
#endif

/* The lowest bucket in use of a group above that of `bucket`; `bucket` where there is none. */
uint32_t plumb_ranks_above(const struct plumb_merge_channel *c, uint64_t groups, uint32_t bucket);

/* Whether the state at `k` uses lines of group `g`. */
static inline bool plumb_sketch_has(const struct plumb_merge_sketch *k, uint32_t g)
{
    return k->lines[g / PLUMB_WORD_GROUPS] >> g % PLUMB_WORD_GROUPS * PLUMB_GROUP_LINES &
           ((1 << PLUMB_GROUP_LINES) - 1);
}

#endif
