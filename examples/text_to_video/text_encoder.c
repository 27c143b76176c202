/* Owns the text encoder: byte and position embedding, then pre-norm transformer blocks. It has no
 * causal mask, as in T5: every byte sees the whole prompt. */
#include "text_encoder.h"

#include "module.h"
#include "weights.h"

#include <stdio.h>
#include <string.h>

enum { START_TOKEN = 256, VOCABULARY = 257 };

void text_encoder_init(struct nn *nn, struct text_encoder *e, int64_t width)
{
    char name[48];

    e->width = width;
    /* Embeddings are looked up, not summed over: fan-in 1 gives them variance 1. */
    e->embedding =
        weights_uniform(nn, "text.embedding", 2, (const int64_t[]){VOCABULARY, width}, 1);
    nn_name(nn, "text", "embedding", &e->embedding);
    for (int i = 0; i < TEXT_BLOCKS; i++) {
        struct text_block *b = &e->blocks[i];
        snprintf(b->name, sizeof(b->name), "text.%d", i);
        snprintf(name, sizeof(name), "%s.attention", b->name);
        attention_init_self(nn, &b->attention, name, width, TEXT_HEADS);
        snprintf(name, sizeof(name), "%s.mlp", b->name);
        mlp_init(nn, &b->mlp, name, width);
    }
}

/* Token and position, added. */
static void embed(struct nn *nn, const struct text_encoder *e, const char *prompt,
                  const struct tensor *x)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor position = nn_tensor_of(nn, ELEMENT_F32, 1, &e->width);
    int32_t tokens[1 + TEXT_MAX_BYTES];

    tokens[0] = START_TOKEN;
    for (int64_t row = 1; row < x->dims[0]; row++)
        tokens[row] = (unsigned char)prompt[row - 1];
    module_numbers(nn, "embedding", tokens, x->dims[0]);
    for (int64_t row = 0; row < x->dims[0] && !nn_failed(nn); row++) {
        sinusoid(position.data, e->width, (float)row, 1e4f);
        for (int64_t i = 0; i < e->width; i++)
            tensor_put(x, row * e->width + i,
                       tensor_get(&e->embedding, tokens[row] * e->width + i) +
                           tensor_get(&position, i));
    }
    module_leaf(nn, "embedding", x);
    nn_release(nn, mark);
}

/* Both halves of a block begin with the norm of what comes in. */
static plumb_span enter_normed(struct nn *nn, const char *name, const struct tensor *normed,
                               const struct tensor *x)
{
    plumb_span span = module_enter(nn, name);

    module_in(nn, "in", x);
    op_layer_norm(nn, x, NULL, NULL, normed);
    module_leaf(nn, "norm", normed);
    return span;
}

static void run_attention(struct nn *nn, const struct text_block *b, const struct tensor *normed,
                          const struct tensor *x)
{
    plumb_span span = enter_normed(nn, "attention", normed, x);

    attention_run_self(nn, &b->attention, normed, NULL, x);
    module_out(nn, x);
    module_leave(nn, span);
}

static void run_mlp(struct nn *nn, const struct text_block *b, const struct tensor *normed,
                    const struct tensor *x)
{
    plumb_span span = enter_normed(nn, "mlp", normed, x);

    mlp_run(nn, &b->mlp, normed, NULL, x);
    module_out(nn, x);
    module_leave(nn, span);
}

struct tensor text_encode(struct nn *nn, const struct text_encoder *e, const char *prompt)
{
    struct tensor x = nn_matrix(nn, 1 + (int64_t)strlen(prompt), e->width);
    struct nn_mark mark = nn_mark(nn);
    struct tensor normed = nn_matrix(nn, x.dims[0], e->width);

    embed(nn, e, prompt, &x);
    for (int i = 0; i < TEXT_BLOCKS; i++) {
        plumb_span span = module_enter(nn, e->blocks[i].name);
        module_in(nn, "in", &x);
        run_attention(nn, &e->blocks[i], &normed, &x);
        run_mlp(nn, &e->blocks[i], &normed, &x);
        module_out(nn, &x);
        module_leave(nn, span);
    }
    op_layer_norm(nn, &x, NULL, NULL, &x);
    module_leaf(nn, "text_norm", &x);
    nn_release(nn, mark);
    return x;
}
