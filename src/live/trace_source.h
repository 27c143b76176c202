/* trace_source.h: the names that a trace needs, looked up in a live mapping, which may be a damaged
 * file: whatever does not lie in it is "?". Any thread; valid as long as the mapping. */
#ifndef PLUMB_LIVE_TRACE_SOURCE_H
#define PLUMB_LIVE_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "live/layout.h"

struct plumb_trace_source {
    unsigned char *base;
    size_t bytes;
    struct plumb_live_header *h;
};

/* NULL: not inside. */
void *plumb_trace_at(const struct plumb_trace_source *s, uint64_t off, size_t bytes);
const char *plumb_trace_text(const struct plumb_trace_source *s, uint64_t off);
const char *plumb_trace_node(const struct plumb_trace_source *s, uint32_t node);
const char *plumb_trace_phase(const struct plumb_trace_source *s, uint32_t group);
const char *plumb_trace_pipeline(const struct plumb_trace_source *s, uint32_t group);
const char *plumb_trace_fact(const struct plumb_trace_source *s, enum plumb_live_fact fact);

const struct plumb_live_key *plumb_trace_key(const struct plumb_trace_source *s, uint32_t key);

/* The queue of a thread block, checked; NULL: it has none. */
struct plumb_live_queue *plumb_trace_queue(const struct plumb_trace_source *s,
                                           const struct plumb_live_thread *th);
struct plumb_trace_slot *plumb_trace_slots(const struct plumb_trace_source *s,
                                           const struct plumb_live_queue *q);

#endif
