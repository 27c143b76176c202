/* node_trace_parts.h: the two files of one node; part of node_trace.c. */
#ifndef PLUMB_TIMELINE_NODE_TRACE_PARTS_H
#define PLUMB_TIMELINE_NODE_TRACE_PARTS_H

#include "base/map.h"
#include "base/text/sanitize.h"
#include "timeline/node_trace.h"

enum { PLUMB_NODE_BUFFER = 16 * 1024 };

struct plumb_node_file {
    uint32_t node, index; /* `index` among the files */
    int error;            /* an errno: nothing is written any more */
    uint64_t text_bytes;
    uint64_t left_out;
    uint64_t event;           /* the last that was written */
    struct plumb_map threads; /* tid + 1 -> 1: those whose name stands in it */
    struct plumb_breakdown breakdown;
    char stem[PLUMB_SAFE_NAME_MAX + 32]; /* "<node>_rank<R>" */
    size_t used;
    unsigned char buffer[PLUMB_NODE_BUFFER];
};

void plumb_node_file_open(struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                          uint32_t node, struct plumb_out *scratch);
void plumb_node_file_put(struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                         const unsigned char *text, size_t n);
/* Compresses the text, writes the breakdown, removes the text. `last_ns`: the time of the trace's
 * end; `scratch` holds any event. */
int plumb_node_file_close(struct plumb_node_file *f, const struct plumb_node_trace_options *o,
                          uint64_t last_ns, struct plumb_out *scratch, plumb_error *err);
/* Frees and removes; `f` may have been closed. */
void plumb_node_file_fini(struct plumb_node_file *f, const struct plumb_node_trace_options *o);
void plumb_node_file_forget(struct plumb_node_file *f); /* frees alone */

#endif
