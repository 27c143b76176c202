/* thread_lock.c: see thread_lock.h. */
#include "record/span/thread_lock.h"

#include "base/futex.h"
#include "record/runtime/thread.h"

enum { SPINS = 200, PAUSE_NS = 20000 };

static bool spin(struct plumb_thread *th)
{
    for (int i = 0; i < SPINS; i++) {
        if (!PLUMB_LOAD(th->held) && plumb_hold_try(th))
            return true;
        plumb_spin();
    }
    return false;
}

void plumb_hold(struct plumb_thread *th)
{
    /* Sleeps, not yields: the holder may have a lower priority than this thread. */
    while (!spin(th))
        plumb_nap(PAUSE_NS);
}
