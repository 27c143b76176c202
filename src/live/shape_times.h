/* shape_times.h: the times of stages by the shapes of their inputs, read from a live mapping. The
 * summary of a rank is grouped by them. */
#ifndef PLUMB_LIVE_SHAPE_TIMES_H
#define PLUMB_LIVE_SHAPE_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include <plumb/error.h>

/* The calls of one stage and signature, in all pipelines and phases, that are in the report's
 * statistics: without failed and skipped ones, and those from before a reset. */
struct plumb_shape_time {
    const char *name; /* of the node */
    /* Of each input in order, as PyTorch writes them: "[[1, 16, 64], [77, 768], []]". A list is a
     * list of these, and an input that is not a tensor is []. "..." stands for inputs that did not
     * fit. */
    const char *shapes;
    uint64_t count, total_ns;
    uint64_t self_ns; /* without the spans inside */
    /* Device samples of the node that were recorded inside these calls, on their thread. */
    uint64_t device_ns, device_samples;
    uint64_t device_within_ns; /* the same of other nodes */
};

/* Times of a node in the steps that the trace is restricted to; names may repeat. */
struct plumb_active_time {
    const char *name;
    uint64_t count, self_ns, device_ns, device_samples, device_within_ns;
};

struct plumb_shape_times { /* zeroed is empty; owned as a whole by its arena */
    struct plumb_arena arena;
    /* Those steps, and everything that ran in them; NULL: the table covers the whole run. */
    const char *steps;
    struct plumb_active_time *active;
    size_t active_count;
    struct plumb_shape_time *at; /* first-seen order; two may have the same shapes */
    size_t count;
};

/* Fills `out` from a whole mapping, which may be a damaged file: invalid entries are left out.
 * `tick_ns`: as in the report of the run. Errors: PLUMB_ERR_FORMAT: no mapping of this version;
 * PLUMB_ERR_MEMORY. */
int plumb_live_to_shape_times(struct plumb_shape_times *out, const unsigned char *base,
                              size_t bytes, double tick_ns, plumb_error *err);
void plumb_shape_times_fini(struct plumb_shape_times *s);

#endif
