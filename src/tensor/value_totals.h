/* value_totals.h: adding up blocks of values that were converted to double, and merging blocks that
 * a kernel (moments.h) has added up. Needs the environment of base/float_env.h. */
#ifndef PLUMB_TENSOR_VALUE_TOTALS_H
#define PLUMB_TENSOR_VALUE_TOTALS_H

#include <stddef.h>
#include <stdint.h>

enum { PLUMB_TOTALS_BLOCK = 512 };

/* Figures of finite values, and how many others there were. All zero: of no values. Sums are
 * counted from `origin`, one value near them, so that they keep their digits where the mean is
 * large and the deviation small. They are long double for its exponent: sums and squares of float64
 * leave the range of double. */
struct plumb_totals {
    uint64_t n;
    double min, max;
    double origin;
    long double rest;    /* sum of the distances from `origin` */
    long double squares; /* of the distances from the mean */
    long double sum, abs_sum;
    uint64_t zeros;
    uint64_t nan, pos_inf, neg_inf;
};

/* Adds `n` values, at most PLUMB_TOTALS_BLOCK; they are overwritten. */
void plumb_totals_add(struct plumb_totals *all, double *x, size_t n);
/* Adds a block of finite values (whose nan, pos_inf, neg_inf count nothing). */
void plumb_totals_merge(struct plumb_totals *all, const struct plumb_totals *block);

#endif
