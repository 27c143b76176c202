/* The diffusion transformer: given noisy latents, the time and a text, it predicts the clean
 * latents, both as tokens (latents.h). One forward pass is one half of a denoise step; sampler.c
 * runs the steps. */
#ifndef TEXT_TO_VIDEO_DIT_H
#define TEXT_TO_VIDEO_DIT_H

#include "latents.h"
#include "layers.h"
#include "nn.h"

enum { DIT_BLOCKS = 6, DIT_HEADS = 4, DIT_TIME_WIDTH = 128 };

struct dit_block {
    char name[24];            /* "block.<i>" */
    struct linear modulation; /* time to shift, scale and gate, twice */
    struct attention self, cross;
    struct mlp mlp;
};

struct dit {
    int64_t width;
    struct linear patch_in, text_in, time_in, time_hidden;
    struct dit_block blocks[DIT_BLOCKS];
    struct linear modulation_out; /* time to shift and scale */
    struct linear patch_out;
    struct tensor positions; /* [tokens][width], float32 */
};

/* `width` is a multiple of DIT_HEADS, `text_width` that of the texts it will be given. */
void dit_init(struct nn *nn, struct dit *dit, int64_t width, int64_t text_width,
              const struct latent_grid *grid);

/* The clean latents as predicted from `latents` at time t (1 is noise, 0 is clean) under `text`,
 * an output of text_encode(). */
void dit_forward(struct nn *nn, const struct dit *dit, const struct tensor *latents, float t,
                 const struct tensor *text, const struct tensor *predicted);

#endif
