/* A driver's library that is not a driver's: two devices of NVML, or one of ROCm SMI (-DROCM). Each
 * reading of memory is one byte higher, so that a test can count readings. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(ROCM)
int rsmi_init(uint64_t flags)
{
    return flags != 0;
}
int rsmi_shut_down(void)
{
    return 0;
}
int rsmi_num_monitor_devices(uint32_t *out)
{
    *out = 1;
    return 0;
}
int rsmi_dev_memory_total_get(uint32_t i, int type, uint64_t *out)
{
    *out = 16u << 20;
    return type != 0 || i != 0;
}
int rsmi_dev_memory_usage_get(uint32_t i, int type, uint64_t *out)
{
    *out = 4u << 20;
    return type != 0 || i != 0;
}
int rsmi_dev_busy_percent_get(uint32_t i, uint32_t *out)
{
    *out = 40;
    return (int)i;
}
int rsmi_dev_temp_metric_get(uint32_t i, uint32_t sensor, int metric, int64_t *out)
{
    *out = 61500;
    return i != 0 || sensor != 0 || metric != 0;
}
int rsmi_dev_name_get(uint32_t i, char *out, size_t size)
{
    snprintf(out, size, "Simulated \"Instinct\"");
    return (int)i;
}
#else
struct memory {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned int gpu, memory;
};
static int device[2];
static unsigned long long readings;
int nvmlInit_v2(void)
{
    return 0;
}
int nvmlShutdown(void)
{
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned int *out)
{
    *out = 2;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **out)
{
    *out = &device[i];
    return i > 1;
}
int nvmlDeviceGetMemoryInfo(void *d, struct memory *out)
{
    out->total = 8ull << 30;
    out->used = (d == &device[0] ? 1ull << 30 : 2ull << 30) + readings++ / 2;
    out->free = out->total - out->used;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *d, struct utilization *out)
{
    out->gpu = 75;
    out->memory = 10;
    return d == &device[1] ? 3 /* not supported */ : 0;
}
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned int *out)
{
    (void)d;
    *out = 55;
    return sensor;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned int *out)
{
    (void)d;
    *out = 123456;
    return 0;
}
int nvmlDeviceGetUUID(void *d, char *out, unsigned int size)
{
    snprintf(out, size, "GPU-fake-%d", d == &device[1]);
    return 0;
}
int nvmlDeviceGetName(void *d, char *out, unsigned int size)
{
    (void)d;
    snprintf(out, size, "Simulated GPU");
    return 0;
}
#endif
