/* thread_copy.h: a copy of one thread's data as of one moment, made while it continues: its
 * statistics, its call tree, its open spans, and its unfolded records. */
#ifndef PLUMB_RECORD_SPAN_THREAD_COPY_H
#define PLUMB_RECORD_SPAN_THREAD_COPY_H

#include "live/merge.h"
#include "record/runtime/enter.h"

/* Memory that copies reuse. Zeroed, or as plumb_copy_fini() left it. */
struct plumb_copy_memory {
    unsigned char *at;
    size_t bytes, used;
};

/* A state: the bytes before its buckets that plumb_merge_state_copy() needs, and the lines of
 * buckets in use. `lines` NULL: `head` is a whole state. */
struct plumb_state_copy {
    const struct plumb_live_state *head;
    const uint32_t *lines;
};

/* Valid until the next copy is made in the same memory. */
struct plumb_thread_copy {
    uint32_t generation;
    const struct plumb_state_copy *state;
    uint32_t states;
    const struct plumb_live_tree *place; /* NULL: not requested */
    uint32_t tree_nodes;
    const struct plumb_live_context *context; /* as of the last fold ... */
    const struct plumb_live_frame *frames;    /* ... [1 .. context->depth] */
    const uint64_t *words;                    /* of the unfolded blocks, in order */
    uint32_t blocks;
    /* How far the buckets are ahead of the counts, after an interrupted fold. */
    const struct plumb_merge_ahead *ahead;
    size_t ahead_count;
};

/* Copies the thread's data in the run, for `m`: its tree nodes only if m->want_tree. The thread is
 * kept from folding during the copy, some 0.1 us a node; it continues to append. A thread that does
 * not leave a fold (gone, or waiting for a processor) is not waited for: its copy is the same as a
 * reader of the mapping would get had the process been killed there. The caller takes no signal and
 * no cancellation, and holds snapshot_lock. PLUMB_OK; 1: the thread has nothing in this run;
 * PLUMB_ERR_MEMORY; PLUMB_ERR_STATE: it changed too fast. */
int plumb_thread_copy(struct plumb_thread_copy *out, struct plumb_copy_memory *memory,
                      struct plumb_in in, struct plumb_merge *m);
void plumb_copy_fini(struct plumb_copy_memory *memory);

#endif
