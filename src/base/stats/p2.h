/* p2.h: the P-square estimator of the median (R. Jain and I. Chlamtac, "The P2 algorithm for
 * dynamic calculation of quantiles and histograms without storing observations", CACM 28(10),
 * 1985). Constant memory, one pass; can be far off after a step change, which is why it is an
 * option. */
#ifndef PLUMB_BASE_STATS_P2_H
#define PLUMB_BASE_STATS_P2_H

#include <stddef.h>
#include <stdint.h>

/* All zero is the empty estimator. 72 bytes: it can lie in every statistics block of a mapping. */
struct plumb_p2 {
    uint64_t count;
    double height[5];     /* before the 5th sample: the samples, unsorted */
    uint32_t position[5]; /* 1-based marker positions */
    uint32_t reserved;
};

/* Adds a sample. Samples after the first 2^32 - 1 are ignored. */
void plumb_p2_add(struct plumb_p2 *p, double x);
/* Adds x [samples], in order; each is a quarter cheaper if they vary. */
void plumb_p2_add_row(struct plumb_p2 *p, const double *x, size_t samples);
/* Returns the median: exact up to 5 samples (even count: mean of the two middle ones); 0 when
 * empty. */
double plumb_p2_median(const struct plumb_p2 *p);

#endif
