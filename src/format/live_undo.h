/* live_undo.h: undoing a fold that was cut short, in a writable mapping that nobody records into.
 */
#ifndef PLUMB_FORMAT_LIVE_UNDO_H
#define PLUMB_FORMAT_LIVE_UNDO_H

#include "format/merge.h"

/* States, tree, stack and context; leaves in `m->ahead` what the buckets already hold. Right before
 * the thread's states and records are read. Does nothing to a thread that was between folds; twice
 * is as good as once. */
void plumb_live_undo(struct plumb_merge *m, struct plumb_live_thread *th);

#endif
