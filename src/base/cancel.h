/* cancel.h: sections in which the calling thread is not cancelled. A cancellation that is requested
 * during a section happens at its end, or at the next cancellation point. */
#ifndef PLUMB_BASE_CANCEL_H
#define PLUMB_BASE_CANCEL_H

#include <pthread.h>

struct plumb_cancel {
    int state, type;
};

/* Changes both state and type: the C library's handler of an asynchronous cancellation that was on
 * its way checks only the type (glibc 2.36, nptl/pthread_cancel.c). */
static inline struct plumb_cancel plumb_cancel_off(void)
{
    struct plumb_cancel before;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before.type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.state);
    return before;
}

/* Ends a section, as its last call: the thread may end here. */
static inline void plumb_cancel_on(struct plumb_cancel before)
{
    pthread_setcanceltype(before.type, NULL);
    pthread_setcancelstate(before.state, NULL);
}

/* For sections without a cancellation point: 2 ns in a thread that cannot be cancelled at any
 * instruction. */
static inline int plumb_cancel_deferred(void)
{
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
    return before;
}

#endif
