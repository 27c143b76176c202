/* bound.c: the verdict on a kernel.
 *
 * A missing metric is never a low one. A program that takes it for 0 % calls every report that it
 * cannot read latency bound. */
#include <math.h>

#include "analyze/ncu/bound.h"

enum plumb_ncu_bound plumb_ncu_bound_of(const struct plumb_ncu_kernel *kernel)
{
    double dram = kernel->metric[PLUMB_NCU_DRAM];
    double sm = kernel->metric[PLUMB_NCU_SM];
    if (isnan(dram))
        return PLUMB_NCU_UNKNOWN;
    if (dram > PLUMB_NCU_DRAM_ABOVE)
        return PLUMB_NCU_MEMORY_BOUND;
    if (isnan(sm))
        return PLUMB_NCU_UNKNOWN;
    return sm > PLUMB_NCU_SM_ABOVE ? PLUMB_NCU_COMPUTE_BOUND : PLUMB_NCU_LATENCY_BOUND;
}

const char *plumb_ncu_bound_name(enum plumb_ncu_bound bound)
{
    static const char *const names[PLUMB_NCU_BOUNDS] = {"unknown", "memory_bound", "compute_bound",
                                                        "latency_bound"};
    return names[bound];
}

const char *plumb_ncu_bound_advice(enum plumb_ncu_bound bound)
{
    static const char *const texts[PLUMB_NCU_BOUNDS] = {
        "Collect the missing metrics: profile the kernel again with 'plumb deep --ncu'.",
        "Move fewer bytes: fuse the kernel with its neighbours, use a smaller element type, or "
        "reuse data in shared memory.",
        "Do fewer or cheaper instructions: use the tensor cores, a narrower element type, or an "
        "algorithm with less arithmetic.",
        "Keep more work in flight: raise the occupancy, coalesce the accesses to memory, or launch "
        "larger grids.",
    };
    return texts[bound];
}
