/* meter.h: the energy that the machine uses while a meter runs: of its processors, from RAPL's
 * counters (rapl.h), and of its GPUs, from samples of their power (gpu_power.h). A thread of the
 * meter reads both: counters every 10 ms, so that a counter that wraps several times is counted,
 * and the energy of any part of the time can be told; power every 100 ms. It keeps 65,536 points of
 * each, then every second one. One thread at a time calls. */
#ifndef PLUMB_ISOLATE_ENERGY_METER_H
#define PLUMB_ISOLATE_ENERGY_METER_H

#include <plumb/error.h>

#include "isolate/energy/gpu_power.h"
#include "isolate/energy/rapl.h"

struct plumb_meter; /* opaque */

struct plumb_meter_sums {
    double seconds;
    double cpu_joules, gpu_joules; /* NaN: absent */
    double gpu_peak_w;
    uint64_t gpu_samples;
    const struct plumb_rapl *rapl; /* domains, and why there are none */
    const char *gpu_why;           /* ""; or why there is no energy of GPUs */
};

/* Begins. `powercap`, `nvml` NULL: those of the system. Errors: PLUMB_ERR_MEMORY. */
int plumb_meter_open(struct plumb_meter **out, const char *powercap, const char *nvml,
                     plumb_error *err);
/* Ends it, once. */
void plumb_meter_stop(struct plumb_meter *m);
/* After the stop. */
void plumb_meter_sums(struct plumb_meter_sums *out, const struct plumb_meter *m);
/* After the stop: joules between two times, which are Unix time in nanoseconds, interpolated
 * between the points around them. Times outside count as the begin and the end. 0: absent. */
double plumb_meter_cpu_between(const struct plumb_meter *m, uint64_t from_ns, uint64_t to_ns);
double plumb_meter_gpu_between(const struct plumb_meter *m, uint64_t from_ns, uint64_t to_ns);
/* Stops it first where that has not been done. NULL is fine. */
void plumb_meter_close(struct plumb_meter *m);

/* ---- The points, for their test -------------------------------------------------------------- */

enum { PLUMB_METER_POINTS = 1 << 16 };

struct plumb_meter_point {
    uint64_t ns;
    double joules; /* since the begin */
};
struct plumb_meter_series {           /* zeroed but for the points: empty */
    struct plumb_meter_point *points; /* [PLUMB_METER_POINTS] */
    size_t count;
    uint64_t apart_ns; /* points that are closer replace the last one; doubled when all are used */
};
void plumb_meter_add(struct plumb_meter_series *s, uint64_t ns, double joules);
double plumb_meter_between(const struct plumb_meter_series *s, uint64_t from_ns, uint64_t to_ns);

#endif
