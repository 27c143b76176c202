/* Owns the arithmetic of linear layers, attention and MLPs. Keeps no state of its own; intermediate
 * results live between a mark and its release. */
#include "layers.h"

#include "weights.h"

#include <math.h>
#include <stdio.h>

void linear_init(struct nn *nn, struct linear *l, const char *name, int64_t in, int64_t out)
{
    l->weight = weights_uniform(nn, name, 2, (const int64_t[]){in, out}, in);
    l->bias = weights_constant(nn, out, 0.0f);
    nn_name(nn, name, "weight", &l->weight);
    nn_name(nn, name, "bias", &l->bias);
}

void linear_run(struct nn *nn, const struct linear *l, const struct tensor *x,
                const struct epilogue *then, const struct tensor *out)
{
    struct epilogue full = {0};

    if (then)
        full = *then;
    full.bias = &l->bias;
    op_matmul(nn, x, &l->weight, &full, out);
}

static void init_part(struct nn *nn, struct linear *l, const char *name, const char *part,
                      int64_t in, int64_t out)
{
    char full[NN_NAME_BYTES];

    snprintf(full, sizeof(full), "%s.%s", name, part);
    linear_init(nn, l, full, in, out);
}

void attention_init_self(struct nn *nn, struct attention *a, const char *name, int64_t width,
                         int64_t heads)
{
    *a = (struct attention){.heads = heads, .head_width = width / heads};
    init_part(nn, &a->query, name, "qkv", width, 3 * width);
    init_part(nn, &a->out, name, "out", width, width);
}

void attention_init_cross(struct nn *nn, struct attention *a, const char *name, int64_t width,
                          int64_t context_width, int64_t heads)
{
    *a = (struct attention){.heads = heads, .head_width = width / heads};
    init_part(nn, &a->query, name, "q", width, width);
    init_part(nn, &a->key_value, name, "kv", context_width, 2 * width);
    init_part(nn, &a->out, name, "out", width, width);
}

/* residual += gate * out(softmax(q k' / sqrt(width)) v), all heads at once; q, k and v are
 * [heads][rows][width]. */
static void attend(struct nn *nn, const struct attention *a, const struct tensor *q,
                   const struct tensor *k, const struct tensor *v, const struct tensor *gate,
                   const struct tensor *residual)
{
    struct tensor scores = nn_tensor(nn, 3, (const int64_t[]){a->heads, q->dims[1], k->dims[1]});
    struct tensor mixed = nn_matrix(nn, q->dims[1], a->heads * a->head_width);
    struct tensor mixed_heads = tensor_heads(&mixed, 0, a->heads, a->head_width);
    struct tensor keys = tensor_transposed(k);

    op_matmul(nn, q, &keys, &(struct epilogue){.scale = 1.0f / sqrtf((float)a->head_width)},
              &scores);
    op_softmax(nn, &scores);
    op_matmul(nn, &scores, v, NULL, &mixed_heads);
    linear_run(nn, &a->out, &mixed, &(struct epilogue){.gate = gate, .accumulate = true}, residual);
}

void attention_run_self(struct nn *nn, const struct attention *a, const struct tensor *x,
                        const struct tensor *gate, const struct tensor *residual)
{
    struct nn_mark mark = nn_mark(nn);
    int64_t width = a->heads * a->head_width;
    struct tensor qkv = nn_matrix(nn, x->dims[0], 3 * width);
    struct tensor q = tensor_heads(&qkv, 0, a->heads, a->head_width);
    struct tensor k = tensor_heads(&qkv, width, a->heads, a->head_width);
    struct tensor v = tensor_heads(&qkv, 2 * width, a->heads, a->head_width);

    linear_run(nn, &a->query, x, NULL, &qkv);
    attend(nn, a, &q, &k, &v, gate, residual);
    nn_release(nn, mark);
}

void attention_run_cross(struct nn *nn, const struct attention *a, const struct tensor *x,
                         const struct tensor *context, const struct tensor *gate,
                         const struct tensor *residual)
{
    struct nn_mark mark = nn_mark(nn);
    int64_t width = a->heads * a->head_width;
    struct tensor queries = nn_matrix(nn, x->dims[0], width);
    struct tensor kv = nn_matrix(nn, context->dims[0], 2 * width);
    struct tensor q = tensor_heads(&queries, 0, a->heads, a->head_width);
    struct tensor k = tensor_heads(&kv, 0, a->heads, a->head_width);
    struct tensor v = tensor_heads(&kv, width, a->heads, a->head_width);

    linear_run(nn, &a->query, x, NULL, &queries);
    linear_run(nn, &a->key_value, context, NULL, &kv);
    attend(nn, a, &q, &k, &v, gate, residual);
    nn_release(nn, mark);
}

void mlp_init(struct nn *nn, struct mlp *m, const char *name, int64_t width)
{
    init_part(nn, &m->up, name, "up", width, 4 * width);
    init_part(nn, &m->down, name, "down", 4 * width, width);
}

void mlp_run(struct nn *nn, const struct mlp *m, const struct tensor *x, const struct tensor *gate,
             const struct tensor *residual)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor hidden = nn_matrix(nn, x->dims[0], m->up.bias.dims[0]);

    linear_run(nn, &m->up, x, &(struct epilogue){.activation = ACTIVATION_GELU}, &hidden);
    linear_run(nn, &m->down, &hidden, &(struct epilogue){.gate = gate, .accumulate = true},
               residual);
    nn_release(nn, mark);
}

void sinusoid(float *out, int64_t n, float position, float longest)
{
    int64_t half = n / 2;

    for (int64_t i = 0; i < half; i++) {
        float angle = position * powf(longest, -(float)i / (float)half);
        out[i] = sinf(angle);
        out[half + i] = cosf(angle);
    }
}
