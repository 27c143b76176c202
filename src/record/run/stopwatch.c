/* stopwatch.c: elapsed time and the peak of device memory in an interval. It belongs to no node and
 * no thread, and also works when nothing is being recorded (then without memory). */
#include "record/run/stopwatch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/stage/memory_pool.h"

struct plumb_stopwatch {
    char device[PLUMB_STOPWATCH_DEVICES][56];
    uint32_t devices;
    bool memory; /* `window` is open */
    double (*now_s)(void *arg);
    void *arg;
    double begin_s;
    struct plumb_window window;
};

static double monotonic_s(void *arg)
{
    (void)arg;
    return (double)plumb_clock_gettime_ns(CLOCK_MONOTONIC) * 1e-9;
}

static int add_device(plumb_stopwatch *r, const char *name, plumb_error *err)
{
    if (!name || strlen(name) >= sizeof r->device[0])
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_stopwatch_start: a device name is %s",
                          name ? "longer than 55 bytes" : "NULL");
    for (uint32_t i = 0; i < r->devices; i++) {
        if (strcmp(r->device[i], name) == 0)
            return PLUMB_OK;
    }
    if (r->devices == PLUMB_STOPWATCH_DEVICES)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_stopwatch_start: more than %d devices",
                          (int)PLUMB_STOPWATCH_DEVICES);
    strcpy(r->device[r->devices++], name);
    return PLUMB_OK;
}

int plumb_stopwatch_start_impl(plumb_stopwatch **out, const plumb_stopwatch_options *options,
                               plumb_error *err)
{
    plumb_stopwatch_options o = {0};
    plumb_stopwatch *r;
    struct plumb_in in;
    int rc = PLUMB_OK;
    if (options && options->size < sizeof(size_t))
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_stopwatch_start: options without a size");
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (o.device_count && !o.devices)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_stopwatch_start: devices is NULL, but device_count is %zu",
                          o.device_count);
    r = plumb_pages_map(sizeof *r);
    if (!r)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "plumb_stopwatch_start: out of memory");
    for (size_t i = 0; i < o.device_count && rc == PLUMB_OK; i++)
        rc = add_device(r, o.devices[i], err);
    if (rc < 0) {
        plumb_pages_unmap(r, sizeof *r);
        return rc;
    }
    r->now_s = o.now_s ? o.now_s : monotonic_s;
    r->arg = o.arg;
    if (o.capture_peak_memory && plumb_ledger_enter(&in, true)) {
        plumb_window_open(&r->window, in.run);
        r->memory = true;
        plumb_ledger_leave(in);
    }
    r->begin_s = r->now_s(r->arg);
    *out = r;
    return PLUMB_OK;
}

int plumb_stopwatch_stop_impl(plumb_stopwatch_result *out, plumb_stopwatch *run, plumb_error *err)
{
    plumb_stopwatch_result result = {.size = sizeof result};
    struct plumb_in in;
    size_t size = out ? out->size : 0;
    if (!run)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_stopwatch_stop: the stopwatch is NULL");
    result.seconds = run->now_s(run->arg) - run->begin_s;
    result.device_count = run->devices;
    for (uint32_t i = 0; i < run->devices; i++)
        snprintf(result.memory[i].device, sizeof result.memory[i].device, "%s", run->device[i]);
    if (run->memory && plumb_ledger_enter(&in, true)) {
        for (uint32_t i = 0; i < run->devices && run->window.run == in.run->generation; i++)
            plumb_window_peaks(&run->window, in.run, run->device[i],
                               &result.memory[i].peak_allocated_bytes,
                               &result.memory[i].peak_reserved_bytes);
        plumb_window_close(&run->window);
        run->memory = false;
        plumb_ledger_leave(in);
    }
    /* A window that cannot be closed now (its run is over, or this is a signal handler) may still
     * be linked: leaking a few pages is better than breaking the list. */
    if (!run->memory)
        plumb_pages_unmap(run, sizeof *run);
    if (size < sizeof(size_t))
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_stopwatch_stop: result without a size");
    result.size = size;
    memcpy(out, &result, size < sizeof result ? size : sizeof result);
    return PLUMB_OK;
}
