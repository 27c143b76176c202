/* metric_kinds.h: which way a metric is better, and which changes of it count. The six metrics of
 * FastVideo have the floors of FastVideo; any other has those of its unit. Static data. */
#ifndef PLUMB_READ_HISTORY_METRIC_KINDS_H
#define PLUMB_READ_HISTORY_METRIC_KINDS_H

#include <plumb/read/history.h>

#include "read/json/tree.h"

/* Fills everything of `out` but its value from `out->name` and `out->unit`. */
void plumb_metric_default(plumb_metric *out);
/* Overrides fields of `out` by those of an object of thresholds: threshold_percent (a fraction),
 * threshold_absolute, gated. A field of another type, and another kind of value than an object, is
 * left out. */
void plumb_metric_override(plumb_metric *out, const struct plumb_json_value *thresholds);
/* Decimals of the metric in reports. */
int plumb_metric_decimals(const char *name);

#endif
