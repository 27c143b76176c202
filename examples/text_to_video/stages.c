/* The stages as a stage library (plumb/stage_library.h): libt2v_stages.so has them all, built from
 * the program's own sources, for `plumb bench` to run one alone.
 *
 * An instance is a pipeline with its models. A run copies its inputs to where the stage expects
 * what the stages before it made, and gives back the arena afterwards. */
#include "options.h"
#include "pipeline.h"

#include <plumb/stage_library.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void omp_set_num_threads(int threads); /* see main.c */

enum { CONFIG_BYTES = 512, CONFIG_WORDS = 32 };

struct instance {
    struct options options;
    struct pipeline pipeline;
    char config[CONFIG_BYTES]; /* the options' texts point into it */
    char prompt[256];
    char video[64]; /* where the stage to_video writes; removed at the end */
};

/* ---- Model ----------------------------------------------------------------------------------- */

/* `config` is text_to_video's command line; a value cannot hold a blank. */
static int parse(struct instance *self, const char *config, plumb_error *err)
{
    char *argv[CONFIG_WORDS] = {(char *)"text_to_video"}, *rest = self->config;
    int argc = 1;

    if ((size_t)snprintf(self->config, sizeof(self->config), "%s", config) >= sizeof(self->config))
        return plumb_call_fail("the configuration is too long", err);
    for (char *word = strtok_r(self->config, " ", &rest); word && argc < CONFIG_WORDS;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    if (options_parse(&self->options, argc, argv) != OPTIONS_RUN)
        return plumb_call_fail("the configuration is not a command line of text_to_video", err);
    return 0;
}

static void close_instance(void *instance)
{
    struct instance *self = instance;

    if (self) {
        pipeline_close(&self->pipeline);
        remove(self->video);
    }
    free(self);
}

static int open_instance(void **out, const char *config, plumb_error *err)
{
    struct instance *self = calloc(1, sizeof(*self));

    if (!self)
        return plumb_call_fail("out of memory", err);
    if (parse(self, config, err) < 0) {
        free(self);
        return err->code;
    }
    snprintf(self->video, sizeof(self->video), "/tmp/t2v_stages-%ld.mp4", (long)getpid());
    self->options.out_path = self->video;
    omp_set_num_threads(self->options.threads);
    if (pipeline_open(&self->pipeline, &self->options) < 0) {
        plumb_call_fail(self->pipeline.nn.error, err);
        close_instance(self);
        return err->code;
    }
    *out = self;
    return 0;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static bool element_of(enum element *out, DLDataType type)
{
    if (type.lanes != 1)
        return false;
    if (type.code == kDLFloat && type.bits == 32)
        *out = ELEMENT_F32;
    else if (type.code == kDLBfloat && type.bits == 16)
        *out = ELEMENT_BF16;
    else if (type.code == kDLFloat && type.bits == 16)
        *out = ELEMENT_F16;
    else
        return false;
    return true;
}

static bool is_row_major(const DLTensor *t)
{
    int64_t expected = 1;

    for (int d = t->ndim - 1; t->strides && d >= 0; d--) {
        if (t->shape[d] != 1 && t->strides[d] != expected)
            return false;
        expected *= t->shape[d];
    }
    return true;
}

/* Copies the input `name` into the arena. Fails nn where it is missing or of another kind. */
static struct tensor given(struct nn *nn, const plumb_stage_call *call, const char *name)
{
    const DLTensor *t = plumb_call_tensor(call, name);
    struct tensor copy = {0};
    enum element type;

    if (!t || t->ndim > DNNL_MAX_NDIMS || !element_of(&type, t->dtype) || !is_row_major(t)) {
        nn_fail(nn, "input '%s': a row-major tensor of float32, bfloat16 or float16 is needed",
                name);
        return copy;
    }
    copy = nn_tensor_of(nn, type, t->ndim, t->shape);
    if (copy.data)
        memcpy(copy.data, (const char *)t->data + t->byte_offset,
               (size_t)tensor_count(&copy) * element_bytes(type));
    return copy;
}

static void need(struct nn *nn, const char *name, const struct tensor *t, int64_t rows,
                 int64_t columns)
{
    if (!nn_failed(nn) && (t->ndims != 2 || t->dims[0] != rows || t->dims[1] != columns))
        nn_fail(nn,
                "input '%s' does not fit the model: %lldx%lld is needed (see the stage's "
                "configuration)",
                name, (long long)rows, (long long)columns);
}

static void needs_width(struct nn *nn, const char *name, const struct tensor *t, int64_t width)
{
    need(nn, name, t, t->ndims == 2 ? t->dims[0] : 0, width);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void give(plumb_stage_call *call, const char *name, struct tensor *t)
{
    DLTensor tensor = tensor_dlpack(t);
    plumb_call_output(call, name, &tensor);
}

static void take_text(struct instance *self, const plumb_stage_call *call)
{
    snprintf(self->prompt, sizeof(self->prompt), "%s", plumb_call_str(call, "prompt", ""));
    self->options.prompt = self->prompt;
}

static void take_denoise(struct instance *self, const plumb_stage_call *call)
{
    struct pipeline *p = &self->pipeline;
    int width = self->options.model_width;

    self->options.guidance = (float)plumb_call_f64(call, "cfg_scale", 5.0);
    p->text = given(&p->nn, call, "cond.text");
    p->no_text = given(&p->nn, call, "cond.no_text");
    p->latents = given(&p->nn, call, "latents");
    needs_width(&p->nn, "cond.text", &p->text, width);
    needs_width(&p->nn, "cond.no_text", &p->no_text, width);
    need(&p->nn, "latents", &p->latents, latent_tokens(&p->grid), LATENT_TOKEN_CHANNELS);
}

static void take_latents(struct instance *self, const plumb_stage_call *call)
{
    struct pipeline *p = &self->pipeline;

    p->latents = given(&p->nn, call, "latents");
    need(&p->nn, "latents", &p->latents, latent_tokens(&p->grid), LATENT_TOKEN_CHANNELS);
}

static void take_frames(struct instance *self, const plumb_stage_call *call)
{
    struct pipeline *p = &self->pipeline;
    const struct options *o = &self->options;

    p->frames = given(&p->nn, call, "frames");
    if (!nn_failed(&p->nn) &&
        tensor_count(&p->frames) < (int64_t)o->frames * o->height * o->width * 3)
        nn_fail(&p->nn, "input 'frames' does not fit the configured size");
}

/* Runs a stage between the copying of its inputs and the handing over of its output. */
static int run(void *instance, plumb_stage_call *call, plumb_error *err, enum stage stage,
               void (*take)(struct instance *self, const plumb_stage_call *call),
               const char *output, struct tensor *made)
{
    struct instance *self = instance;
    struct pipeline *p = &self->pipeline;
    struct nn_mark mark = nn_mark(&p->nn);
    int rc = 0;

    p->nn.error[0] = '\0';
    take(self, call);
    if (!nn_failed(&p->nn))
        pipeline_stage(p, stage);
    if (nn_failed(&p->nn))
        rc = plumb_call_fail(p->nn.error, err);
    else if (output)
        give(call, output, made);
    nn_release(&p->nn, mark);
    return rc;
}

static int run_text_encode(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct pipeline *p = &((struct instance *)instance)->pipeline;
    return run(instance, call, err, STAGE_TEXT_ENCODE, take_text, "prompt_emb", &p->text);
}

static int run_denoise(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct pipeline *p = &((struct instance *)instance)->pipeline;
    return run(instance, call, err, STAGE_DENOISE, take_denoise, "latents", &p->latents);
}

static int run_vae_decode(void *instance, plumb_stage_call *call, plumb_error *err)
{
    struct pipeline *p = &((struct instance *)instance)->pipeline;
    return run(instance, call, err, STAGE_VAE_DECODE, take_latents, "frames", &p->frames);
}

static int run_to_video(void *instance, plumb_stage_call *call, plumb_error *err)
{
    return run(instance, call, err, STAGE_TO_VIDEO, take_frames, NULL, NULL);
}

static const char *const text_inputs[] = {"prompt", NULL};
static const char *const denoise_inputs[] = {"latents", "cond.text", "cond.no_text", "cfg_scale",
                                             NULL};
static const char *const latents_inputs[] = {"latents", NULL};
static const char *const frames_inputs[] = {"frames", NULL};

static const plumb_stage_ops text_encode_ops = {PLUMB_STAGE_OPS_BEGIN,
                                                "text_encode",
                                                "encodes the prompt, and the empty one",
                                                text_inputs,
                                                open_instance,
                                                run_text_encode,
                                                NULL,
                                                close_instance,
                                                NULL};
static const plumb_stage_ops denoise_ops = {PLUMB_STAGE_OPS_BEGIN,
                                            "denoise",
                                            "the loop of denoising steps",
                                            denoise_inputs,
                                            open_instance,
                                            run_denoise,
                                            NULL,
                                            close_instance,
                                            NULL};
static const plumb_stage_ops vae_decode_ops = {PLUMB_STAGE_OPS_BEGIN,
                                               "vae_decode",
                                               "latents become frames",
                                               latents_inputs,
                                               open_instance,
                                               run_vae_decode,
                                               NULL,
                                               close_instance,
                                               NULL};
static const plumb_stage_ops to_video_ops = {PLUMB_STAGE_OPS_BEGIN,
                                             "to_video",
                                             "encodes frames as H.264",
                                             frames_inputs,
                                             open_instance,
                                             run_to_video,
                                             NULL,
                                             close_instance,
                                             NULL};

static const plumb_stage_ops *const stages[] = {&text_encode_ops, &denoise_ops, &vae_decode_ops,
                                                &to_video_ops, NULL};
PLUMB_STAGE_LIBRARY(stages);
