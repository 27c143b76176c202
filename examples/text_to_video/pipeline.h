/* The pipeline: text_encode, denoise, vae_decode, to_video. */
#ifndef TEXT_TO_VIDEO_PIPELINE_H
#define TEXT_TO_VIDEO_PIPELINE_H

#include "options.h"

#include <stdint.h>

enum stage { STAGE_TEXT_ENCODE, STAGE_DENOISE, STAGE_VAE_DECODE, STAGE_TO_VIDEO, STAGE_COUNT };

/* The names under which plumb shows the stages. */
extern const char *const stage_names[STAGE_COUNT];

struct pipeline_result {
    uint64_t flops[STAGE_COUNT];
    int64_t tokens;
    bool rounds;     /* computed in float32 and rounded, because oneDNN does no better here */
    char error[256]; /* why it failed */
};

/* Makes the models and one video. Returns 0, or -1 with result->error set. */
int pipeline_run(const struct options *o, struct pipeline_result *result);

#endif
