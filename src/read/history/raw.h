/* raw.h: the raw record of a benchmark (perf_*.json of FastVideo), from a recorded run and its
 * configuration: each request of the run is one run of the benchmark. One thread. */
#ifndef PLUMB_READ_HISTORY_RAW_H
#define PLUMB_READ_HISTORY_RAW_H

#include "base/buf.h"
#include "model/timing.h"
#include "read/history/config.h"
#include "read/history/run_source.h"

/* Appends the record as JSON, with an indent of 2. The first requests are the warm-ups; the next
 * `runs` are measured. `hardware` and `software`: the profiles as JSON objects. A remark in
 * `remarks` says where no static limits are given. PLUMB_ERR_FORMAT: `run` has too few requests. */
int plumb_raw_record(struct plumb_buf *out, const struct plumb_timing *run,
                     const struct plumb_benchmark_config *config,
                     const struct plumb_run_origin *origin, const char *hardware,
                     const char *software, struct plumb_buf *remarks, plumb_error *err);

/* The metric of a stage: its tag if that is one of the three known, otherwise that of its class
 * name (TextEncodingStage, DenoisingStage, DmdDenoisingStage, DecodingStage); -1: none of them. */
int plumb_raw_component(const char *tag, const char *stage);

#endif
