/* timing_since.h: the rows of the time between two timing reports of one run. */
#ifndef PLUMB_READ_RUN_TIMING_SINCE_H
#define PLUMB_READ_RUN_TIMING_SINCE_H

#include "model/timing.h"

/* Fills `out` (plumb_timing_init() done) with the head of `newer` and the difference of the
 * rows; those without a run or a failure in between are left out. Counts, sums and buckets are
 * subtracted; minimum, maximum and quantiles follow from the remaining buckets. A row that has
 * fewer samples in `newer` was reset: then all of its samples are new. Error: PLUMB_ERR_MEMORY. */
int plumb_timing_since(struct plumb_timing *out, const struct plumb_timing *newer,
                       const struct plumb_timing *older, plumb_error *err);

#endif
