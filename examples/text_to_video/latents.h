/* The latent space, where the diffusion transformer and the VAE meet.
 *
 * The transformer sees latents as tokens, [tokens][LATENT_TOKEN_CHANNELS]: a token is a patch of
 * 2x2 positions of one latent frame, and tokens come in the order frame, row, column. The VAE sees
 * the same numbers as a volume, [frames][height][width][LATENT_CHANNELS]. */
#ifndef TEXT_TO_VIDEO_LATENTS_H
#define TEXT_TO_VIDEO_LATENTS_H

#include "nn.h"

enum {
    LATENT_CHANNELS = 8,
    LATENT_PATCH = 2,
    LATENT_TOKEN_CHANNELS = LATENT_PATCH * LATENT_PATCH * LATENT_CHANNELS
};

/* How many tokens there are in each direction. */
struct latent_grid {
    int64_t frames, rows, columns;
};

int64_t latent_tokens(const struct latent_grid *grid);

/* The tokens as a volume, from the arena. */
struct tensor latents_unpack(struct nn *nn, const struct latent_grid *grid,
                             const struct tensor *tokens);

#endif
