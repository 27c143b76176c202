/* rapl.h: joules of the processor, from the counters that Linux shows for RAPL (Running Average
 * Power Limit) below /sys/class/powercap. They count the whole machine: what else runs is in them.
 * One thread; allocates nothing. */
#ifndef PLUMB_ISOLATE_ENERGY_RAPL_H
#define PLUMB_ISOLATE_ENERGY_RAPL_H

#include <stddef.h>
#include <stdint.h>

#define PLUMB_RAPL_FOLDER "/sys/class/powercap"
enum { PLUMB_RAPL_DOMAINS = 16, PLUMB_RAPL_WHY = 200 };

struct plumb_rapl {
    size_t count; /* domains that are read: packages, and the memory next to them; 0: none */
    struct plumb_rapl_domain {
        char path[256]; /* of energy_uj */
        char name[32];  /* "package-0", "dram" */
        uint64_t last_uj, range_uj;
    } domains[PLUMB_RAPL_DOMAINS];
    uint64_t begin_ns;
    uint64_t sum_uj;          /* of all domains, since the begin */
    char why[PLUMB_RAPL_WHY]; /* why there are none; "" */
};

/* Finds the domains below `folder` and reads their counters. */
void plumb_rapl_begin(struct plumb_rapl *energy, const char *folder);
/* Reads them again: joules of all domains since the begin. A counter that is smaller than at the
 * last reading has wrapped once, at its range: at 100 W a counter of a package wraps in 44 minutes.
 * NaN: there are none, or one cannot be read any more; `why` says it. */
double plumb_rapl_read(struct plumb_rapl *energy);
/* The same, and the mean power in watts. */
void plumb_rapl_end(double *joules, double *watts, struct plumb_rapl *energy);

#endif
