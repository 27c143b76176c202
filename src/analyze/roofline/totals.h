/* totals.h: the operations and bytes of a whole trace, and of each of its stages.
 *
 * Kernels are those of roofline.h. A kernel inside another one, as a primitive inside a span to
 * which the program attached its operations, must not count twice: of the two figures, that of the
 * outer one and the sum of those inside it, the larger one counts. Each is a lower bound of the
 * work that was done there.
 *
 * The time of a stage is that in which at least one of its runs was open, on any thread. Runs that
 * failed or had not ended, and the kernels in them, are not part of a stage.
 *
 * Any thread, one result at a time; texts are numbers of the table, which must live as long. */
#ifndef PLUMB_ANALYZE_ROOFLINE_TOTALS_H
#define PLUMB_ANALYZE_ROOFLINE_TOTALS_H

#include "analyze/roofline/roofline.h"

struct plumb_work {
    uint64_t kernels;  /* runs that count */
    uint64_t no_bytes; /* of them, those with operations whose bytes are unknown */
    uint64_t no_flops; /* and those whose operations are unknown */
    double flops, bytes;
    double by_type[PLUMB_PEAK_TYPES + 1]; /* operations; the last: type unknown or not measured */
};

struct plumb_stage_work {
    uint32_t name;
    uint64_t runs, wall_ns;
    uint64_t kernel_ns; /* of the kernels, each without what ran inside it */
    uint64_t copy_ns;   /* of that, copies and fills of memory, and kernels without operations */
    uint64_t wanted_ns; /* of that, runs of the wanted kernel */
    struct plumb_work work;
};

struct plumb_work_totals {
    uint64_t wall_ns;  /* from the begin of the first slice to the end of the last one */
    uint64_t left_out; /* kernels that failed or had not ended */
    struct plumb_work work;
    struct plumb_stage_work *stages; /* with kernels; most time first */
    size_t stage_count;
};

struct plumb_totals_of {
    const uint32_t *stages; /* texts of the table: names of stages; the outermost of them counts */
    size_t stage_count;     /* 0: every outermost slice is a stage */
    const struct plumb_kernel_row *wanted; /* whose time in each stage is wanted; NULL: none */
};
/* `of` NULL: outermost slices. PLUMB_ERR_MEMORY. Cost: O(n log n) in the slices. */
int plumb_work_totals_init(struct plumb_work_totals *out, const struct plumb_table *t,
                           const struct plumb_totals_of *of, plumb_error *err);
void plumb_work_totals_fini(struct plumb_work_totals *totals);

/* A stage or the whole trace as a point of the roofline. Its type is that of most of its
 * operations. Its bytes are unknown if one of its kernels has operations and no bytes. */
struct plumb_roof_point plumb_work_point(const struct plumb_work *work, uint64_t runs, uint64_t ns);

/* The time that the operations need at least, with each type at its peak, in seconds. Operations of
 * types without a peak are left out, and added to `*without`. */
double plumb_work_ideal_s(const struct plumb_work *work, const struct plumb_peaks *peaks,
                          enum plumb_peak_span span, double *without);

#endif
