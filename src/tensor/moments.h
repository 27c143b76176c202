/* moments.h: sums, bounds and zeros of a block of floating-point values, in whatever instruction
 * set the processor has. The inner loops of value_stats.c, which knows what to do when a block
 * holds values that are not finite, or squares that single precision cannot hold.
 *
 * Every path adds in single precision at most 16 roundings deep, and carries on in double: `sum`
 * and `abs_sum` lie within 16 * 2^-24 = 9.6e-7 of the sum of magnitudes in the worst case (1e-8 is
 * common). Bounds and counts are exact, and the same from every path. */
#ifndef PLUMB_TENSOR_MOMENTS_H
#define PLUMB_TENSOR_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Figures in addition to the two sums. */
enum plumb_moments_flags {
    PLUMB_MOMENTS_SPREAD = 1, /* squares and bounds */
    PLUMB_MOMENTS_ZEROS = 2,
    PLUMB_MOMENTS_PIVOT = 4, /* count sum and squares from the pivot; with SPREAD only */
    PLUMB_MOMENTS_VARIANTS = 8
};

/* If `abs_sum` is not finite, the other members mean nothing: a value is NaN or infinite, or the
 * sum has left the range of single precision. */
struct plumb_moments {
    double sum;     /* of x - pivot */
    double abs_sum; /* of |x| */
    double squares; /* of (x - pivot)^2 */
    double min, max;
    uint64_t zeros;
};

/* `n` values, at least 1 and at most 2^24, one after the other, at any address. The pivot is read
 * with PLUMB_MOMENTS_PIVOT only. Needs the environment of base/float_env.h. */
typedef void plumb_moments_fn(struct plumb_moments *out, const void *values, size_t n, float pivot);

struct plumb_moments_kernels {
    const char *name; /* of the instruction set */
    /* [flags]; those of PIVOT without SPREAD are NULL */
    plumb_moments_fn *f32[PLUMB_MOMENTS_VARIANTS];
    plumb_moments_fn *f16[PLUMB_MOMENTS_VARIANTS];
    plumb_moments_fn *bf16[PLUMB_MOMENTS_VARIANTS];
};

/* The paths that this processor can run, the best one first; NULL beyond the last. The last is
 * plain C. */
const struct plumb_moments_kernels *plumb_moments_path(unsigned i);

extern const struct plumb_moments_kernels plumb_moments_scalar;
extern const struct plumb_moments_kernels plumb_moments_avx2;
extern const struct plumb_moments_kernels plumb_moments_avx512;
extern const struct plumb_moments_kernels plumb_moments_avx512bf16; /* avx512 with the next */
plumb_moments_fn plumb_moments_bf16_dot;                            /* no flags */
extern const struct plumb_moments_kernels plumb_moments_neon;

#endif
