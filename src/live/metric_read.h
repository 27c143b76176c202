/* metric_read.h: the metrics of a mapping, as part of its report. */
#ifndef PLUMB_LIVE_METRIC_READ_H
#define PLUMB_LIVE_METRIC_READ_H

#include "live/view.h"
#include "model/timing.h"

/* Fills the metrics of `t` from a mapping, which may be damaged, or be written to at the same time:
 * each figure is one that the metric has had. Memory and texts are the arena's. `end`, `tick_ns`:
 * as for plumb_live_unix_ns(), for the times of exemplars. */
void plumb_live_fill_metrics(struct plumb_timing *t, const struct plumb_live_view *v,
                             const struct plumb_anchor *end, double tick_ns);

#endif
