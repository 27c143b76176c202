/* gpu_power.c: see gpu_power.h. The functions of NVML that are used have not changed since 2012; no
 * header of NVIDIA's is needed for them. */
#include "isolate/energy/gpu_power.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct nvml {
    int (*init)(void);
    int (*count)(unsigned int *count);
    int (*device)(unsigned int index, void **device);
};

/* ISO C has no conversion from an object's pointer to a function's. */
static bool find(void *out, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static bool find_all(struct plumb_gpu_power *p, struct nvml *n)
{
    return find(&n->init, p->library, "nvmlInit_v2") &&
           find(&n->count, p->library, "nvmlDeviceGetCount_v2") &&
           find(&n->device, p->library, "nvmlDeviceGetHandleByIndex_v2") &&
           find(&p->power_of, p->library, "nvmlDeviceGetPowerUsage") &&
           find(&p->shutdown, p->library, "nvmlShutdown");
}

static void find_devices(struct plumb_gpu_power *p, const struct nvml *n)
{
    unsigned int devices = 0, milliwatts;
    void *device;
    if (n->count(&devices) != 0)
        devices = 0;
    for (unsigned int i = 0; i < devices && p->count < PLUMB_GPU_POWER_DEVICES; i++)
        if (n->device(i, &device) == 0 && p->power_of(device, &milliwatts) == 0)
            p->devices[p->count++] = device;
    if (p->count == 0)
        snprintf(p->why, sizeof p->why,
                 devices ? "GPU energy: none of the %u devices reports its power"
                         : "GPU energy: the driver of NVIDIA has no device",
                 devices);
}

void plumb_gpu_power_open(struct plumb_gpu_power *out, const char *library)
{
    struct nvml n;
    int rc;
    *out = (struct plumb_gpu_power){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    if (!out->library) {
        snprintf(out->why, sizeof out->why,
                 "GPU energy: no driver of NVIDIA: %.80s cannot be loaded", library);
        return;
    }
    if (!find_all(out, &n)) {
        out->shutdown = NULL;
        snprintf(out->why, sizeof out->why,
                 "GPU energy: %.80s lacks functions of NVML that are needed", library);
        return;
    }
    if ((rc = n.init()) != 0) {
        out->shutdown = NULL;
        snprintf(out->why, sizeof out->why,
                 "GPU energy: %.80s cannot be used: nvmlInit_v2() returned %d", library, rc);
        return;
    }
    find_devices(out, &n);
}

double plumb_gpu_power_watts(const struct plumb_gpu_power *power)
{
    double watts = 0;
    unsigned int milliwatts;
    bool any = false;
    for (size_t i = 0; i < power->count; i++)
        if (power->power_of(power->devices[i], &milliwatts) == 0) {
            watts += milliwatts / 1e3;
            any = true;
        }
    return any ? watts : NAN;
}

void plumb_gpu_power_close(struct plumb_gpu_power *power)
{
    if (power->shutdown)
        power->shutdown();
    power->shutdown = NULL;
    power->count = 0;
}

void plumb_power_add(struct plumb_power_sum *sum, uint64_t ns, double watts)
{
    if (sum->samples && ns > sum->last_ns)
        sum->joules += (watts + sum->last_w) / 2 * ((double)(ns - sum->last_ns) / 1e9);
    sum->peak_w = sum->samples && sum->peak_w > watts ? sum->peak_w : watts;
    sum->last_w = watts;
    sum->last_ns = ns;
    sum->samples++;
}
