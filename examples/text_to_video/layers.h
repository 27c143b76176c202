/* The layers that the text encoder and the diffusion transformer share. Attentions and MLPs are run
 * inside a module of their own (module.h).
 *
 * A layer's tensors belong to the arena of the nn that made it. `name` is the layer's place in the
 * model ("dit.3.mlp") and decides its random weights. */
#ifndef TEXT_TO_VIDEO_LAYERS_H
#define TEXT_TO_VIDEO_LAYERS_H

#include "nn.h"
#include "ops.h"

struct linear {
    struct tensor weight; /* [in][out] */
    struct tensor bias;   /* [out] */
    char leaf[16];        /* the last part of its name */
};

struct attention {
    int64_t heads, head_width;
    struct linear query;     /* for self-attention queries, keys and values in one product */
    struct linear key_value; /* of the context; for cross-attention only */
    struct linear out;
};

struct mlp {
    struct linear up, down;
};

void linear_init(struct nn *nn, struct linear *l, const char *name, int64_t in, int64_t out);

/* out = epilogue(x weight + bias). `then` may be NULL; its bias is replaced by the layer's. Records
 * `out` as the output of its leaf. */
void linear_run(struct nn *nn, const struct linear *l, const struct tensor *x,
                const struct epilogue *then, const struct tensor *out);

/* out += x weight + bias, recorded as the output of its leaf. */
void linear_add(struct nn *nn, const struct linear *l, const struct tensor *x,
                const struct tensor *out);

/* Queries, keys and values all come from rows of `width` columns. */
void attention_init_self(struct nn *nn, struct attention *a, const char *name, int64_t width,
                         int64_t heads);

/* Keys and values come from rows of `context_width` columns. */
void attention_init_cross(struct nn *nn, struct attention *a, const char *name, int64_t width,
                          int64_t context_width, int64_t heads);

/* residual += gate * attention(x); gate is a vector over the columns, or NULL for one. */
void attention_run_self(struct nn *nn, const struct attention *a, const struct tensor *x,
                        const struct tensor *gate, const struct tensor *residual);
void attention_run_cross(struct nn *nn, const struct attention *a, const struct tensor *x,
                         const struct tensor *context, const struct tensor *gate,
                         const struct tensor *residual);

/* Up to four times the width, GELU, and down again. */
void mlp_init(struct nn *nn, struct mlp *m, const char *name, int64_t width);

/* residual += gate * mlp(x) */
void mlp_run(struct nn *nn, const struct mlp *m, const struct tensor *x, const struct tensor *gate,
             const struct tensor *residual);

/* Writes the n/2 sines and n/2 cosines of a position, wavelengths from 2 pi to `longest` * 2 pi. */
void sinusoid(float *out, int64_t n, float position, float longest);

#endif
