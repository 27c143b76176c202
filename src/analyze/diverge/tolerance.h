/* tolerance.h: how far two figures of one tensor may lie apart when both are right.
 *
 * The tolerance covers the rounding of the coarser of both element types, u (half of the distance
 * between neighbours at 1). A figure that averages over a tensor (abs_mean, rms, l2, std, and mean
 * and sum against the mean magnitude) may differ by `relative`:
 *
 *     f64 1e-6, f32 1e-4, f16 1e-3, bf16 5e-3, f8_e4m3fn 5e-2, f8_e5m2 1e-1: both of one type
 *     four times that of the coarser one: of two types
 *     0: integers, bool
 *     5e-3, that of bf16: neither side says
 *
 * f32: a dot product of K values errs by sqrt(K) u when roundings are independent (4e-6 at K =
 * 4096), a hundred layers of it by ten times as much, 4e-5; beyond 1e-4 something else happened.
 * bf16: u is 2e-3 and one rounding errs by half of that on average and in both directions, so a
 * mean over a layer moves far less; 5e-3 is also what FastVideo's comparison marks. f16 lies
 * between by its u (5e-4, two of them), and the types of 8 bits are those whose single values may
 * be off by 6 and 12 %. f64: recorders write their figures with the precision of f32.
 * Two types: runs of one type round the same values at the same places, and only the difference of
 * two errors remains. Against a finer type all roundings of all earlier layers count; in a tensor
 * of few values (the 8 channels of latents) they do not average out. Six blocks of a diffusion
 * transformer were 0.75 % off in bf16 at most, and with width 64 and four tokens 1.1 % in some of
 * 100 runs; f16 an eighth of that, with 0.3 % in the three channels of a picture.
 *
 * A single value (min, max) is not averaged: four times that, of the largest magnitude. Values
 * compared one by one are not averaged before they are subtracted: the mean of their differences
 * may be ten times that, of the mean magnitude. `absolute` is for tensors that are zero but for
 * noise: 1e-4 of `relative` a value. Pure; any thread. */
#ifndef PLUMB_ANALYZE_DIVERGE_TOLERANCE_H
#define PLUMB_ANALYZE_DIVERGE_TOLERANCE_H

#include <stdbool.h>

struct plumb_tolerance {
    double relative, absolute;
    double rounding; /* u; 0: the type holds whole numbers */
    bool known;      /* false: neither side says its type */
};

enum {
    PLUMB_TOLERANCE_EXTREME = 4,   /* of min and max, in multiples */
    PLUMB_TOLERANCE_VALUES = 10,   /* of the mean difference of single values */
    PLUMB_TOLERANCE_TWO_TYPES = 4, /* of a pair that differs in its type */
    PLUMB_TOLERANCE_GRADIENT = 2,  /* of a gradient: the roundings of both passes count */
};

/* Half the distance between neighbours at 1 of an element type by its name, in any spelling
 * ("bfloat16", "torch.bfloat16", "BF16"); 0 for integers and bool, negative: unknown. */
double plumb_rounding_of(const char *dtype);

/* Of a pair of types. `relative` and `absolute` of 0 or more replace the default ones. */
struct plumb_tolerance plumb_tolerance_of(double rounding_a, double rounding_b, double relative,
                                          double absolute);

#endif
