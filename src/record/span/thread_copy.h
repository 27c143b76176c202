/* thread_copy.h: what one thread has recorded, as of one moment, copied while it goes on: its
 * statistics, its call tree, its open spans, and the records that were not folded. */
#ifndef PLUMB_RECORD_SPAN_THREAD_COPY_H
#define PLUMB_RECORD_SPAN_THREAD_COPY_H

#include "live/merge.h"
#include "record/runtime/enter.h"

/* Memory that one copy leaves to the next. Zeroed, or as plumb_copy_fini() left it. */
struct plumb_copy_memory {
    unsigned char *at;
    size_t bytes, used;
};

/* A state: what lies before its buckets, as far as plumb_merge_state_copy() wants it, and the lines
 * of buckets in use. `lines` NULL: `head` is a whole state. */
struct plumb_state_copy {
    const struct plumb_live_state *head;
    const uint32_t *lines;
};

/* Lies in the memory that it was made in, until the next one is made there. */
struct plumb_thread_copy {
    uint32_t generation;
    const struct plumb_state_copy *state;
    uint32_t states;
    const struct plumb_live_tree *place; /* NULL: not asked for */
    uint32_t tree_nodes;
    const struct plumb_live_context *context; /* as of the last fold ... */
    const struct plumb_live_frame *frames;    /* ... [1 .. context->depth] */
    const uint64_t *words; /* of the blocks that were not folded, one after the other */
    uint32_t blocks;
    /* What the buckets are ahead of the counts: a fold was cut short. */
    const struct plumb_merge_ahead *ahead;
    size_t ahead_count;
};

/* Copies what the thread has recorded into the run, for `m`: its tree_nodes only if m->want_tree.
 * The writer is kept from folding for as long as it takes to copy, some 0.1 us a node; it goes on
 * appending. A thread that does not come out of a fold (gone, or waiting for a processor) is not
 * waited for: its copy is what a reader of the mapping would find had the process been killed
 * there. The caller takes no signal and no cancellation, and holds snapshot_lock. PLUMB_OK; 1: the
 * thread has nothing in this run; PLUMB_ERR_MEMORY; PLUMB_ERR_STATE: it changed too fast. */
int plumb_thread_copy(struct plumb_thread_copy *out, struct plumb_copy_memory *memory,
                      struct plumb_in in, struct plumb_merge *m);
void plumb_copy_fini(struct plumb_copy_memory *memory);

#endif
