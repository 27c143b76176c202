/* http_device_rocm.c: AMD's ROCm SMI library, as http_device_nvml.c. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "http_device.h"

enum { RSMI_SUCCESS = 0, RSMI_MEMORY_VRAM = 0, RSMI_TEMPERATURE_EDGE = 0, RSMI_CURRENT = 0 };

struct rocm {
    void *library;
    int (*init)(uint64_t flags);
    int (*shutdown)(void);
    int (*count)(uint32_t *out);
    int (*memory_total)(uint32_t i, int type, uint64_t *out);
    int (*memory_used)(uint32_t i, int type, uint64_t *out);
    int (*busy)(uint32_t i, uint32_t *out);                                    /* percent */
    int (*temperature)(uint32_t i, uint32_t sensor, int metric, int64_t *out); /* 1/1000 C */
    int (*power)(uint32_t i, uint32_t sensor, uint64_t *out);                  /* microwatts */
    int (*id)(uint32_t i, uint64_t *out);
    int (*name)(uint32_t i, char *out, size_t size);
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"rsmi_init", offsetof(struct rocm, init)},
    {"rsmi_shut_down", offsetof(struct rocm, shutdown)},
    {"rsmi_num_monitor_devices", offsetof(struct rocm, count)},
    {"rsmi_dev_memory_total_get", offsetof(struct rocm, memory_total)},
    {"rsmi_dev_memory_usage_get", offsetof(struct rocm, memory_used)},
    {"rsmi_dev_busy_percent_get", offsetof(struct rocm, busy)},
    {"rsmi_dev_temp_metric_get", offsetof(struct rocm, temperature)},
    {"rsmi_dev_power_ave_get", offsetof(struct rocm, power)},
    {"rsmi_dev_unique_id_get", offsetof(struct rocm, id)},
    {"rsmi_dev_name_get", offsetof(struct rocm, name)},
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols, NEEDED = 3 };

/* Each major version of ROCm has its own file name. */
static void *load(void)
{
    static const char *const files[] = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                        "librocm_smi64.so.5", "librocm_smi64.so.1",
                                        "librocm_smi64.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof files / sizeof *files; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void rocm_close(void *driver)
{
    struct rocm *r = driver;
    if (r->shutdown)
        r->shutdown();
    dlclose(r->library);
    free(r);
}

static void *rocm_open(void)
{
    struct rocm *r = calloc(1, sizeof *r);
    uint32_t count = 0;
    bool whole = true;
    if (!r || !(r->library = load())) {
        free(r);
        return NULL;
    }
    for (int i = 0; i < SYMBOLS; i++) {
        void *symbol = dlsym(r->library, symbols[i].name);
        *(void **)(void *)((char *)r + symbols[i].offset) = symbol;
        whole = whole && (symbol || i >= NEEDED);
    }
    if (!whole || r->init(0) != RSMI_SUCCESS) {
        dlclose(r->library);
        free(r);
        return NULL;
    }
    if (r->count(&count) == RSMI_SUCCESS && count > 0)
        return r;
    rocm_close(r);
    return NULL;
}

static void read_one(const struct rocm *r, uint32_t i, struct serve_device *out)
{
    uint64_t value;
    uint32_t percent;
    int64_t heat;
    if (r->memory_used && r->memory_used(i, RSMI_MEMORY_VRAM, &value) == RSMI_SUCCESS)
        out->memory_used_bytes = (double)value;
    if (r->memory_total && r->memory_total(i, RSMI_MEMORY_VRAM, &value) == RSMI_SUCCESS)
        out->memory_total_bytes = (double)value;
    if (r->busy && r->busy(i, &percent) == RSMI_SUCCESS)
        out->busy = percent / 100.0;
    if (r->temperature &&
        r->temperature(i, RSMI_TEMPERATURE_EDGE, RSMI_CURRENT, &heat) == RSMI_SUCCESS)
        out->temperature_c = (double)heat / 1000;
    if (r->power && r->power(i, 0, &value) == RSMI_SUCCESS)
        out->power_w = (double)value / 1e6;
    if (r->id && r->id(i, &value) == RSMI_SUCCESS)
        snprintf(out->uuid, sizeof out->uuid, "GPU-%016llx", (unsigned long long)value);
    if (!r->name || r->name(i, out->name, sizeof out->name) != RSMI_SUCCESS)
        out->name[0] = '\0';
}

static size_t rocm_read(void *driver, struct serve_device *out, size_t most)
{
    const struct rocm *r = driver;
    uint32_t count = 0;
    if (r->count(&count) != RSMI_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count && i < most; i++)
        read_one(r, i, &out[i]);
    return count < most ? count : most;
}

const struct serve_driver serve_driver_rocm = {"amd", rocm_open, rocm_read, rocm_close};
