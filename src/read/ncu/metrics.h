/* metrics.h: which metric a name of an Nsight Compute report stands for, and values as ncu prints
 * them. Any thread; no state. */
#ifndef PLUMB_READ_NCU_METRICS_H
#define PLUMB_READ_NCU_METRICS_H

#include <stdbool.h>

enum plumb_ncu_metric {
    PLUMB_NCU_DURATION,  /* ns */
    PLUMB_NCU_DRAM,      /* throughput of device memory, % of its peak */
    PLUMB_NCU_SM,        /* throughput of the multiprocessors, % of their peak */
    PLUMB_NCU_OCCUPANCY, /* active warps, % of the most that are possible */
    PLUMB_NCU_METRICS
};
/* Returns the raw name that plumb asks ncu for. */
const char *plumb_ncu_metric_name(enum plumb_ncu_metric metric);

struct plumb_ncu_found {
    enum plumb_ncu_metric metric; /* PLUMB_NCU_METRICS: none of ours */
    unsigned rank;                /* of several names of a metric, the lowest counts */
    bool raw;                     /* a raw name, not a label */
};
/* The metric of a name or label. */
struct plumb_ncu_found plumb_ncu_metric_find(const char *name);

/* Reads "1,205.00" in `unit` as a value in the unit of `metric`; NaN: not a number, or in a unit
 * that is not one of this metric's. Commas only separate thousands. A percentage outside of 0 to
 * 1000 counts as not a number. */
double plumb_ncu_value(enum plumb_ncu_metric metric, bool raw_name, const char *text,
                       const char *unit);

#endif
