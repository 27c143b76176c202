/* fold.h: turning the blocks of a thread's ring into its statistics. */
#ifndef PLUMB_CORE_FOLD_H
#define PLUMB_CORE_FOLD_H

#include "core/runtime.h"

/* Folds the blocks that no fold has read, up to number `last`, all of which must be there: whole,
 * or the newest when the thread itself calls. The caller holds the thread (hold.h). */
void plumb_fold_through(struct plumb_in in, uint64_t last);

#endif
