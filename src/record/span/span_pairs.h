/* span_pairs.h: sums up a row of begin/end pairs of one node: the part of a fold that can be done
 * for several spans at a time. Every implementation gives the same figures, to the last bit.
 *
 * The histogram is not changed here: the reader of a killed process's mapping derives from its
 * counts how many samples, in order, it already has (live/layout.h), so they are added one by
 * one. */
#ifndef PLUMB_RECORD_SPAN_SPAN_PAIRS_H
#define PLUMB_RECORD_SPAN_SPAN_PAIRS_H

#include <stdint.h>

#include "base/u128.h"
#include "live/layout.h"

enum { PLUMB_LEAVES_MAX = PLUMB_BLOCK_WORDS / 2 };

struct plumb_leaves {
    uint64_t total, min, max, last; /* ticks; min is UINT64_MAX without a pair */
    plumb_u128 squares;
    uint32_t index[PLUMB_LEAVES_MAX + 4]; /* buckets, in order; padded to whole vectors */
};

/* words [2 * pairs], pairs <= PLUMB_LEAVES_MAX: begin and end records in turn. A pair whose end is
 * before its begin has duration 0. */
typedef void plumb_leaves_fn(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs);
plumb_leaves_fn plumb_leaves_scalar;
#if defined(__x86_64__)
plumb_leaves_fn plumb_leaves_avx2; /* where the processor has AVX2 */
#endif
/* Returns the fastest one for this processor. */
plumb_leaves_fn *plumb_leaves_pick(void);

#endif
