/* value_stats.h: what the values of a tensor look like, found in one pass over its memory.
 *
 * `min`, `max`, `sum`, `mean` and `std` are those of the finite values; NaN and the infinities are
 * counted beside them and change nothing else. (PyTorch lets one NaN swallow all figures: here
 * `nan` > 0 says as much, and the figures still tell about the rest.) `std` is that of a sample,
 * with n - 1 below, as torch.std() has it.
 *
 * Each value is converted to double exactly, except integers beyond 2^53, which are rounded; bool
 * is 0 or 1. Sums lie within 1e-12 of the sum of magnitudes, `std` within 1e-9 relative of the true
 * one, for a mean of 1e4 and a deviation of 1 as well, and at both ends of float64's range.
 *
 * Reference: blocks of 512 values, each summed twice (once for its mean, once for the squares round
 * it), merged as in Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
 * Sample Variances", 1979. */
#ifndef PLUMB_TENSOR_VALUE_STATS_H
#define PLUMB_TENSOR_VALUE_STATS_H

#include <stdint.h>

#include "tensor/view.h"

struct plumb_value_stats {
    uint64_t n;                     /* values of any kind: elements times lanes */
    uint64_t nan, pos_inf, neg_inf; /* of these */
    double min, max, sum, mean;     /* NaN without finite values, `sum` then 0 */
    double std;                     /* NaN with fewer than two */
};

/* Reads `view` whole, in the order of memory; a value that a stride of 0 repeats is read once.
 * Strides of every kind, any number of elements. 8 KiB of stack, no allocation; the program's
 * floating-point flags, traps and modes stay what they are, and play no part.
 * PLUMB_ERR_ARG, and `out` is untouched: not readable (plumb_view_readable()), or of complex or
 * unknown element type. */
int plumb_value_stats(struct plumb_value_stats *out, const struct plumb_view *view,
                      plumb_error *err);

#endif
