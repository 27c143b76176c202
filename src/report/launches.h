/* launches.h: counts per iteration. Any thread; no state. */
#ifndef PLUMB_REPORT_LAUNCHES_H
#define PLUMB_REPORT_LAUNCHES_H

#include "base/buf.h"
#include "report/counts.h"
#include <plumb/read/launches.h>

/* The node whose runs are the iterations, and the phase that does not count. */
#define PLUMB_LAUNCHES_NODE "iteration"
#define PLUMB_LAUNCHES_WARMUP "warmup"

/* Adds up the rows and the node's times. PLUMB_ERR_NOT_FOUND: there is no iteration. */
int plumb_launches_sum(plumb_launch_counts *out, const struct plumb_timing *t,
                       const struct plumb_count_rows *rows, plumb_error *err);
/* Appends the array. PLUMB_ERR_ARG: a row without iterations. */
int plumb_launches_json(struct plumb_buf *out, const plumb_launches_row *rows, size_t n,
                        plumb_error *err);

#endif
