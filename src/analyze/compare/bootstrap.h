/* bootstrap.h: the uncertainty of the ratio of two medians: the percentile interval of Efron
 * (1979). Both samples are drawn again from themselves many times; the interval holds the middle 95
 * % of the resulting ratios. With few values it is too narrow, because the draws vary no more than
 * these values do. No state; any thread. */
#ifndef PLUMB_ANALYZE_COMPARE_BOOTSTRAP_H
#define PLUMB_ANALYZE_COMPARE_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

enum { PLUMB_BOOTSTRAP_RESAMPLES = 2000, PLUMB_BOOTSTRAP_SEED = 1 };

struct plumb_interval {
    bool known; /* false: a sample is empty, or a median of `a` is 0 in some draw */
    double low, high;
};

/* 95 % interval of median(b) / median(a). Equal input gives equal output on every machine: the
 * random numbers are ours and start from `seed`. Costs 2000 times the sizes.
 * Errors: PLUMB_ERR_MEMORY. */
int plumb_bootstrap_ratio(struct plumb_interval *out, const double *a, size_t na, const double *b,
                          size_t nb, uint64_t seed, plumb_error *err);
/* The same with a share `outside` (0.025: the above) of the draws on either side of the interval.
 * */
int plumb_bootstrap_ratio_tails(struct plumb_interval *out, const double *a, size_t na,
                                const double *b, size_t nb, uint64_t seed, double outside,
                                plumb_error *err);

#endif
