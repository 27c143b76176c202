/* undo.h: undoing an interrupted fold, in a writable mapping that is no longer recorded into. */
#ifndef PLUMB_LIVE_UNDO_H
#define PLUMB_LIVE_UNDO_H

#include "live/merge.h"

/* Finds the objects that an undo log restores; NULL if there is no such object. */
struct plumb_undo_target {
    struct plumb_live_state *(*state)(void *self, uint64_t off);
    struct plumb_live_tree *(*place)(void *self, uint32_t i);
    void *self;
};

/* Restores states, tree, stack and context, and stores in `m->ahead` how far the buckets are ahead.
 * Call it right before the thread's states and records are read. Does nothing to a thread that was
 * between folds; a second call does no harm. */
void plumb_live_undo(struct plumb_merge *m, struct plumb_live_thread *th);
/* The same in copies of the thread's block, its states and its places. Only reads the mapping. */
void plumb_live_undo_in(struct plumb_merge *m, struct plumb_live_thread *th,
                        const struct plumb_undo_target *target);

/* Returns whether each state that an interrupted fold saved has been copied on the same side of a
 * reset as it was saved: resets are not undone. For copies of a mapping that changes. */
bool plumb_undo_resets_agree(const struct plumb_live_undo *u,
                             const struct plumb_undo_target *target);

#endif
