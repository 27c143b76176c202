#include "pipeline.h"

#include "wav_file.h"

#include <stdio.h>
#include <string.h>

#include <dlpack/dlpack.h>

#include <plumb/plumb.h>

static int fail(struct pipeline *p, plumb_span stage)
{
    plumb_span_fail(stage, p->error);
    return -1;
}

static DLTensor tensor_of(struct wave *w, int64_t shape[2])
{
    shape[0] = (int64_t)w->channels;
    shape[1] = (int64_t)w->frames;
    return (DLTensor){.data = w->samples,
                      .device = {kDLCPU, 0},
                      .ndim = 2,
                      .dtype = {kDLFloat, w->type == IIR_F32 ? 32 : 64, 1},
                      .shape = shape};
}

int pipeline_effects(struct pipeline *p, double rate)
{
    const struct options *o = p->options;

    p->effect_count = o->depth ? effects_of_depth(p->effects, o->depth, rate)
                               : effects_parse(p->effects, o->chain, rate, p->error);
    return p->effect_count < 0 ? -1 : 0;
}

static int load(struct pipeline *p)
{
    const struct options *o = p->options;

    if (o->in_path)
        return wav_read(&p->wave, o->in_path, o->type, p->error);
    if (wave_open(&p->wave, o->type, (size_t)o->channels, (size_t)(o->seconds * o->rate), o->rate) <
        0) {
        snprintf(p->error, sizeof(p->error), "out of memory");
        return -1;
    }
    wave_noise(&p->wave, o->seed);
    return 0;
}

int pipeline_load(struct pipeline *p, const struct options *options)
{
    PLUMB_STAGE(stage, "load");

    memset(p, 0, sizeof(*p));
    p->options = options;
    if (load(p) < 0 || pipeline_effects(p, p->wave.rate) < 0)
        return fail(p, stage);
    p->wave.fuse = options->fuse;
    p->wave.block = (size_t)options->block;
    plumb_arg_i64(stage, "frames", (int64_t)p->wave.frames);
    return 0;
}

int pipeline_filter(struct pipeline *p)
{
    PLUMB_STAGE(stage, "filter");
    int64_t shape[2];
    DLTensor samples = tensor_of(&p->wave, shape);

    plumb_stage_input(stage, "samples", &samples);
    plumb_arg_i64(stage, "effects", p->effect_count);
    for (int run = 0; run < p->options->repeat; run++) {
        for (int i = 0; i < p->effect_count; i++)
            wave_pipe(&p->wave, &p->effects[i]);
        if (!wave_read(&p->wave)) {
            snprintf(p->error, sizeof(p->error), "out of memory");
            return fail(p, stage);
        }
    }
    plumb_stage_output(stage, "samples", &samples);
    return 0;
}

int pipeline_save(struct pipeline *p)
{
    PLUMB_STAGE(stage, "save");

    if (p->options->out_path && wav_write(&p->wave, p->options->out_path, p->error) < 0)
        return fail(p, stage);
    return 0;
}

void pipeline_close(struct pipeline *p)
{
    wave_close(&p->wave);
}
