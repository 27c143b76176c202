/* The operations the models are made of, each one oneDNN primitive. Where the tensors are of
 * another type than float32 and nn->rounds, it is that of float32, and the result is rounded.
 *
 * None returns a status: errors stick in `nn` (see nn.h). None allocates more than it gives back.
 * Matrix products and convolutions add their FLOPs, from the shapes, to nn->flops: two for each
 * multiply-add. Norms, activations, softmax and copies are not counted, as is usual. */
#ifndef TEXT_TO_VIDEO_OPS_H
#define TEXT_TO_VIDEO_OPS_H

#include "nn.h"

enum activation { ACTIVATION_NONE, ACTIVATION_GELU, ACTIVATION_SWISH, ACTIVATION_TANH };

/* Operations on a result before it is stored, in this order. Zeroed: none. */
struct epilogue {
    const struct tensor *bias;  /* [columns] is added */
    float scale;                /* multiplies product and bias; 0 stands for 1 */
    enum activation activation; /* then this is applied */
    const struct tensor *gate;  /* [columns] multiplies */
    bool accumulate;            /* what `out` holds is added: a residual connection */
};

/* out = epilogue(a b). Two matrices, or two equally long batches of them (3 axes); any strides.
 * `then` may be NULL. */
void op_matmul(struct nn *nn, const struct tensor *a, const struct tensor *b,
               const struct epilogue *then, const struct tensor *out);

/* Each row of the matrix x to mean 0 and variance 1, then times `scale` plus `shift`, float32
 * vectors over the columns; both may be NULL together. `out` may be x. */
void op_layer_norm(struct nn *nn, const struct tensor *x, const struct tensor *scale,
                   const struct tensor *shift, const struct tensor *out);

/* In place, over the last axis. */
void op_softmax(struct nn *nn, const struct tensor *x);

/* In place. */
void op_activation(struct nn *nn, enum activation activation, const struct tensor *x);

/* Copies between equal shapes of any strides and types. */
void op_copy(struct nn *nn, const struct tensor *from, const struct tensor *to);

/* 3x3x3 convolution with zero padding. x and out are [frames][height][width][channels], weight is
 * [out channels][in channels][3][3][3]. Only bias, activation and accumulate of `then` apply. */
void op_conv3d(struct nn *nn, const struct tensor *x, const struct tensor *weight,
               const struct epilogue *then, const struct tensor *out);

/* Trilinear interpolation between two [frames][height][width][channels] of equal channels. */
void op_resize(struct nn *nn, const struct tensor *x, const struct tensor *out);

#endif
