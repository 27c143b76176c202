/* perfetto_names.h: numbers of names, keys and tracks in trace.pftrace. For the parts of
 * perfetto.h alone. */
#ifndef PLUMB_TIMELINE_PERFETTO_NAMES_H
#define PLUMB_TIMELINE_PERFETTO_NAMES_H

#include "timeline/perfetto.h"

/* Kinds of tracks (plumb_pf_uuid()). */
enum {
    TRACE_TRACK_PROCESS = 1,
    TRACE_TRACK_THREAD = 2,
    TRACE_TRACK_ASYNC = 3,
    TRACE_TRACK_COUNTER = 4,
    TRACE_TRACK_CONTINUED =
        16 /* added to a kind: tracks of a file that continues that of a killed process */
};

/* Numbers of names: first nodes by their own number, then texts, then the nodes that are beyond the
 * first range. */
enum {
    TRACE_NODE_IDS = PLUMB_TRACE_NAME_IDS - PLUMB_TRACE_TEXTS - 8,
    TRACE_NAME_DROPPED = TRACE_NODE_IDS,
    TRACE_NAME_CAPTURE,
    TRACE_NAME_JUMPED,
    TRACE_ID_TEXTS = TRACE_NODE_IDS + 8,
    TRACE_ID_NODES = 1 << 24
};

static inline uint32_t plumb_trace_name_of_node(uint32_t node)
{
    return PLUMB_LIKELY(node < TRACE_NODE_IDS) ? node : node + TRACE_ID_NODES;
}

/* Numbers of keys. */
enum plumb_trace_file_key {
    TRACE_KEY_STEP = 1,
    TRACE_KEY_PIPELINE,
    TRACE_KEY_FAILED,
    TRACE_KEY_ABANDONED,
    TRACE_KEY_UNBALANCED,
    TRACE_KEY_CUT,
    TRACE_KEY_SPANS,
    TRACE_KEY_BACK_NS,
    TRACE_KEY_FLOP_PER_S,
    TRACE_KEY_STACK_CUT,
    TRACE_KEY_OTHER_NODES,
    TRACE_KEY_STACK,
    TRACE_KEY_TEXTS = 64
};

/* The place of a text of the mapping among the file's; PLUMB_TRACE_TEXTS: the table is full, and
 * the text is written as "?". As a name it is that above TRACE_ID_TEXTS, as a key above
 * TRACE_KEY_TEXTS. */
uint32_t plumb_trace_text_id(struct plumb_trace_file *f, uint64_t off);

#endif
