/* nodes.h: PLUMB_TRACE_NODES on a trace queue. A second reading of the same slots goes into the
 * files of single nodes (node_trace.h). If no other setting asks for a trace, a filter keeps the
 * trace itself to those nodes. The writer's thread. */
#ifndef PLUMB_TIMELINE_NODES_H
#define PLUMB_TIMELINE_NODES_H

#include "timeline/node_match.h"
#include "timeline/node_trace.h"
#include "timeline/perfetto.h"

/* The filter: what runs inside the nodes. */
struct plumb_trace_only {
    struct plumb_node_match match;
    struct plumb_trace_filter filter;
};
/* Keeps the trace to the nodes of a list, `list_off` in the mapping; then `o` must be closed.
 * PLUMB_ERR_MEMORY. */
int plumb_trace_only_open(struct plumb_trace_only *o, const struct plumb_live_view *s,
                          uint64_t list_off);
void plumb_trace_only_close(struct plumb_trace_only *o);

struct plumb_trace_nodes;
/* `file` gives the time and names, and must outlive this; `filter` selects the spans of the files,
 * NULL: all. `*out` NULL: the run has no PLUMB_TRACE_NODES. */
int plumb_trace_nodes_open(struct plumb_trace_nodes **out, const struct plumb_trace_file *file,
                           const struct plumb_trace_filter *filter, const char *dir,
                           plumb_error *err);
/* A slot of the thread block whose track has the number `track`; a gap: spans were dropped. */
void plumb_trace_nodes_slot(struct plumb_trace_nodes *n, uint32_t track,
                            const struct plumb_trace_slot *slot);
/* A piece of work of a collector; before its launch is read or after it. */
void plumb_trace_nodes_work(struct plumb_trace_nodes *n, const struct plumb_lane_work *work);
/* As plumb_node_trace_close(). */
int plumb_trace_nodes_close(struct plumb_trace_nodes *n, struct plumb_buf *told, plumb_error *err);
void plumb_trace_nodes_drop(struct plumb_trace_nodes *n);
void plumb_trace_nodes_forget(struct plumb_trace_nodes *n); /* node_trace.h */

#endif
