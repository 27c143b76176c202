/* Owns the arithmetic of linear layers, attention and MLPs. Keeps no state of its own; intermediate
 * results live between a mark and its release. */
#include "layers.h"

#include "fault.h"
#include "module.h"
#include "weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void linear_init(struct nn *nn, struct linear *l, const char *name, int64_t in, int64_t out)
{
    const char *dot = strrchr(name, '.');

    snprintf(l->leaf, sizeof(l->leaf), "%s", dot ? dot + 1 : name);
    l->weight = weights_uniform(nn, name, 2, (const int64_t[]){in, out}, in);
    l->bias = weights_constant(nn, out, 0.0f);
    nn_name(nn, name, "weight", &l->weight);
    nn_name(nn, name, "bias", &l->bias);
}

static void run(struct nn *nn, const struct linear *l, const struct tensor *x,
                const struct epilogue *then, const struct tensor *out)
{
    struct epilogue full = {0};
    struct tensor weight = l->weight;

    if (then)
        full = *then;
    full.bias = &l->bias;
    if (weight.dims[0] == weight.dims[1] && fault_strikes(nn, FAULT_TRANSPOSED, l->leaf))
        weight = tensor_transposed(&weight);
    op_matmul(nn, x, &weight, &full, out);
}

void linear_run(struct nn *nn, const struct linear *l, const struct tensor *x,
                const struct epilogue *then, const struct tensor *out)
{
    run(nn, l, x, then, out);
    module_leaf(nn, l->leaf, out);
}

void linear_add(struct nn *nn, const struct linear *l, const struct tensor *x,
                const struct tensor *out)
{
    run(nn, l, x, &(struct epilogue){.accumulate = true}, out);
    module_leaf(nn, l->leaf, out);
}

/* residual += gate * (x weight + bias) */
static void add_residual(struct nn *nn, const struct linear *l, const struct tensor *x,
                         const struct tensor *gate, const struct tensor *residual)
{
    bool forgotten = fault_strikes(nn, FAULT_NO_RESIDUAL, NULL);

    run(nn, l, x, &(struct epilogue){.gate = gate, .accumulate = !forgotten}, residual);
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

/* The first two heads of a matrix of heads side by side change places. */
static void swap_heads(const struct tensor *mixed, int64_t head_width)
{
    int64_t columns = mixed->dims[1];

    for (int64_t i = 0; i < mixed->dims[0] * head_width; i++) {
        int64_t at = i / head_width * columns + i % head_width;
        float first = tensor_get(mixed, at);
        tensor_put(mixed, at, tensor_get(mixed, at + head_width));
        tensor_put(mixed, at + head_width, first);
    }
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
    float scale = 1.0f / sqrtf((float)a->head_width);

    if (fault_strikes(nn, FAULT_SOFTMAX, NULL))
        scale *= (float)(1 + nn->fault->size);
    op_matmul(nn, q, &keys, &(struct epilogue){.scale = scale}, &scores);
    op_softmax(nn, &scores);
    op_matmul(nn, &scores, v, NULL, &mixed_heads);
    if (fault_strikes(nn, FAULT_SWAPPED_HEADS, NULL) && !nn_failed(nn))
        swap_heads(&mixed, a->head_width);
    module_leaf(nn, "heads", &mixed);
    add_residual(nn, &a->out, &mixed, gate, residual);
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
    add_residual(nn, &m->down, &hidden, gate, residual);
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
