/* fold.h: turning the blocks of a thread's ring into its statistics. */
#ifndef PLUMB_RECORD_SPAN_FOLD_H
#define PLUMB_RECORD_SPAN_FOLD_H

#include "record/runtime/enter.h"

/* Folds the unfolded blocks up to number `last`. They must be complete; only the thread itself may
 * include the newest. The caller holds the thread (thread_lock.h). */
void plumb_fold_through(struct plumb_in in, uint64_t last);

#endif
