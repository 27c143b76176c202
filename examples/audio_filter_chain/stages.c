/* The stage `filter` as a stage library (plumb/stage_library.h): libiir_stages.so, built from the
 * program's own sources, for `plumb bench` to run it alone. A step is a block of frames. */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlpack/dlpack.h>

#include <plumb/stage_library.h>

enum { CONFIG_BYTES = 512, CONFIG_WORDS = 32 };

struct instance {
    struct options options;
    struct pipeline pipeline;
    char config[CONFIG_BYTES]; /* the options' texts point into it */
};

/* ---- Instance -------------------------------------------------------------------------------- */

/* `config` is audio_filter_chain's command line; a value cannot hold a blank. */
static int parse(struct instance *self, const char *config, plumb_error *err)
{
    char *argv[CONFIG_WORDS] = {(char *)"audio_filter_chain"}, *rest = self->config;
    int argc = 1;

    if ((size_t)snprintf(self->config, sizeof(self->config), "%s", config) >= sizeof(self->config))
        return plumb_call_fail("the configuration is too long", err);
    for (char *word = strtok_r(self->config, " ", &rest); word && argc < CONFIG_WORDS;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    if (options_parse(&self->options, argc, argv) != OPTIONS_RUN)
        return plumb_call_fail("the configuration is not a command line of audio_filter_chain",
                               err);
    return 0;
}

static void close_instance(void *instance)
{
    struct instance *self = instance;

    if (self)
        wave_close(&self->pipeline.wave);
    free(self);
}

static int open_instance(void **out, const char *config, plumb_error *err)
{
    struct instance *self = calloc(1, sizeof(*self));

    if (!self)
        return plumb_call_fail("out of memory", err);
    self->pipeline.options = &self->options;
    if (parse(self, config, err) < 0) {
        free(self);
        return err->code;
    }
    if (pipeline_effects(&self->pipeline, self->options.rate) < 0) {
        plumb_call_fail(self->pipeline.error, err);
        free(self);
        return err->code;
    }
    *out = self;
    return 0;
}

/* ---- Run ------------------------------------------------------------------------------------- */

static bool is_planar(const DLTensor *t)
{
    return t->ndim == 2 && t->dtype.code == kDLFloat && t->dtype.lanes == 1 &&
           (t->dtype.bits == 32 || t->dtype.bits == 64) &&
           (!t->strides || ((t->shape[1] < 2 || t->strides[1] == 1) &&
                            (t->shape[0] < 2 || t->strides[0] == t->shape[1])));
}

/* Memory that is new in each run would cost more than the filters. */
static int renew(struct wave *w, enum iir_type type, size_t channels, size_t frames, double rate)
{
    w->pending_count = 0;
    if (w->samples && w->type == type && w->channels == channels && w->frames == frames)
        return 0;
    wave_close(w);
    return wave_open(w, type, channels, frames, rate);
}

static int take(struct instance *self, const plumb_stage_call *call, plumb_error *err)
{
    const DLTensor *t = plumb_call_tensor(call, "samples");
    struct wave *w = &self->pipeline.wave;

    if (!t || !is_planar(t))
        return plumb_call_fail(
            "input 'samples': [channels][frames] of float32 or float64 is needed", err);
    if (renew(w, t->dtype.bits == 32 ? IIR_F32 : IIR_F64, (size_t)t->shape[0], (size_t)t->shape[1],
              self->options.rate) < 0)
        return plumb_call_fail("out of memory", err);
    memcpy(w->samples, (const char *)t->data + t->byte_offset,
           w->channels * w->frames * iir_bytes(w->type));
    w->fuse = self->options.fuse;
    w->block = (size_t)self->options.block;
    return 0;
}

static void give(struct wave *w, plumb_stage_call *call)
{
    int64_t shape[2] = {(int64_t)w->channels, (int64_t)w->frames};
    DLTensor t = {.data = w->samples,
                  .device = {kDLCPU, 0},
                  .ndim = 2,
                  .dtype = {kDLFloat, w->type == IIR_F32 ? 32 : 64, 1},
                  .shape = shape};
    plumb_call_output(call, "samples", &t);
}

static int run_filter(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct instance *self = instance;
    struct pipeline *p = &self->pipeline;
    int rc = take(self, call, err);

    if (rc == 0 && pipeline_filter(p) < 0)
        rc = plumb_call_fail(p->error, err);
    if (rc == 0)
        give(&p->wave, call);
    return rc;
}

static const char *const filter_inputs[] = {"samples", NULL};

static const plumb_stage_ops filter_ops = {PLUMB_STAGE_OPS_BEGIN,
                                           "filter",
                                           "runs the chain over the samples",
                                           filter_inputs,
                                           open_instance,
                                           run_filter,
                                           NULL,
                                           close_instance,
                                           NULL};

static const plumb_stage_ops *const stages[] = {&filter_ops, NULL};
PLUMB_STAGE_LIBRARY(stages);
