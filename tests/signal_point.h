/* signal_point.h: a place where signals are delivered in every build. ThreadSanitizer holds a
 * signal back until the thread is in a call that it intercepts; a loop of spans may make none for
 * minutes. Other builds need no such place. */
#ifndef PLUMB_TESTS_SIGNAL_POINT_H
#define PLUMB_TESTS_SIGNAL_POINT_H

#include <time.h>

static inline void signal_point(void)
{
#if defined(__SANITIZE_THREAD__)
    const struct timespec none = {0, 0};
    nanosleep(&none, NULL);
#endif
}

#endif
