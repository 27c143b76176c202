/* Weights and noise from a seed.
 *
 * A real model reads trained weights from a file. This example draws them, with the spread that
 * keeps activations near unit size from layer to layer: the computation has the same shape, cost
 * and numeric behaviour, and nothing must be downloaded. */
#ifndef TEXT_TO_VIDEO_WEIGHTS_H
#define TEXT_TO_VIDEO_WEIGHTS_H

#include "nn.h"

/* A vector of n equal values, float32: biases, norm scales. */
struct tensor weights_constant(struct nn *nn, int64_t n, float value);

/* Uniform in +-sqrt(3 / fan_in), which has variance 1 / fan_in, rounded to bfloat16. `name` picks
 * the stream of random numbers, so a weight does not depend on what else was made before it. */
struct tensor weights_uniform(struct nn *nn, const char *name, int ndims, const int64_t *dims,
                              int64_t fan_in);

/* Fills the row-major `t` with normal noise of variance 1, the same for equal seeds. */
void weights_noise(struct nn *nn, uint64_t seed, const struct tensor *t);

#endif
