/* spread.h: the figures of a bench: middle, spread, interval, drift. No state; any thread. */
#ifndef PLUMB_ISOLATE_SPREAD_H
#define PLUMB_ISOLATE_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/bench.h>

/* The q-quantile, 0 <= q <= 1, of `n` sorted values (n > 0), by linear interpolation between the
 * order statistics around (n - 1) q: type 7 of Hyndman and Fan (1996). */
double plumb_spread_quantile(const double *sorted, size_t n, double q);

/* Sets the 95 % confidence interval of the median of sorted values: order statistics whose ranks
 * follow from the binomial distribution with p = 1/2 (Conover, Practical Nonparametric Statistics),
 * which assumes nothing about the distribution of the times. NaN below 6 values, where even the
 * minimum and the maximum cover less than 95 %. */
void plumb_spread_interval(double *low, double *high, const double *sorted, size_t n);

/* Fills the figures of `r` from its run_ns [runs], which has at least one. PLUMB_ERR_MEMORY. */
int plumb_spread_fill(plumb_bench_result *r, plumb_error *err);

#endif
