/* span_pairs.h: what a row of begin/end pairs of one node amounts to: the part of a fold that can
 * be done for several spans at a time. The same figures, to the last bit, from every
 * implementation.
 *
 * The histogram is not raised here: whoever reads the mapping of a killed process tells by its
 * counts how many samples, in order, are already in (live/layout.h), so they go in one by one. */
#ifndef PLUMB_RECORD_SPAN_SPAN_PAIRS_H
#define PLUMB_RECORD_SPAN_SPAN_PAIRS_H

#include <stdint.h>

#include "base/u128.h"
#include "live/layout.h"

enum { PLUMB_LEAVES_MAX = PLUMB_BLOCK_WORDS / 2 };

struct plumb_leaves {
    uint64_t total, min, max, last; /* ticks; min is UINT64_MAX without a pair */
    plumb_u128 squares;
    uint32_t index[PLUMB_LEAVES_MAX + 4]; /* buckets, in order; room for whole vectors */
};

/* words [2 * pairs], pairs <= PLUMB_LEAVES_MAX: begin and end records in turns. An end before its
 * begin lasted 0. */
typedef void plumb_leaves_fn(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs);
plumb_leaves_fn plumb_leaves_scalar;
#if defined(__x86_64__)
plumb_leaves_fn plumb_leaves_avx2; /* where the processor has AVX2 */
#endif
/* The fastest that this processor runs. */
plumb_leaves_fn *plumb_leaves_pick(void);

#endif
