/* The weights of all models as a safetensors file, so that another program can run them. */
#ifndef TEXT_TO_VIDEO_WEIGHTS_FILE_H
#define TEXT_TO_VIDEO_WEIGHTS_FILE_H

#include "nn.h"

/* A number of the metadata. */
struct weights_fact {
    const char *name;
    double value;
};

/* Writes every named tensor (nn_name()) to one file, and with them "input.latents" and
 * "input.prompt", the bytes of the prompt. A finished file replaces an older one. Failures stick in
 * nn. */
void weights_file_write(struct nn *nn, const char *path, const struct tensor *latents,
                        const char *prompt, const struct weights_fact *facts, int fact_count);

#endif
