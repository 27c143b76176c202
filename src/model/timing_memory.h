/* timing_memory.h: figures computed from the memory that a run measured: sums over its pools, and
 * the analysis of its checkpoints. The JSON writer and the reports share it, so that their figures
 * are the same. No state; any thread. */
#ifndef PLUMB_MODEL_TIMING_MEMORY_H
#define PLUMB_MODEL_TIMING_MEMORY_H

#include "model/timing.h"

struct plumb_timing_bytes {
    uint64_t allocated, reserved, peak_allocated, peak_reserved;
    /* Bytes that other programs cannot use: reserved, or allocated for a pool that does not report
     * reserved bytes. */
    uint64_t held, peak_held;
};

/* Whether something was measured at all. */
bool plumb_timing_measured(const struct plumb_timing_memory *m);
/* Whether pool `i` counts in sums: the process's heap, as malloc() is watched, only if the program
 * reports no pool itself. */
bool plumb_timing_pool_counts(const struct plumb_timing *t, size_t i);
/* Sums over the pools that count; all 0 where there is none. The peak of a sum may be less than the
 * sum of peaks, which is what this is: pools need not be at their peaks at one time. */
struct plumb_timing_bytes plumb_timing_bytes_of(const struct plumb_timing *t,
                                                const struct plumb_timing_memory *m);
/* 100 * (reserved - allocated) / reserved; 0 when nothing is reserved, or less than allocated. */
double plumb_timing_overhead_percent(uint64_t allocated, uint64_t reserved);
/* Of the free bytes in reserved segments, the part that lies outside the largest hole: 0 .. 1.
 * Negative: no segment is known. */
double plumb_timing_fragmentation(const struct plumb_timing_pool *pool);

/* Checkpoints of one section: a request's, or the run's where there are no requests. */
struct plumb_timing_analysis {
    bool host; /* there are no pools: allocated and reserved are both the resident set */
    const struct plumb_timing_checkpoint *peak; /* highest peak_held; NULL: no checkpoint */
    const struct plumb_timing_checkpoint
        *baseline; /* the last of the section, or of no request; NULL: none */
    struct plumb_timing_bytes at_peak, at_baseline;
    uint64_t overhead; /* reserved - allocated at `peak`, not below 0 */
    double overhead_percent;
    uint64_t total;    /* of the devices, or of the machine; 0: not known */
    int64_t remaining; /* total - peak_held */
    int64_t increase;  /* peak_held - held of the baseline */
};

/* `request`: index, or PLUMB_TIMING_NONE for checkpoints outside of requests. */
void plumb_timing_analyse(struct plumb_timing_analysis *out, const struct plumb_timing *t,
                          uint32_t request);
/* The four numbers of a checkpoint, of the resident set where there are no pools. */
struct plumb_timing_bytes plumb_timing_checkpoint_bytes(const struct plumb_timing *t,
                                                        const struct plumb_timing_checkpoint *c);

#endif
