/* measure.c: the careful way to time something, in one call. Needs no run: it works with recording
 * off, except for the counter check, which reads a counter of the open run. */
#include "record/span/measure.h"

#include <stdlib.h>
#include <string.h>

#include "record/runtime/count.h"
#include "record/runtime/runtime.h"
#include "record/span/pipeline.h"

enum { WARMUPS = 3, SAMPLES = 20, SAMPLES_MAX = 1000000 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t now_ns(plumb_device *device)
{
    if (device)
        plumb_device_sync(device);
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

static void summarise(plumb_measured *out, uint64_t *ns, uint32_t samples, uint32_t warmups)
{
    double sum = 0;
    qsort(ns, samples, sizeof *ns, by_value);
    for (uint32_t i = 0; i < samples; i++)
        sum += (double)ns[i];
    out->median_ns = (double)ns[samples / 2];
    out->min_ns = (double)ns[0];
    out->max_ns = (double)ns[samples - 1];
    out->mean_ns = sum / samples;
    out->samples = samples;
    out->warmups = warmups;
}

int plumb_measure_impl(plumb_measured *out, void (*fn)(void *), void *arg,
                       const plumb_measure_options *options, plumb_error *err)
{
    plumb_measure_options o = {0};
    uint32_t warmups, samples;
    uint64_t *ns;
    if (!out || !fn)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_measure: %s is NULL", out ? "fn" : "out");
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    warmups = o.warmups == 0 ? WARMUPS : o.warmups < 0 ? 0 : (uint32_t)o.warmups;
    samples = o.samples == 0 ? SAMPLES : (uint32_t)o.samples;
    if (o.samples < 0 || o.samples > SAMPLES_MAX)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_measure: samples must be 1 to %d, got %d",
                          (int)SAMPLES_MAX, (int)o.samples);
    if (o.counter && !plumb_wanted())
        return plumb_fail(
            err, PLUMB_ERR_STATE,
            "plumb_measure: the counter '%s' cannot be read while nothing is recorded", o.counter);
    ns = malloc(samples * sizeof *ns);
    if (!ns)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "plumb_measure: out of memory for %u samples",
                          samples);
    for (uint32_t i = 0; i < warmups; i++)
        fn(arg);
    for (uint32_t i = 0; i < samples; i++) {
        int64_t before = o.counter ? plumb_count_value(o.counter) : 0;
        uint64_t begin = now_ns(o.device);
        fn(arg);
        ns[i] = now_ns(o.device) - begin;
        if (o.counter && plumb_count_value(o.counter) == before) {
            free(ns);
            return plumb_fail(
                err, PLUMB_ERR_NOT_RUN,
                "counter '%s' did not move in sample %u: the work was not done (a lazy "
                "pipeline must be made to run)",
                o.counter, i + 1);
        }
    }
    summarise(out, ns, samples, warmups);
    free(ns);
    return PLUMB_OK;
}
