/* energy.h: joules of the processor, from the counters that Linux shows for RAPL (Running Average
 * Power Limit) below /sys/class/powercap. They count the whole machine: what else runs is in them.
 * One thread; allocates nothing. */
#ifndef PLUMB_ISOLATE_ENERGY_H
#define PLUMB_ISOLATE_ENERGY_H

#include <stddef.h>
#include <stdint.h>

#define PLUMB_ENERGY_FOLDER "/sys/class/powercap"
enum { PLUMB_ENERGY_DOMAINS = 16, PLUMB_ENERGY_WHY = 200 };

struct plumb_energy {
    size_t count; /* domains that are read: packages, and the memory next to them; 0: none */
    struct plumb_energy_domain {
        char path[128]; /* of energy_uj */
        char name[32];  /* "package-0", "dram" */
        uint64_t begin_uj, range_uj;
    } domains[PLUMB_ENERGY_DOMAINS];
    uint64_t begin_ns;
    char why[PLUMB_ENERGY_WHY]; /* why there are none; "" */
};

/* Finds the domains below `folder` and reads their counters. */
void plumb_energy_begin(struct plumb_energy *energy, const char *folder);
/* Reads them again: joules of all domains since the begin, and the mean power in watts. A counter
 * that is smaller than at the begin has wrapped once, at its range. NaN: there are none, or one
 * cannot be read any more; `why` says it. */
void plumb_energy_end(double *joules, double *watts, struct plumb_energy *energy);

#endif
