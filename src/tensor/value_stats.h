/* value_stats.h: statistics of the values of a tensor, found in one pass over its memory.
 *
 * All figures but the counts are those of the finite values; NaN and the infinities are counted
 * separately and do not change the other figures. (PyTorch lets one NaN swallow all figures: here
 * `nan` > 0 says as much, and the figures still describe the rest. plumb_value_ieee() gives
 * PyTorch's.) `std` is that of a sample, with n - 1 below, as torch.std() has it.
 *
 * float32, float16 and bfloat16 are read by vector instructions where the processor has them
 * (moments.h). Sums then lie within 1e-6 of the sum of magnitudes, and `std`, `rms` and `l2` within
 * 1e-6 relative of the true ones, for a mean of 1e4 and a deviation of 1 as well. Everything else
 * is converted to double exactly, except integers beyond 2^53, which are rounded; sums lie within
 * 1e-12 of the sum of magnitudes, the others within 1e-9, at both ends of float64's range too. Bool
 * is 0 or 1. Bounds, counts and hashes are the same on every processor; a bound of -0 is 0.
 *
 * Reference: merging of blocks as in Chan, Golub, LeVeque, "Updating Formulae and a Pairwise
 * Algorithm for Computing Sample Variances", 1979. */
#ifndef PLUMB_TENSOR_VALUE_STATS_H
#define PLUMB_TENSOR_VALUE_STATS_H

#include <stdint.h>

#include "tensor/view.h"

struct plumb_moments_kernels;

/* Figures in addition to n, nan, pos_inf, neg_inf, sum, abs_sum, mean and abs_mean. The first two
 * have the values of enum plumb_moments_flags. */
enum plumb_value_want {
    PLUMB_VALUE_SPREAD = 1, /* min, max, std, rms, l2 */
    PLUMB_VALUE_ZEROS = 2,
    PLUMB_VALUE_HASH = 4,
    PLUMB_VALUE_SET_HASH = 8,
    PLUMB_VALUE_SAMPLE = 16,
    PLUMB_VALUE_HISTOGRAM = 32
};

enum { PLUMB_VALUE_SAMPLES = 8, PLUMB_VALUE_BINS = 20 };

struct plumb_value_stats {
    uint64_t n;                     /* values of any kind: elements times lanes */
    uint64_t nan, pos_inf, neg_inf; /* of these */
    double sum, abs_sum;            /* of magnitudes; both 0 without finite values */
    double mean, abs_mean;          /* NaN without finite values */
    double min, max, rms;           /* NaN without finite values */
    double l2;                      /* root of the sum of squares */
    double std;                     /* NaN with fewer than two */
    uint64_t zeros;
    uint64_t hash;     /* of the values' bytes in row-major order, however they lie in memory */
    uint64_t set_hash; /* of the values' bytes in whatever order */
    /* The first, the last, and others at equal distances, in row-major order; NaN and infinities as
     * they are. Set up to `samples`, which is 0 without PLUMB_VALUE_SAMPLE. */
    uint32_t samples;
    double sample[PLUMB_VALUE_SAMPLES];
    /* Finite values by magnitude: [0] zeros, [1] below 2^-32, [i] from 16^(i - 10) to 16^(i - 9),
     * [19] from 2^36 on. Set only where it is asked for. */
    uint64_t histogram[PLUMB_VALUE_BINS];
};

/* Reads `view` once, in the order of memory; a value that a stride of 0 repeats is read once.
 * (Where it is not compact and its hash is asked for, in row-major order.) Strides of every kind,
 * any number of elements. `want`: of enum plumb_value_want; other figures are NaN or 0, but lists
 * stay what they were. 20 KiB of stack, no allocation; the program's floating-point flags, traps
 * and modes stay what they are, and play no part. PLUMB_ERR_ARG, and `out` is untouched: not
 * readable (plumb_view_readable()), of complex or unknown element type, or a hash is asked for of
 * more than 2^36 elements that are not compact. */
int plumb_value_stats(struct plumb_value_stats *out, const struct plumb_view *view, uint32_t want,
                      plumb_error *err);

/* The same by a certain path (moments.h). */
int plumb_value_stats_by(struct plumb_value_stats *out, const struct plumb_view *view,
                         uint32_t want, const struct plumb_moments_kernels *path, plumb_error *err);

/* Changes the figures to what IEEE arithmetic over all values gives: one NaN makes everything NaN,
 * an infinity makes sums infinite, or NaN together with its opposite. Counts, hashes, sample and
 * histogram stay. */
void plumb_value_ieee(struct plumb_value_stats *stats);

#endif
