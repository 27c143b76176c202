/* Owns the models and the order of the stages. Each stage is one function that begins with its
 * trace point and ends with its check; what it makes lives in the arena until the pipeline ends. */
#include "pipeline.h"

#include "sampler.h"
#include "video_writer.h"
#include "weights.h"
#include "weights_file.h"

#include <plumb/plumb.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const stage_names[STAGE_COUNT] = {"text_encode", "denoise", "vae_decode", "to_video"};

static void load_models(struct pipeline *p)
{
    PLUMB_SPAN_MEMORY("load_models");
    PLUMB_REGION("model_loading");
    text_encoder_init(&p->nn, &p->text_encoder, p->options->model_width);
    dit_init(&p->nn, &p->dit, p->options->model_width, p->options->model_width, &p->grid);
    vae_init(&p->nn, &p->vae);
    plumb_checkpoint("models_loaded");
}

/* Saves the weights, the first noise and the prompt, with which the same models can be run
 * elsewhere. */
static void save_weights(struct pipeline *p)
{
    const struct options *o = p->options;
    struct nn_mark mark = nn_mark(&p->nn);
    const int64_t dims[] = {latent_tokens(&p->grid), LATENT_TOKEN_CHANNELS};
    struct tensor noise = nn_tensor_of(&p->nn, ELEMENT_F32, 2, dims);
    const struct weights_fact facts[] = {
        {"steps", o->steps},
        {"guidance", (double)o->guidance},
        {"frames", o->frames},
        {"width", o->width},
        {"height", o->height},
        {"latent_frames", (double)p->grid.frames},
        {"latent_rows", (double)p->grid.rows},
        {"latent_columns", (double)p->grid.columns},
        {"heads", DIT_HEADS},
    };

    weights_noise(&p->nn, o->seed, &noise);
    weights_file_write(&p->nn, o->weights_path, &noise, o->prompt, facts,
                       (int)(sizeof(facts) / sizeof(facts[0])));
    nn_release(&p->nn, mark);
}

static void tell_input(plumb_span stage, const char *name, struct tensor *t)
{
    DLTensor tensor = tensor_dlpack(t);
    plumb_stage_input(stage, name, &tensor);
}

static void tell_output(plumb_span stage, const char *name, struct tensor *t)
{
    DLTensor tensor = tensor_dlpack(t);
    plumb_stage_output(stage, name, &tensor);
}

/* So that the stage can be opened alone with the same models (stages.c). */
static void tell_config(plumb_span stage, const struct pipeline *p)
{
    char text[192];

    options_text(text, sizeof(text), p->options);
    plumb_stage_metadata(stage, "stage_config", plumb_value_str(text));
}

static void run_text_encode(struct pipeline *p)
{
    PLUMB_STAGE(stage, "text_encode");
    tell_config(stage, p);
    plumb_stage_metric(stage, "text_encoder_time_s");
    plumb_stage_input_value(stage, "prompt", plumb_value_str(p->options->prompt));
    p->text = text_encode(&p->nn, &p->text_encoder, p->options->prompt);
    p->no_text = text_encode(&p->nn, &p->text_encoder, "");
    plumb_arg_i64(stage, "bytes", p->text.dims[0] - 1);
    tell_output(stage, "prompt_emb", &p->text);
    if (nn_failed(&p->nn))
        plumb_span_fail(stage, p->nn.error);
}

static void run_denoise(struct pipeline *p)
{
    PLUMB_STAGE(stage, "denoise");
    const struct sampler sampler = {p->options->steps, p->options->guidance, stage};

    tell_config(stage, p);
    plumb_stage_metric(stage, "dit_time_s");
    plumb_arg_i64(stage, "tokens", latent_tokens(&p->grid));
    plumb_arg_f64(stage, "guidance", (double)sampler.guidance);
    if (!p->latents.data) {
        p->latents = nn_matrix(&p->nn, latent_tokens(&p->grid), LATENT_TOKEN_CHANNELS);
        weights_noise(&p->nn, p->options->seed, &p->latents);
    }
    tell_input(stage, "latents", &p->latents);
    tell_input(stage, "cond.text", &p->text);
    tell_input(stage, "cond.no_text", &p->no_text);
    plumb_stage_input_value(stage, "cfg_scale", plumb_value_f64((double)sampler.guidance));
    plumb_stage_metadata(stage, "steps", plumb_value_i64(sampler.steps));
    {
        PLUMB_REGION("inference_denoising");
        denoise(&p->nn, &sampler, &p->dit, &p->text, &p->no_text, &p->latents);
    }
    tell_output(stage, "latents", &p->latents);
    if (nn_failed(&p->nn))
        plumb_span_fail(stage, p->nn.error);
}

