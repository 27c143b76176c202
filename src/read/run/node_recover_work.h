/* node_recover_work.h: the work of collectors in a trace, by the spans that launched it; part of
 * node_recover.c. */
#ifndef PLUMB_READ_RUN_NODE_RECOVER_WORK_H
#define PLUMB_READ_RUN_NODE_RECOVER_WORK_H

#include "read/trace/table.h"
#include "timeline/node_trace.h"

struct plumb_recovered_work {
    const struct plumb_table *t;
    struct plumb_recovered_launch *launches; /* sorted by span */
    size_t count, next;                      /* `next`: a serial number for flows */
};

/* Finds the work: what a flow leads to, and what ran on a thread inside its spans.
 * PLUMB_ERR_MEMORY. */
int plumb_recovered_work_open(struct plumb_recovered_work *out, const struct plumb_table *t,
                              plumb_error *err);
/* Passes on the work that the innermost span of the track, slice number `slice`, launched. */
void plumb_recovered_work_pass(struct plumb_recovered_work *w, struct plumb_node_track *track,
                               uint32_t slice);
void plumb_recovered_work_close(struct plumb_recovered_work *w);

#endif
