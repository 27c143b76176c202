/* bound.h: the verdict on one kernel of an Nsight Compute report. Any thread; no state. */
#ifndef PLUMB_ANALYZE_NCU_BOUND_H
#define PLUMB_ANALYZE_NCU_BOUND_H

#include "read/ncu/ncu.h"

enum plumb_ncu_bound {
    PLUMB_NCU_UNKNOWN = 0,
    PLUMB_NCU_MEMORY_BOUND = 1,
    PLUMB_NCU_COMPUTE_BOUND = 2,
    PLUMB_NCU_LATENCY_BOUND = 3,
    PLUMB_NCU_BOUNDS
};

/* The thresholds, % of peak; a value must be above them. */
#define PLUMB_NCU_DRAM_ABOVE 80.0
#define PLUMB_NCU_SM_ABOVE 60.0

/* Device memory above 80 % of its peak: memory bound; otherwise multiprocessors above 60 %: compute
 * bound; otherwise latency bound. Unknown, where a metric that decides is missing: the memory's in
 * any case, the multiprocessors' where the memory is not above its threshold. */
enum plumb_ncu_bound plumb_ncu_bound_of(const struct plumb_ncu_kernel *kernel);

/* "memory_bound", "compute_bound", "latency_bound", "unknown" */
const char *plumb_ncu_bound_name(enum plumb_ncu_bound bound);
/* One sentence: what to change first. */
const char *plumb_ncu_bound_advice(enum plumb_ncu_bound bound);

#endif
