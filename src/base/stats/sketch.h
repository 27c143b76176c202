/* sketch.h: the bucket scheme of duration histograms.
 *
 * Values (clock ticks or ns, any unit) below 128 have a bucket each; above, every octave has 64
 * buckets of equal width, up to 2^46, so that a bucket's representative lies within 1/129 (0.775 %)
 * of every value in it. The last bucket takes all larger values; a recording counts these, without
 * their low bits, in a second histogram (PLUMB_CHANNEL_FAR). A histogram is an array of counts
 * indexed by plumb_sketch_index(); counts only add, so merging is exact in any order.
 *
 * Why not a t-digest or P-square: those depend on the order of samples and cannot be merged or
 * subtracted exactly; this costs one leading-zero count and one increment. */
#ifndef PLUMB_BASE_STATS_SKETCH_H
#define PLUMB_BASE_STATS_SKETCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    PLUMB_SKETCH_SUB_BITS = 6,
    PLUMB_SKETCH_OCTAVES = 40, /* groups of 64 counts: values 0..63, 64..127, then one per octave */
    PLUMB_SKETCH_BUCKETS = 41 * 64,
    PLUMB_SKETCH_LINE = 16, /* buckets of 32 bits in a cache line */
    PLUMB_SKETCH_LINES = PLUMB_SKETCH_BUCKETS / PLUMB_SKETCH_LINE,
    PLUMB_SKETCH_LINE_WORDS = (PLUMB_SKETCH_LINES + 63) / 64 /* of a set of lines, a bit each */
};

/* The relative error of a quantile that is read from buckets. */
#define PLUMB_SKETCH_ERROR (1.0 / 129)

/* Returns the bucket of `value`: 0 .. PLUMB_SKETCH_BUCKETS-1. Monotone in value. Group (index >> 6)
 * is 0 for values below 64 and floor(log2(value)) - 5 above. */
static inline uint32_t plumb_sketch_index(uint64_t value)
{
    uint32_t shift = (uint32_t)(63 - __builtin_clzll(value | 64)) - PLUMB_SKETCH_SUB_BITS;
    uint64_t index = ((uint64_t)shift << PLUMB_SKETCH_SUB_BITS) + (value >> shift);
    return index < PLUMB_SKETCH_BUCKETS ? (uint32_t)index : (uint32_t)PLUMB_SKETCH_BUCKETS - 1;
}

/* Puts the line of bucket `index` into the set `lines`. */
static inline void plumb_sketch_use(uint64_t lines[PLUMB_SKETCH_LINE_WORDS], uint32_t index)
{
    lines[index / (64 * PLUMB_SKETCH_LINE)] |= UINT64_C(1) << (index / PLUMB_SKETCH_LINE % 64);
}

/* Returns the smallest value of bucket `index`. */
static inline uint64_t plumb_sketch_lower(uint32_t index)
{
    uint32_t group = index >> PLUMB_SKETCH_SUB_BITS;
    uint64_t sub = index & 63;
    return group == 0 ? sub : (64 + sub) << (group - 1);
}

/* Returns the representative of bucket `index`: the point whose largest relative error is smallest
 * (the harmonic mean of its bounds); exact for buckets of one value. */
static inline double plumb_sketch_value(uint32_t index)
{
    /* Signed: below 2^46, and converted in one instruction. */
    double lo = (double)(int64_t)plumb_sketch_lower(index);
    double width = index < 128 ? 1.0 : (double)(int64_t)(UINT64_C(1) << ((index >> 6) - 1));
    double hi = lo + width - 1;
    return lo >= hi ? lo : 2 * lo * hi / (lo + hi);
}

#endif
