/* gpu_power.h: the power of NVIDIA's GPUs, from the driver's library libnvidia-ml, which is loaded
 * when it is asked for; and energy from samples of power. One thread. */
#ifndef PLUMB_ISOLATE_ENERGY_GPU_POWER_H
#define PLUMB_ISOLATE_ENERGY_GPU_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUMB_GPU_POWER_LIBRARY "libnvidia-ml.so.1"
enum { PLUMB_GPU_POWER_DEVICES = 64, PLUMB_GPU_POWER_WHY = 200 };

struct plumb_gpu_power {
    void *library;
    size_t count; /* devices that report their power; 0: none */
    void *devices[PLUMB_GPU_POWER_DEVICES];
    int (*power_of)(void *device, unsigned int *milliwatts);
    int (*shutdown)(void);
    char why[PLUMB_GPU_POWER_WHY]; /* why there are none; "" */
};

/* Loads the library and finds the devices; may take a second. The library is never unloaded. */
void plumb_gpu_power_open(struct plumb_gpu_power *out, const char *library);
/* The watts of all devices together; NaN: none can be read now. */
double plumb_gpu_power_watts(const struct plumb_gpu_power *power);
void plumb_gpu_power_close(struct plumb_gpu_power *power);

/* Energy of samples of power, by the trapezoidal rule. Zeroed: no sample. */
struct plumb_power_sum {
    double joules, peak_w;
    uint64_t samples;
    double last_w;
    uint64_t last_ns;
};
/* Samples come in the order of their times. */
void plumb_power_add(struct plumb_power_sum *sum, uint64_t ns, double watts);

#endif
