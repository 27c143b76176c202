/* selection.h: the parts of a run that its trace is kept to, as filters for one reading of the
 * queues: regions (live/trace_regions.h), nodes (nodes.h) and steps (PLUMB_TRACE_STEPS). Also the
 * files of single nodes. For the writer of a live run, and for the reader that finishes the trace
 * of a killed one. */
#ifndef PLUMB_TIMELINE_SELECTION_H
#define PLUMB_TIMELINE_SELECTION_H

#include "config/step_list.h"
#include "live/trace_regions.h"
#include "timeline/mapping.h"
#include "timeline/nodes.h"

struct plumb_trace_parts {
    struct plumb_trace_regions regions, uncounted; /* the second for the second reading */
    struct plumb_trace_only only, within;          /* nodes, and regions of a window */
    bool has_only, has_within;
    struct plumb_step_list steps;
    struct plumb_trace_filter in_steps;
    struct plumb_trace_nodes *nodes; /* NULL: none are wanted */
};

/* Sets up the filters of `t`, ahead of those that it has. `dir`: where files of nodes go; NULL:
 * there are none. `alive`: the process still runs. After an error everything but the setting that
 * it is about is set up: PLUMB_ERR_ARG, a list of steps that is not valid; PLUMB_ERR_MEMORY. */
int plumb_trace_parts_open(struct plumb_trace_parts *p, struct plumb_trace_live *t, const char *dir,
                           bool alive, plumb_error *err);
/* Finishes the files of nodes, as plumb_trace_nodes_close(), or drops them; frees all. `p` may be
 * zeroed. */
int plumb_trace_parts_close(struct plumb_trace_parts *p, bool whole, struct plumb_buf *told,
                            plumb_error *err);
/* In a forked child, whatever the writer was doing: unmaps what it had. */
void plumb_trace_parts_forget(struct plumb_trace_parts *p);

#endif
