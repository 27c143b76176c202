/* snapshot.h: a summary of threads that continue to record. */
#ifndef PLUMB_RECORD_SPAN_SNAPSHOT_H
#define PLUMB_RECORD_SPAN_SNAPSHOT_H

#include "model/timing.h"
#include <plumb/summary.h>

/* Fills `out` (plumb_timing_init() done) with everything that the open run has recorded so far, as
 * in its report: pipelines, nodes without histograms and sites, call tree. */
int plumb_summary_timing(struct plumb_timing *out, plumb_error *err);
int plumb_summary_rows_impl(plumb_rows **out, plumb_pipeline *pipeline, const char *phase,
                            plumb_error *err);
size_t plumb_rows_count_impl(const plumb_rows *rows);
const plumb_row *plumb_rows_get_impl(const plumb_rows *rows, size_t i);
void plumb_rows_free_impl(plumb_rows *rows);

#endif
