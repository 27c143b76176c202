/* http_device.c: the thread that reads devices, and their metrics. A driver is opened, read and
 * closed by that thread alone. */
#include "http_device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <plumb/read/metrics.h>

#include "log.h"

static const struct serve_driver *const drivers[] = {&serve_driver_nvml, &serve_driver_rocm};
enum { DRIVERS = sizeof drivers / sizeof *drivers, END_WAIT_S = 2 };

struct figures {
    const char *vendor;
    size_t number; /* within its driver */
    struct serve_device device;
};

struct serve_devices {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ends;
    uint64_t interval_s, readings;
    size_t count;
    struct figures of[SERVE_DEVICES_MAX];
};

static size_t read_all(void *const *opened, struct figures *out)
{
    struct serve_device one[SERVE_DEVICES_MAX];
    size_t n = 0;
    for (int d = 0; d < DRIVERS; d++) {
        for (size_t i = 0; i < SERVE_DEVICES_MAX; i++)
            one[i] = (struct serve_device){"", "", -1, -1, -1, -1000, -1};
        size_t count = opened[d] ? drivers[d]->read(opened[d], one, SERVE_DEVICES_MAX) : 0;
        for (size_t i = 0; i < count && n < SERVE_DEVICES_MAX; i++)
            out[n++] = (struct figures){drivers[d]->vendor, i, one[i]};
    }
    return n;
}

/* Waits for the next reading. Returns true when the server ends instead. */
static bool wait_next(struct serve_devices *v)
{
    struct timespec until;
    bool ends;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)v->interval_s;
    pthread_mutex_lock(&v->lock);
    while (!v->ends && pthread_cond_timedwait(&v->changed, &v->lock, &until) != ETIMEDOUT)
        continue;
    ends = v->ends;
    pthread_mutex_unlock(&v->lock);
    return ends;
}

static void *run(void *arg)
{
    struct serve_devices *v = arg;
    struct figures *now = calloc(SERVE_DEVICES_MAX, sizeof *now);
    void *opened[DRIVERS];
    bool any = false;
    for (int d = 0; d < DRIVERS; d++) {
        opened[d] = now ? drivers[d]->open() : NULL;
        any |= opened[d] != NULL;
    }
    while (any) {
        size_t n = read_all(opened, now);
        pthread_mutex_lock(&v->lock);
        memcpy(v->of, now, n * sizeof *now);
        v->count = n;
        v->readings++;
        pthread_mutex_unlock(&v->lock);
        if (wait_next(v))
            break;
    }
    for (int d = 0; d < DRIVERS; d++)
        if (opened[d])
            drivers[d]->close(opened[d]);
    free(now);
    return NULL;
}

bool serve_devices_open(struct serve_devices **out, uint64_t interval_s)
{
    pthread_condattr_t monotonic;
    struct serve_devices *v;
    *out = NULL;
    if (!interval_s)
        return true;
    if (!(v = calloc(1, sizeof *v)))
        return false;
    v->interval_s = interval_s;
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&v->thread, NULL, run, v) != 0) {
        free(v);
        return false;
    }
    *out = v;
    return true;
}

static void put(plumb_metrics *m, const char *name, const char *help,
                const struct plumb_pair *labels, double value, double least)
{
    if (value >= least)
        plumb_metrics_put(m, PLUMB_METRIC_GAUGE, name, help, labels, value, NULL);
}

static void add_one(plumb_metrics *m, const struct figures *f)
{
    const struct serve_device *d = &f->device;
    char number[24];
    struct plumb_pair labels[] = {{"device", number},
                                  {"name", d->name},
                                  {"uuid", d->uuid},
                                  {"vendor", f->vendor},
                                  {NULL, NULL}};
    snprintf(number, sizeof number, "%zu", f->number);
    put(m, "plumb_device_memory_used_bytes", "Memory of the device that is in use", labels,
        d->memory_used_bytes, 0);
    put(m, "plumb_device_memory_total_bytes", "Memory of the device", labels, d->memory_total_bytes,
        0);
    put(m, "plumb_device_utilization_ratio",
        "Part of the last sample period in which the device was busy, 0 to 1", labels, d->busy, 0);
    put(m, "plumb_device_temperature_celsius", "Temperature of the device", labels,
        d->temperature_c, -999);
    put(m, "plumb_device_power_watts", "Power that the device draws", labels, d->power_w, 0);
}

void serve_devices_add(struct serve_devices *v, struct plumb_metrics *m)
{
    if (!v)
        return;
    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < v->count; i++)
        add_one(m, &v->of[i]);
    if (v->readings)
        plumb_metrics_put(m, PLUMB_METRIC_COUNTER, "plumb_device_readings_total",
                          "Readings of the devices' drivers", NULL, (double)v->readings, NULL);
    pthread_mutex_unlock(&v->lock);
}

void serve_devices_close(struct serve_devices *v)
{
    struct timespec until;
    if (!v)
        return;
    pthread_mutex_lock(&v->lock);
    v->ends = true;
    pthread_cond_signal(&v->changed);
    pthread_mutex_unlock(&v->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_WAIT_S;
    if (pthread_timedjoin_np(v->thread, NULL, &until) != 0) {
        serve_log("a driver does not answer: it is left behind");
        pthread_detach(v->thread);
        return;
    }
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    free(v);
}
