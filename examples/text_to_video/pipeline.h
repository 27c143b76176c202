/* The pipeline: text_encode, denoise, vae_decode, to_video. */
#ifndef TEXT_TO_VIDEO_PIPELINE_H
#define TEXT_TO_VIDEO_PIPELINE_H

#include "dit.h"
#include "nn.h"
#include "options.h"
#include "text_encoder.h"
#include "vae.h"

#include <stdint.h>

enum stage { STAGE_TEXT_ENCODE, STAGE_DENOISE, STAGE_VAE_DECODE, STAGE_TO_VIDEO, STAGE_COUNT };

/* The names under which plumb shows the stages. */
extern const char *const stage_names[STAGE_COUNT];

/* The models, and what the stages hand to each other. A stage that is run alone (stages.c) finds
 * there what the stages before it would have made. */
struct pipeline {
    const struct options *options;
    struct latent_grid grid;
    struct nn nn;
    struct text_encoder text_encoder;
    struct dit dit;
    struct vae vae;
    struct fault fault;
    struct tensor text, no_text; /* made by text_encode */
    struct tensor latents;       /* by denoise, as tokens; given to it: what it starts from */
    struct tensor frames;        /* by vae_decode, RGB in -1..1 */
};

struct pipeline_result {
    uint64_t flops[STAGE_COUNT];
    int64_t tokens;
    bool rounds;     /* computed in float32 and rounded, because oneDNN does no better here */
    char error[256]; /* why it failed */
};

/* Makes the models. `options` must outlive the pipeline. Returns 0, or -1 with p->nn.error set;
 * pipeline_close() is right either way. */
int pipeline_open(struct pipeline *p, const struct options *options);
void pipeline_close(struct pipeline *p);

/* Runs one stage. It has failed if nn_failed(&p->nn). */
void pipeline_stage(struct pipeline *p, enum stage stage);

/* Makes the models and one video. Returns 0, or -1 with result->error set. */
int pipeline_run(const struct options *o, struct pipeline_result *result);

#endif
