/* Stage 3: latents become frames. The decoder half of a video VAE: 3D convolutions, and upsampling
 * by 4 in time and 8 in space. */
#ifndef TEXT_TO_VIDEO_VAE_H
#define TEXT_TO_VIDEO_VAE_H

#include "nn.h"

enum { VAE_STAGES = 3, VAE_TIME_FACTOR = 4, VAE_SPACE_FACTOR = 8 };

struct conv3d {
    char leaf[24];        /* its name below its module: "residual.0"; of those without, "vae.in" */
    struct tensor weight; /* [out][in][3][3][3] */
    struct tensor bias;   /* [out] */
};

struct vae_stage {
    char name[24]; /* "vae.<i>" */
    struct conv3d residual[2], up;
};

struct vae {
    struct conv3d in;
    struct vae_stage stages[VAE_STAGES];
    struct conv3d out;
};

void vae_init(struct nn *nn, struct vae *vae);

/* From [frames][rows][columns][LATENT_CHANNELS] to [4 frames][8 rows][8 columns][3], RGB in -1..1,
 * from the arena. */
struct tensor vae_decode(struct nn *nn, const struct vae *vae, const struct tensor *latents);

#endif
