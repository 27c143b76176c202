/* The program's three stages: load, filter, save. */
#ifndef AUDIO_FILTER_CHAIN_PIPELINE_H
#define AUDIO_FILTER_CHAIN_PIPELINE_H

#include "options.h"
#include "wave.h"

enum { PIPELINE_ERROR_BYTES = 256 };

struct pipeline {
    const struct options *options;
    struct effect effects[EFFECTS_MAX];
    int effect_count;
    struct wave wave;
    char error[PIPELINE_ERROR_BYTES];
};

/* Every stage returns 0, or -1 with `error` filled. pipeline_close() is called in any case. */
int pipeline_load(struct pipeline *p, const struct options *options);
int pipeline_filter(struct pipeline *p);
int pipeline_save(struct pipeline *p);
void pipeline_close(struct pipeline *p);

/* Makes the effects for the wave's sample rate; part of pipeline_load(). */
int pipeline_effects(struct pipeline *p, double rate);

#endif
