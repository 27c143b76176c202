/* stage_lanes.h: the runs of stages in lanes, so that no two of a lane overlap: a stage inside
 * another lies in a lane below it, and so do those of another thread. Any thread. */
#ifndef PLUMB_REPORT_RUN_STAGE_LANES_H
#define PLUMB_REPORT_RUN_STAGE_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "model/timing.h"
#include "summary/table.h"

enum { PLUMB_STAGE_LANES = 24 };

struct plumb_stage_lane_run {
    const struct plumb_timing_stage_run *run;
    const struct plumb_timing_node *node;
    uint32_t lane;
};

struct plumb_stage_lanes {
    struct plumb_stage_lane_run *runs; /* by their begin */
    size_t count;
    uint32_t lanes;
    size_t left_out; /* for which there is no lane left */
};

/* The runs that the options choose by pipeline and phase; of one request only unless `request` is
 * PLUMB_TIMING_NONE. Points into `t`. Errors: PLUMB_ERR_MEMORY. */
int plumb_stage_lanes_init(struct plumb_stage_lanes *out, const struct plumb_timing *t,
                           const struct plumb_summary_options *o, uint32_t request,
                           plumb_error *err);
void plumb_stage_lanes_fini(struct plumb_stage_lanes *lanes);

#endif
