/* thread_lock.h: the lock of a thread's folded data: its states, tree nodes and maps, its stack and
 * context as of the last fold. Only the holder of the thread may read and change them.
 *
 * A fold holds it, usually on the thread itself, and so does a summary during a copy: some
 * microseconds each. A holder waits only, once a node, for plumb_rt.lock. So the holder of that
 * lock must not wait here for a thread that may have blocks to fold, only for one that begins. A
 * holder does not call malloc: an allocator's lock may be held by a thread that waits here.
 *
 * A thread may be cancelled, or leave by siglongjmp() out of a handler, while it holds itself. It
 * is then inside the runtime for ever (`busy`) and records nothing more, and a summary reads its
 * data through the undo log (thread_copy.c). A summary cannot be stopped like this: it blocks
 * signals and cancellation while it holds a thread. */
#ifndef PLUMB_RECORD_SPAN_THREAD_LOCK_H
#define PLUMB_RECORD_SPAN_THREAD_LOCK_H

#include "record/runtime/enter.h"

/* Returns whether the caller holds the thread now. */
static inline bool plumb_hold_try(struct plumb_thread *th)
{
    return __atomic_exchange_n(&th->held, 1, __ATOMIC_ACQUIRE) == 0;
}

/* Waits until the caller holds the thread. Inside the runtime, so that a handler on the caller's
 * thread does not come here. Not a cancellation point. */
void plumb_hold(struct plumb_thread *th);

static inline void plumb_hold_release(struct plumb_thread *th)
{
    PLUMB_RELEASE(th->held, 0);
}

#endif
