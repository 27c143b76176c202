/* in_situ.h: the time that a stage, or some steps of its loop, took inside the pipeline that was
 * recorded: what an isolated run is compared with. Any thread; allocates nothing. */
#ifndef PLUMB_ISOLATE_IN_SITU_H
#define PLUMB_ISOLATE_IN_SITU_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/read/bench.h>

#include "model/timing.h"

struct plumb_in_situ {
    double ms;           /* of what one isolated run does; NaN: not known */
    const char *node;    /* whose times these are; belongs to the timing */
    uint64_t count;      /* of its runs */
    bool average;        /* of the stage over all of its steps: no node covers a step */
    uint64_t iterations; /* steps that the pipeline ran in the stage; 0: not known */
    uint64_t peak_bytes; /* highest resident set in the pipeline; 0: not known */
};

/* Looks up stage `stage` in `t`. The time of a step is the median of the node that runs once a
 * step inside the stage, and takes the most time of those; without one it is the stage's mean
 * divided by the steps of its loop. */
void plumb_in_situ_find(struct plumb_in_situ *out, const struct plumb_timing *t, const char *stage,
                        const plumb_bench_result *result);

#endif
