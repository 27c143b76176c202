/* thread_lock.h: who may look at what folds keep of a thread, and change it: its states, tree nodes
 * and maps, its stack and context as of the last fold. They belong to whoever holds the thread.
 *
 * Whoever folds holds it, mostly the thread itself, and a summary for a copy: some microseconds
 * each, in which the holder waits for nothing but, once a node, plumb_rt.lock. So whoever has that
 * lock waits here for no thread that may have blocks to fold: only for one that begins. A holder
 * allocates nothing from malloc: an allocator's lock may be held by a thread that waits here.
 *
 * A thread may be cancelled, or leave by siglongjmp() out of a handler, while it holds itself. It
 * is then inside the runtime for ever (`busy`) and records nothing more, and a summary reads what
 * it left through the undo log (thread_copy.c). A summary cannot be stopped so: it takes no signal
 * and no cancellation meanwhile. */
#ifndef PLUMB_RECORD_SPAN_THREAD_LOCK_H
#define PLUMB_RECORD_SPAN_THREAD_LOCK_H

#include "record/runtime/enter.h"

/* Returns whether the caller holds the thread now. */
static inline bool plumb_hold_try(struct plumb_thread *th)
{
    return __atomic_exchange_n(&th->held, 1, __ATOMIC_ACQUIRE) == 0;
}

/* Waits until the caller holds the thread. Inside the runtime, so that no handler of the caller's
 * comes back here. No cancellation point. */
void plumb_hold(struct plumb_thread *th);

static inline void plumb_hold_release(struct plumb_thread *th)
{
    PLUMB_RELEASE(th->held, 0);
}

#endif
