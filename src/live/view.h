/* view.h: reading a live mapping, which may be a damaged or hostile file, or one that its process
 * still writes to. Every offset of a mapping goes through here: an object that is not completely
 * inside it, or not aligned, counts as missing. Any thread; no lock, no allocation. Pointers are
 * valid as long as the mapping; their targets may change between two reads while its process lives.
 *
 * The caller that opens a view has checked that `bytes` hold a header (struct
 * plumb_live_header). */
#ifndef PLUMB_LIVE_VIEW_H
#define PLUMB_LIVE_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "live/layout.h"

struct plumb_live_view {
    unsigned char *base;
    size_t bytes;
    struct plumb_live_header *h; /* at `base` */
};

/* Returns a view of the mapping at `base`. It is not const, because recovery writes to its private
 * copy. */
static inline struct plumb_live_view plumb_live_view_of(const unsigned char *base, size_t bytes)
{
    unsigned char *own = (unsigned char *)(uintptr_t)base;
    return (struct plumb_live_view){own, bytes, (struct plumb_live_header *)(void *)own};
}

/* Returns the object of `bytes` at `off`, or NULL. Offset 0 refers to nothing. */
static inline void *plumb_live_at(const struct plumb_live_view *v, uint64_t off, size_t bytes)
{
    return off && off % 8 == 0 && off <= v->bytes && bytes <= v->bytes - off ? v->base + off : NULL;
}

/* Returns element `i` of a table whose elements have `bytes`, or NULL: the table has no such
 * element, or elements of another size. */
static inline void *plumb_live_element(const struct plumb_live_view *v,
                                       const struct plumb_live_table *t, uint32_t i, size_t bytes)
{
    uint32_t at, chunk;
    uint64_t off;
    if (i >= PLUMB_ACQUIRE(t->count) || t->element_bytes != bytes)
        return NULL;
    chunk = plumb_table_chunk(i, &at);
    off = chunk < PLUMB_TABLE_CHUNKS ? PLUMB_ACQUIRE(t->chunk_off[chunk]) : 0;
    return off ? plumb_live_at(v, off + (uint64_t)at * bytes, bytes) : NULL;
}

/* Returns the text that a reference leads to: "" for reference 0, "(other)" for a text that has
 * been replaced, "?" for one that is missing or does not end where its length says. Never NULL. */
const char *plumb_live_text(const struct plumb_live_view *v, uint64_t reference);

/* Return a name, "?" for a missing one. */
const char *plumb_live_node_name(const struct plumb_live_view *v, uint32_t node);
const char *plumb_live_phase_name(const struct plumb_live_view *v, uint32_t phase);
const char *plumb_live_pipeline_name(const struct plumb_live_view *v, uint32_t pipeline);
/* Returns a fact of the run, or "" if it does not have that fact. */
const char *plumb_live_fact_text(const struct plumb_live_view *v, enum plumb_live_fact fact);
/* Returns a key of the run, or NULL. */
const struct plumb_live_key *plumb_live_key_at(const struct plumb_live_view *v, uint32_t key);

/* Returns the trace queue of a thread block, or NULL: it has none, or its size is not a power of
 * two. The second: its slots, all of which lie in the mapping, or NULL. */
struct plumb_live_queue *plumb_live_queue_of(const struct plumb_live_view *v,
                                             const struct plumb_live_thread *th);
struct plumb_trace_slot *plumb_live_slots_of(const struct plumb_live_view *v,
                                             const struct plumb_live_queue *q);

#endif
