/* http_device_nvml.c: NVIDIA's management library. Types are declared here as its ABI has them, so
 * that nothing of it is needed to build. */
#include <dlfcn.h>
#include <stdlib.h>

#include "http_device.h"

typedef void *nvml_device;
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned int gpu, memory; /* percent */
};
enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0 };

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned int *out);
    int (*handle)(unsigned int i, nvml_device *out);
    int (*memory)(nvml_device d, struct nvml_memory *out);
    int (*utilization)(nvml_device d, struct nvml_utilization *out);
    int (*temperature)(nvml_device d, int sensor, unsigned int *out);
    int (*power)(nvml_device d, unsigned int *out); /* milliwatts */
    int (*uuid)(nvml_device d, char *out, unsigned int size);
    int (*name)(nvml_device d, char *out, unsigned int size);
};

/* The symbols, and where they go; the first `NEEDED` must be there. */
static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init)},
    {"nvmlShutdown", offsetof(struct nvml, shutdown)},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, count)},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, handle)},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory)},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, utilization)},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature)},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power)},
    {"nvmlDeviceGetUUID", offsetof(struct nvml, uuid)},
    {"nvmlDeviceGetName", offsetof(struct nvml, name)},
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols, NEEDED = 4 };

static void nvml_close(void *driver)
{
    struct nvml *n = driver;
    if (n->shutdown)
        n->shutdown();
    dlclose(n->library);
    free(n);
}

static void *nvml_open(void)
{
    struct nvml *n = calloc(1, sizeof *n);
    unsigned int count = 0;
    if (!n || !(n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL))) {
        free(n);
        return NULL;
    }
    for (int i = 0; i < SYMBOLS; i++) {
        void *symbol = dlsym(n->library, symbols[i].name);
        *(void **)(void *)((char *)n + symbols[i].offset) = symbol;
        if (!symbol && i < NEEDED) {
            dlclose(n->library);
            free(n);
            return NULL;
        }
    }
    if (n->init() != NVML_SUCCESS) {
        dlclose(n->library);
        free(n);
        return NULL;
    }
    if (n->count(&count) == NVML_SUCCESS && count > 0)
        return n;
    nvml_close(n);
    return NULL;
}

static void read_one(const struct nvml *n, nvml_device d, struct serve_device *out)
{
    struct nvml_memory memory;
    struct nvml_utilization busy;
    unsigned int value;
    if (n->memory && n->memory(d, &memory) == NVML_SUCCESS) {
        out->memory_used_bytes = (double)memory.used;
        out->memory_total_bytes = (double)memory.total;
    }
    if (n->utilization && n->utilization(d, &busy) == NVML_SUCCESS)
        out->busy = busy.gpu / 100.0;
    if (n->temperature && n->temperature(d, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        out->temperature_c = value;
    if (n->power && n->power(d, &value) == NVML_SUCCESS)
        out->power_w = value / 1000.0;
    if (!n->uuid || n->uuid(d, out->uuid, sizeof out->uuid) != NVML_SUCCESS)
        out->uuid[0] = '\0';
    if (!n->name || n->name(d, out->name, sizeof out->name) != NVML_SUCCESS)
        out->name[0] = '\0';
}

static size_t nvml_read(void *driver, struct serve_device *out, size_t most)
{
    const struct nvml *n = driver;
    unsigned int count = 0;
    if (n->count(&count) != NVML_SUCCESS)
        return 0;
    for (unsigned int i = 0; i < count && i < most; i++) {
        nvml_device d;
        if (n->handle(i, &d) == NVML_SUCCESS)
            read_one(n, d, &out[i]);
    }
    return count < most ? count : most;
}

const struct serve_driver serve_driver_nvml = {"nvidia", nvml_open, nvml_read, nvml_close};
