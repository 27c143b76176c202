/* Owns the text encoder: byte and position embedding, then pre-norm transformer blocks. It has no
 * causal mask, as in T5: every byte sees the whole prompt. */
#include "text_encoder.h"

#include "weights.h"

#include <stdio.h>
#include <string.h>

enum { START_TOKEN = 256, VOCABULARY = 257 };

void text_encoder_init(struct nn *nn, struct text_encoder *e)
{
    char name[48];

    /* Embeddings are looked up, not summed over: fan-in 1 gives them variance 1. */
    e->embedding =
        weights_uniform(nn, "text.embedding", 2, (const int64_t[]){VOCABULARY, TEXT_WIDTH}, 1);
    nn_name(nn, "text", "embedding", &e->embedding);
    for (int i = 0; i < TEXT_BLOCKS; i++) {
        snprintf(name, sizeof(name), "text.%d.attention", i);
        attention_init_self(nn, &e->blocks[i].attention, name, TEXT_WIDTH, TEXT_HEADS);
        snprintf(name, sizeof(name), "text.%d.mlp", i);
        mlp_init(nn, &e->blocks[i].mlp, name, TEXT_WIDTH);
    }
}

/* Token and position, added. */
static void embed(struct nn *nn, const struct text_encoder *e, const char *prompt,
                  const struct tensor *x)
{
    float position[TEXT_WIDTH];

    for (int64_t row = 0; row < x->dims[0] && !nn_failed(nn); row++) {
        int64_t token = row == 0 ? START_TOKEN : (unsigned char)prompt[row - 1];
        const float *from = e->embedding.data + token * TEXT_WIDTH;
        sinusoid(position, TEXT_WIDTH, (float)row, 1e4f);
        for (int i = 0; i < TEXT_WIDTH; i++)
            x->data[row * TEXT_WIDTH + i] = from[i] + position[i];
    }
}

struct tensor text_encode(struct nn *nn, const struct text_encoder *e, const char *prompt)
{
    struct tensor x = nn_matrix(nn, 1 + (int64_t)strlen(prompt), TEXT_WIDTH);
    struct nn_mark mark = nn_mark(nn);
    struct tensor normed = nn_matrix(nn, x.dims[0], TEXT_WIDTH);

    embed(nn, e, prompt, &x);
    for (int i = 0; i < TEXT_BLOCKS; i++) {
        op_layer_norm(nn, &x, NULL, NULL, &normed);
        attention_run_self(nn, &e->blocks[i].attention, &normed, NULL, &x);
        op_layer_norm(nn, &x, NULL, NULL, &normed);
        mlp_run(nn, &e->blocks[i].mlp, &normed, NULL, &x);
    }
    op_layer_norm(nn, &x, NULL, NULL, &x);
    nn_release(nn, mark);
    return x;
}
