/* clock.h: the tick that spans are measured in, and how ticks become nanoseconds.
 *
 * Ticks are those of the time stamp counter where it is invariant (constant rate in all power
 * states, in step on all processors), otherwise nanoseconds of CLOCK_MONOTONIC. The counter's
 * nominal rate is not trusted. The rate is fitted: anchors pair a tick with CLOCK_MONOTONIC_RAW at
 * the start, during and at the end of a run. The counter of many virtual machines moves in steps
 * (10 ns on some); plumb_clock_resolution_ns() measures that. rdtsc without a fence: work around it
 * may move by a few ns, a fence would cost as much again as the read. */
#ifndef PLUMB_BASE_CLOCK_H
#define PLUMB_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum plumb_clock_source {
    PLUMB_CLOCK_GETTIME = 1,
    PLUMB_CLOCK_TSC = 2,
    PLUMB_CLOCK_VIRTUAL = 3 /* stands still until a test moves it */
};
enum plumb_clock_choice {
    PLUMB_CLOCK_AUTO = 0,
    PLUMB_CLOCK_USE_TSC = 1,
    PLUMB_CLOCK_USE_MONOTONIC = 2,
    PLUMB_CLOCK_USE_VIRTUAL = 3
};

/* The time of PLUMB_CLOCK_VIRTUAL in ns: one a process, as time is. Atomic. */
extern uint64_t plumb_clock_virtual_ns;
/* The ns of it during which CLOCK_MONOTONIC_RAW, in anchors of that clock, stood still. Atomic. */
extern uint64_t plumb_clock_virtual_asleep_ns;

static inline uint64_t plumb_clock_gettime_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static PLUMB_ALWAYS_INLINE uint64_t plumb_ticks_from(enum plumb_clock_source source)
{
#if defined(__x86_64__)
    if (source == PLUMB_CLOCK_TSC)
        return __rdtsc();
#endif
    if (PLUMB_UNLIKELY(source == PLUMB_CLOCK_VIRTUAL))
        return PLUMB_LOAD(plumb_clock_virtual_ns);
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

/* Returns a later reading than any that was made before the call: where the counter moves in steps,
 * that of its next step. Readings from before the call are smaller; readings from after the call
 * are not. PLUMB_CLOCK_VIRTUAL, which may stand still for ever, is read as it is. A clock that
 * stands still for milliseconds is not waited for. */
uint64_t plumb_ticks_next(enum plumb_clock_source source);

/* Returns CLOCK_MONOTONIC_RAW, or its simulated counterpart for PLUMB_CLOCK_VIRTUAL. */
static inline uint64_t plumb_clock_raw_ns(enum plumb_clock_source source)
{
    if (source == PLUMB_CLOCK_VIRTUAL)
        return PLUMB_LOAD(plumb_clock_virtual_ns) - PLUMB_LOAD(plumb_clock_virtual_asleep_ns);
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC_RAW);
}

/* A pair of readings of the same moment, within +- half_width_ns. */
struct plumb_anchor {
    uint64_t ticks;
    uint64_t raw_ns;  /* CLOCK_MONOTONIC_RAW */
    uint64_t unix_ns; /* CLOCK_REALTIME */
    uint64_t half_width_ns;
};

/* Returns the source for `choice`. AUTO takes the counter only if the processor declares it
 * invariant and the kernel itself uses it. Where the kernel's source is not known, its clock must
 * be as quick to read as only a counter is. */
enum plumb_clock_source plumb_clock_pick(enum plumb_clock_choice choice);
/* Returns whether the processor declares the counter invariant and the kernel uses it, according to
 * this file of /sys. */
bool plumb_clock_counter_is_trusted(const char *source_file);
/* Takes the best anchor of a few tries; under 2 us. */
void plumb_anchor_take(struct plumb_anchor *a, enum plumb_clock_source source);
/* Returns nanoseconds a tick between two anchors; 1 for the gettime source. *ppm: bound of its
 * error. */
double plumb_clock_fit(const struct plumb_anchor *from, const struct plumb_anchor *to,
                       enum plumb_clock_source source, double *ppm);
/* Returns the smallest step seen between successive readings, in ticks. */
uint64_t plumb_clock_step(enum plumb_clock_source source);

/* Returns round(ticks * tick_ns) for a tick_ns below 2^10, exact to 1 ns up to 2^63 ns. */
uint64_t plumb_ticks_to_ns(uint64_t ticks, double tick_ns);

#endif
