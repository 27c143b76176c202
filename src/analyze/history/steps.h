/* steps.h: where a series of results changes its level.
 *
 * The series is cut into the segments that make the sum of absolute deviations from their medians
 * plus a penalty for each cut the least: optimal partitioning (Jackson and others, 2005) with the
 * cost of Laplace noise, as airspeed velocity has it. The best cuts are found together, where
 * binary segmentation decides one after the other and misses two steps that undo each other;
 * medians keep an outlier from being two steps. The penalty is that of the Bayesian information
 * criterion (Schwarz 1978) times the noise of the series, which is taken from differences of
 * neighbours, because steps do not inflate those. Values above 0 are compared by their logarithms:
 * noise is a part of the level. Pure; any thread. */
#ifndef PLUMB_ANALYZE_HISTORY_STEPS_H
#define PLUMB_ANALYZE_HISTORY_STEPS_H

#include <stddef.h>

#include <plumb/error.h>

enum { PLUMB_STEPS_MOST = 2000 }; /* values of a series; the oldest beyond them are not looked at */

/* A segment of the series, between two steps. */
struct plumb_level {
    size_t begin, end; /* values [begin, end) */
    double median;
    double band; /* half the noise band: 95 % of the values lie within median +- band */
};

/* Finds the levels of `values` [n], in their order; none may be NaN. A segment has at least 3
 * values, except that the last one may have 2. `*out` is the caller's to free().
 *   cost    O(n^2 log n): 1000 values take some 0.1 s
 *   errors  PLUMB_ERR_MEMORY; PLUMB_ERR_ARG: more than PLUMB_STEPS_MOST values */
int plumb_levels_find(struct plumb_level **out, size_t *count, const double *values, size_t n,
                      plumb_error *err);

#endif
