/* Four named scenarios as a stage library (plumb/stage_library.h), libaudio_scenarios.so: what a
 * chain of filters has to do in practice, each built for a device and given an input by
 * scenarios.json, which has their shapes.
 *
 * The configuration is "device=cpu" or "device=opencl"; "" is the device of the scenario. Filters
 * begin from silence in every run, so that equal inputs have equal outputs. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <audio_filter_chain/plan.h>
#include <dlpack/dlpack.h>
#include <plumb/plumb.h>
#include <plumb/stage_library.h>

static const double RATE = 48000;
/* Six filters, of a section each. */
static const char CHAIN[] = "highpass:2:30,highpass:2:60,highpass:2:90,lowpass:2:18000,"
                            "lowpass:2:16000,lowpass:2:15000";

struct scenario {
    bool device; /* an OpenCL device, unless the configuration says otherwise */
    struct effect effects[EFFECTS_MAX];
    size_t count;
    size_t channels, frames; /* of the input before; 0: none */
    float *samples;
    struct plan plan;
    struct device *opened;
};

/* ---- Build ----------------------------------------------------------------------------------- */

static void forget(struct scenario *s)
{
    plan_close(&s->plan);
    memset(&s->plan, 0, sizeof(s->plan));
    device_close(s->opened);
    s->opened = NULL;
    free(s->samples);
    s->samples = NULL;
    s->channels = s->frames = 0;
}

static void close_scenario(void *instance)
{
    struct scenario *s = instance;

    if (s)
        forget(s);
    free(s);
}

static int open_scenario(void **out, bool device, const char *config, plumb_error *err)
{
    struct scenario *s = calloc(1, sizeof(*s));
    char why[EFFECT_ERROR_BYTES];
    int count = -1;

    if (!s)
        return plumb_call_fail("out of memory", err);
    s->device = config[0] ? strcmp(config, "device=opencl") == 0 : device;
    if (config[0] && !s->device && strcmp(config, "device=cpu") != 0)
        plumb_call_fail("the configuration is neither \"device=cpu\" nor \"device=opencl\"", err);
    else if ((count = effects_parse(s->effects, CHAIN, RATE, why)) < 0)
        plumb_call_fail(why, err);
    if (count < 0) {
        free(s);
        return err->code;
    }
    s->count = (size_t)count;
    *out = s;
    return 0;
}

/* The sections of all filters, one after the other. */
static size_t sections_of(struct iir_section out[EFFECTS_MAX], const struct scenario *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->effects[i].count && n < EFFECTS_MAX; k++)
            out[n++] = s->effects[i].sections[k];
    return n;
}

/* Memory, and the filters for an input of this size: made once, as a program would. */
static int prepare(struct scenario *s, size_t channels, size_t frames, plumb_error *err)
{
    struct iir_section sections[EFFECTS_MAX];
    char why[DEVICE_ERROR_BYTES] = "out of memory";
    bool ready;

    if (s->samples && s->channels == channels && s->frames == frames)
        return 0;
    forget(s);
    s->samples = malloc(channels * frames * sizeof(float));
    ready = s->samples != NULL;
    if (ready && s->device)
        ready = (s->opened = device_open(sections, sections_of(sections, s), channels, frames,
                                         why)) != NULL;
    else if (ready)
        ready = plan_open(&s->plan, s->effects, s->count, true, IIR_F32, channels) == 0;
    if (!ready) {
        forget(s);
        return plumb_call_fail(why, err);
    }
    s->channels = channels;
    s->frames = frames;
    return 0;
}

/* ---- Run ------------------------------------------------------------------------------------- */

/* [...][channels][frames] of float32. */
static const DLTensor *samples_of(const plumb_stage_call *call, size_t *channels, plumb_error *err)
{
    const DLTensor *t = plumb_call_tensor(call, "samples");

    if (!t || t->ndim < 1 || t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->strides) {
        plumb_call_fail("input 'samples': a row-major tensor of float32 is needed", err);
        return NULL;
    }
    *channels = 1;
    for (int i = 0; i < t->ndim - 1; i++)
        *channels *= (size_t)t->shape[i];
    return t;
}

static int filter(struct scenario *s, plumb_error *err)
{
    struct iir_signal signal = {IIR_F32, s->channels, s->frames, s->frames, s->samples, s->samples};
    char why[DEVICE_ERROR_BYTES];

    if (s->device)
        return device_filter(s->opened, s->samples, why) < 0 ? plumb_call_fail(why, err) : 0;
    plan_reset(&s->plan);
    plan_run(&s->plan, &signal);
    return 0;
}

static int run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct scenario *s = instance;
    size_t channels;
    const DLTensor *in = samples_of(call, &channels, err);
    DLTensor out;

    if (!in || prepare(s, channels, (size_t)in->shape[in->ndim - 1], err) < 0)
        return err->code;
    memcpy(s->samples, (const char *)in->data + in->byte_offset,
           s->channels * s->frames * sizeof(float));
    if (filter(s, err) < 0)
        return err->code;
    out = *in;
    out.data = s->samples;
    out.byte_offset = 0;
    plumb_call_output(call, "samples", &out);
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const char *const inputs[] = {"samples", NULL};

#define SCENARIO(id, on_device, text)                                                              \
    static int open_##id(void **out, const char *config, plumb_error *err)                         \
    {                                                                                              \
        return open_scenario(out, on_device, config, err);                                         \
    }                                                                                              \
    static int run_##id(void *instance, plumb_stage_call *call, plumb_error *err)                  \
    {                                                                                              \
        PLUMB_STAGE(stage, #id);                                                                   \
        return run(instance, call, err);                                                           \
    }                                                                                              \
    static const plumb_stage_ops id = {                                                            \
        PLUMB_STAGE_OPS_BEGIN, #id, text, inputs, open_##id, run_##id, NULL, close_scenario, NULL}

SCENARIO(offline_chain, false, "ten minutes in stereo, through six filters");
SCENARIO(offline_batch, false, "32 files of ten seconds at once, through six filters");
SCENARIO(realtime_cpu, false, "a block of 512 samples, on the processor");
SCENARIO(realtime_gpu, true, "a block of 512 samples, on an OpenCL device");

static const plumb_stage_ops *const stages[] = {&offline_chain, &offline_batch, &realtime_cpu,
                                                &realtime_gpu, NULL};
PLUMB_STAGE_LIBRARY(stages);
