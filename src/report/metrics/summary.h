/* summary.h: the summary of a process as JSON, for programs that ask over the network. */
#ifndef PLUMB_REPORT_METRICS_SUMMARY_H
#define PLUMB_REPORT_METRICS_SUMMARY_H

#include "codec/json_fields.h"
#include "model/timing.h"

/* Writes one object: the process, and a row for each (pipeline, phase, node). */
void plumb_metrics_write_summary(struct plumb_json *j, const struct plumb_timing *t,
                                 bool recording);

#endif
