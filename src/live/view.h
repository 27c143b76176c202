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

/* Copies objects of a mapping that its process writes to into the memory of a view, each once for a
 * reading and as of one moment. Returns false if it cannot: the object then counts as missing. */
struct plumb_live_loader {
    /* `n` elements of `bytes` from `off`, which lie inside the view. `words`: each of their words
     * stands for itself, so they need not be of one moment. */
    bool (*load)(struct plumb_live_loader *self, uint64_t off, size_t n, size_t bytes, bool words);
};

struct plumb_live_view {
    unsigned char *base;
    size_t bytes;
    struct plumb_live_header *h;      /* at `base` */
    struct plumb_live_loader *loader; /* NULL: the whole mapping is at `base` */
    /* A request that had ended by then is there with all its stages. One that ended later counts as
     * open: its stages may have come after their tables were loaded. 0: the mapping stands still.
     */
    uint64_t whole_ticks;
};

/* Returns a view of the mapping at `base`. It is not const, because recovery writes to its private
 * copy. */
static inline struct plumb_live_view plumb_live_view_of(const unsigned char *base, size_t bytes)
{
    unsigned char *own = (unsigned char *)(uintptr_t)base;
    return (struct plumb_live_view){own, bytes, (struct plumb_live_header *)(void *)own, NULL, 0};
}

/* Returns the memory of the object of `bytes` at `off`, or NULL. Offset 0 refers to nothing. */
static inline void *plumb_live_inside(const struct plumb_live_view *v, uint64_t off, size_t bytes)
{
    return off && off % 8 == 0 && off <= v->bytes && bytes <= v->bytes - off ? v->base + off : NULL;
}

/* Returns that object, or NULL. */
static inline void *plumb_live_at(const struct plumb_live_view *v, uint64_t off, size_t bytes)
{
    void *at = plumb_live_inside(v, off, bytes);
    return at && v->loader && !v->loader->load(v->loader, off, 1, bytes, false) ? NULL : at;
}

/* Loads what a table has of a chunk, at once: the elements are small, and asked for one by one. */
bool plumb_live_load_chunk(const struct plumb_live_view *v, const struct plumb_live_table *t,
                           uint32_t chunk);

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
    if (!off || (v->loader && !plumb_live_load_chunk(v, t, chunk)))
        return NULL;
    return plumb_live_inside(v, off + (uint64_t)at * bytes, bytes);
}

/* Returns the text that a reference leads to: "" for reference 0, "(other)" for a text that has
 * been replaced, "?" for one that is missing or does not end where its length says. Never NULL. */
const char *plumb_live_text(const struct plumb_live_view *v, uint64_t reference);

/* The same of a reason (struct plumb_live_why), in a mapping that this process writes to: the text
 * may be replaced at any moment, so `out` gets it whole, or it reads as replaced. */
const char *plumb_live_why(const struct plumb_live_view *v, uint64_t reference,
                           char out[PLUMB_WHY_BYTES]);

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