static void run_vae_decode(struct pipeline *p)
{
    struct tensor volume;

    PLUMB_STAGE(stage, "vae_decode");
    tell_config(stage, p);
    plumb_stage_metric(stage, "vae_decode_time_s");
    tell_input(stage, "latents", &p->latents);
    volume = latents_unpack(&p->nn, &p->grid, &p->latents);
    p->frames = vae_decode(&p->nn, &p->vae, &volume);
    tell_output(stage, "frames", &p->frames);
    if (nn_failed(&p->nn))
        plumb_span_fail(stage, p->nn.error);
}

static void to_rgb(const struct tensor *frames, int64_t first, int64_t count, uint8_t *rgb)
{
    for (int64_t i = 0; i < count; i++)
        rgb[i] = (uint8_t)lrintf(127.5f + 127.5f * tensor_get(frames, first + i));
}

static int write_frames(struct pipeline *p, struct video_writer *writer)
{
    const struct options *o = p->options;
    int64_t count = (int64_t)o->height * o->width * 3;
    uint8_t *rgb = malloc((size_t)count);
    int status = rgb ? 0 : -1;

    for (int i = 0; i < o->frames && status == 0; i++) {
        to_rgb(&p->frames, i * count, count, rgb);
        status = video_writer_frame(writer, rgb);
    }
    free(rgb);
    return status < 0 ? -1 : video_writer_finish(writer);
}

static void run_to_video(struct pipeline *p)
{
    const struct options *o = p->options;
    struct video_writer *writer;

    if (nn_failed(&p->nn) || !o->out_path)
        return;
    PLUMB_STAGE(stage, "to_video");
    tell_config(stage, p);
    tell_input(stage, "frames", &p->frames);
    plumb_arg_i64(stage, "frames", o->frames);
    writer = video_writer_open(o->out_path, o->width, o->height, o->fps);
    if (!writer || write_frames(p, writer) < 0) {
        const char *why = writer ? video_writer_error(writer) : "";
        nn_fail(&p->nn, "%s: %s", o->out_path, *why ? why : "out of memory");
        plumb_span_fail(stage, p->nn.error);
    }
    video_writer_close(writer);
}

static void (*const stages[STAGE_COUNT])(struct pipeline *p) = {
    [STAGE_TEXT_ENCODE] = run_text_encode,
    [STAGE_DENOISE] = run_denoise,
    [STAGE_VAE_DECODE] = run_vae_decode,
    [STAGE_TO_VIDEO] = run_to_video,
};

void pipeline_stage(struct pipeline *p, enum stage stage)
{
    stages[stage](p);
}

int pipeline_open(struct pipeline *p, const struct options *options)
{
    *p = (struct pipeline){
        .options = options, .grid = options_grid(options), .fault = options->fault};
    if (nn_init(&p->nn, options->precision) < 0)
        return -1;
    p->nn.fault = p->fault.kind == FAULT_NONE ? NULL : &p->fault;
    load_models(p);
    return nn_failed(&p->nn) ? -1 : 0;
}

void pipeline_close(struct pipeline *p)
{
    nn_fini(&p->nn);
}

int pipeline_run(const struct options *o, struct pipeline_result *result)
{
    struct pipeline p;
    struct nn *nn = &p.nn;
    char seed[24];
    const plumb_pair metadata[] = {{"prompt", o->prompt}, {"seed", seed}, {NULL, NULL}};
    int rc = -1;

    snprintf(seed, sizeof(seed), "%" PRIu64, o->seed);
    PLUMB_REQUEST(request, NULL, metadata);
    plumb_memory_baseline();
    *result = (struct pipeline_result){0};
    if (pipeline_open(&p, o) < 0)
        goto out;
    result->tokens = latent_tokens(&p.grid);
    result->rounds = nn->rounds;
    if (o->weights_path)
        save_weights(&p);
    for (int i = 0; i < STAGE_COUNT; i++) {
        uint64_t before = nn->flops;
        if (nn_failed(nn))
            goto out;
        pipeline_stage(&p, (enum stage)i);
        result->flops[i] = nn->flops - before;
    }
    if (nn->fault && nn->fault->struck == 0)
        nn_fail(nn, "there is no place '%s' for this kind of fault", nn->fault->place);
    if (!nn_failed(nn))
        rc = 0;
out:
    snprintf(result->error, sizeof(result->error), "%s", nn->error);
    if (rc < 0)
        plumb_request_fail(request, result->error);
    pipeline_close(&p);
    return rc;
}
