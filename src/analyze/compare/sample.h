/* sample.h: small samples of doubles. No state; any thread. */
#ifndef PLUMB_ANALYZE_COMPARE_SAMPLE_H
#define PLUMB_ANALYZE_COMPARE_SAMPLE_H

#include <stddef.h>

/* Ascending, in place. */
void plumb_sample_sort(double *values, size_t n);
/* Of sorted values; the mean of the two middle ones when `n` is even; 0 of none. */
double plumb_sample_median(const double *sorted, size_t n);

#endif
