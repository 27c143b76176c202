/* monotonic.h: the clock that runs are timed with. Any thread. */
#ifndef PLUMB_ISOLATE_MONOTONIC_H
#define PLUMB_ISOLATE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* Returns CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t plumb_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
