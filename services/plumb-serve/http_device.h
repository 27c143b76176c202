/* http_device.h: figures of accelerators, read through the library of their driver, which is loaded
 * at run time. A thread of its own reads them, so that a driver that hangs delays no answer. */
#ifndef PLUMB_SERVE_HTTP_DEVICE_H
#define PLUMB_SERVE_HTTP_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_DEVICES_MAX = 64 };

/* The figures of a device; one that its driver does not give is negative. */
struct serve_device {
    char name[96], uuid[96];
    double memory_used_bytes, memory_total_bytes;
    double busy;          /* 0 to 1 */
    double temperature_c; /* -1000: not given */
    double power_w;
};

/* A driver's library. */
struct serve_driver {
    const char *vendor; /* "nvidia" */
    /* Loads it. Returns NULL if it is not there, or finds no device. */
    void *(*open)(void);
    /* Fills at most `most` devices; returns how many. */
    size_t (*read)(void *driver, struct serve_device *out, size_t most);
    void (*close)(void *driver);
};
extern const struct serve_driver serve_driver_nvml, serve_driver_rocm;

struct plumb_metrics;
struct serve_devices;
/* Starts reading, once now and then every `interval_s`. 0: no driver is loaded, and `*out` is NULL.
 * Returns false when out of memory. */
bool serve_devices_open(struct serve_devices **out, uint64_t interval_s);
/* Adds the newest figures. Any thread. NULL adds nothing. */
void serve_devices_add(struct serve_devices *devices, struct plumb_metrics *metrics);
void serve_devices_close(struct serve_devices *devices); /* NULL is fine */

#endif
