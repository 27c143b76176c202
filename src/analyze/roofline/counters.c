/* counters.c: see counters.h. */
#include "analyze/roofline/counters.h"

#include <math.h>

static double ratio(const struct plumb_timing_counted *c, uint32_t upper, uint32_t lower)
{
    const struct plumb_timing_counter *u = &c->counter[upper], *l = &c->counter[lower];
    return u->runs && u->runs == l->runs && l->total ? (double)u->total / (double)l->total
                                                     : (double)NAN;
}

static double least_share(const struct plumb_timing_counted *c)
{
    double least = (double)NAN;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++) {
        const struct plumb_timing_counter *k = &c->counter[i];
        double share = k->enabled_ns ? (double)k->running_ns / (double)k->enabled_ns : 1;
        if (k->scaled && !(share >= least))
            least = share;
    }
    return least;
}

struct plumb_counter_rates plumb_counter_rates_of(const struct plumb_timing_counted *c,
                                                  uint64_t total_ns)
{
    const struct plumb_timing_counter *clock = &c->counter[PLUMB_PERF_TASK_CLOCK];
    struct plumb_counter_rates r = {
        .ipc = ratio(c, PLUMB_PERF_INSTRUCTIONS, PLUMB_PERF_CYCLES),
        .cache_miss = ratio(c, PLUMB_PERF_CACHE_MISSES, PLUMB_PERF_CACHE_REFERENCES),
        .branch_miss = ratio(c, PLUMB_PERF_BRANCH_MISSES, PLUMB_PERF_BRANCHES),
        .on_cpu = clock->runs && total_ns ? (double)clock->total / (double)total_ns : (double)NAN,
        .team = ratio(c, PLUMB_PERF_PROCESS_CPU, PLUMB_PERF_TASK_CLOCK),
        .counted = least_share(c)};
    if (r.on_cpu > 1)
        r.on_cpu = 1; /* the two clocks are read one after the other */
    return r;
}

static bool a_run(const struct plumb_timing_counted *c, uint32_t id, uint64_t least)
{
    const struct plumb_timing_counter *k = &c->counter[id];
    return k->runs && k->total / k->runs >= least;
}

uint32_t plumb_counter_signs(const struct plumb_timing_counted *c,
                             const struct plumb_counter_rates *rates)
{
    uint32_t signs = 0;
    if (rates->on_cpu < 0.5)
        signs |= PLUMB_SIGN_OFF_CPU;
    if (rates->ipc < 1 && rates->cache_miss >= 0.2)
        signs |= PLUMB_SIGN_MEMORY;
    if (rates->branch_miss >= 0.05)
        signs |= PLUMB_SIGN_BRANCHES;
    if (a_run(c, PLUMB_PERF_INVOLUNTARY, 1))
        signs |= PLUMB_SIGN_PREEMPTED;
    if (c->counter[PLUMB_PERF_MAJOR_FAULTS].total)
        signs |= PLUMB_SIGN_DISK;
    if (a_run(c, PLUMB_PERF_MINOR_FAULTS, 1000))
        signs |= PLUMB_SIGN_FAULTS;
    if (rates->team > 1.25)
        signs |= PLUMB_SIGN_TEAM;
    return signs;
}
