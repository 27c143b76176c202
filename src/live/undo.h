/* undo.h: undoing a fold that was cut short, in a writable mapping that nobody records into.
 */
#ifndef PLUMB_LIVE_UNDO_H
#define PLUMB_LIVE_UNDO_H

#include "live/merge.h"

/* Where an undo log finds what it puts back: NULL where there is none. */
struct plumb_undo_target {
    struct plumb_live_state *(*state)(void *self, uint64_t off);
    struct plumb_live_tree *(*place)(void *self, uint32_t i);
    void *self;
};

/* States, tree, stack and context; leaves in `m->ahead` what the buckets already hold. Right before
 * the thread's states and records are read. Does nothing to a thread that was between folds; twice
 * is as good as once. */
void plumb_live_undo(struct plumb_merge *m, struct plumb_live_thread *th);
/* The same in copies of the thread's block, its states and its places. Only reads the mapping. */
void plumb_live_undo_in(struct plumb_merge *m, struct plumb_live_thread *th,
                        const struct plumb_undo_target *target);

#endif
