/* Stage 2: noise becomes latents, in steps, under classifier-free guidance. */
#ifndef TEXT_TO_VIDEO_SAMPLER_H
#define TEXT_TO_VIDEO_SAMPLER_H

#include "dit.h"
#include "nn.h"

#include <plumb/plumb.h>

struct sampler {
    int steps;
    float guidance;   /* 1 follows the prompt plainly, more exaggerates it */
    plumb_span stage; /* whose inputs are recorded at each step */
};

/* `latents` holds noise before and the result after. `text` and `no_text` are the encodings of the
 * prompt and of the empty prompt. */
void denoise(struct nn *nn, const struct sampler *s, const struct dit *dit,
             const struct tensor *text, const struct tensor *no_text, const struct tensor *latents);

#endif
