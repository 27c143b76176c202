/* counters.h: what the counters of a stage or kernel say together. NaN: a counter is absent. Any
 * thread. */
#ifndef PLUMB_ANALYZE_ROOFLINE_COUNTERS_H
#define PLUMB_ANALYZE_ROOFLINE_COUNTERS_H

#include "model/timing.h"

struct plumb_counter_rates {
    double ipc;         /* instructions a cycle */
    double cache_miss;  /* share of the references to the last-level cache that missed */
    double branch_miss; /* share of the branches that were predicted wrongly */
    double on_cpu;      /* share of its time in which its thread was on a processor; at most 1 */
    double team;        /* processor time of the process in that of its thread: 1: no other thread
                         * worked at that time */
    double counted;     /* the least share of the time that a counter which took turns counted in;
                         * NaN: none did */
};
/* `total_ns`: time of the same runs; 0: unknown. A ratio is made of two counters that were there in
 * the same number of runs, and is NaN where the lower one is 0. */
struct plumb_counter_rates plumb_counter_rates_of(const struct plumb_timing_counted *c,
                                                  uint64_t total_ns);

/* The figures that stand out. The thresholds are conventions, as those of a roofline. */
enum plumb_counter_sign {
    PLUMB_SIGN_OFF_CPU = 1 << 0,   /* on a processor less than half of the time */
    PLUMB_SIGN_MEMORY = 1 << 1,    /* fewer than one instruction a cycle, and a fifth of the cache's
                                     * references miss */
    PLUMB_SIGN_BRANCHES = 1 << 2,  /* a twentieth of the branches are mispredicted */
    PLUMB_SIGN_PREEMPTED = 1 << 3, /* other programs took the processor once a run or more */
    PLUMB_SIGN_DISK = 1 << 4,      /* page faults that waited for a file */
    PLUMB_SIGN_FAULTS = 1 << 5,    /* a thousand page faults a run or more */
    PLUMB_SIGN_TEAM = 1 << 6       /* other threads worked at that time, and are not counted */
};
uint32_t plumb_counter_signs(const struct plumb_timing_counted *c,
                             const struct plumb_counter_rates *rates);

#endif
