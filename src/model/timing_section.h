/* timing_section.h: the part of a run that has the old names at the top of timing.json and in the
 * human summary: one request, or, if there are none, the whole run. Its stages have one entry a
 * name. */
#ifndef PLUMB_MODEL_TIMING_SECTION_H
#define PLUMB_MODEL_TIMING_SECTION_H

#include "model/timing.h"

struct plumb_timing_stage {
    const char *name;
    const char *metric; /* component metric; NULL: none */
    uint64_t count, total_ns;
    uint64_t own_ns;   /* without what is nested in it and counted elsewhere */
    double percentage; /* own_ns of that of all stages, 0 .. 100 */
    /* Of all rows of the name: the end of the one that ended last, the highest peaks, the sum of
     * what they added. */
    struct plumb_timing_memory memory;
};

struct plumb_timing_section {
    struct plumb_arena arena;
    const struct plumb_timing_request *request; /* NULL: the whole run */
    const char *id;
    uint64_t end_unix_ns; /* of a request that is open: the end of the run */
    uint64_t wall_ns;
    uint64_t stages_ns; /* time of what ran inside no other: nested time is counted once */
    uint64_t records;
    struct plumb_timing_stage *stages; /* in the order in which they were first seen */
    size_t stage_count;                /* 0 also when the request is too old to have kept them */
};

/* The request that began last; PLUMB_TIMING_NONE: there are none. */
uint32_t plumb_timing_last_request(const struct plumb_timing *t);

/* Fills `out`, which the caller ends with plumb_timing_section_fini(); its strings and pools stay
 * those of `t`. `request`: index, or PLUMB_TIMING_NONE for the whole run and all its nodes. Time:
 * n log n in its stages. Errors: PLUMB_ERR_MEMORY. */
int plumb_timing_section_init(struct plumb_timing_section *out, const struct plumb_timing *t,
                              uint32_t request, plumb_error *err);
void plumb_timing_section_fini(struct plumb_timing_section *s);

#endif
