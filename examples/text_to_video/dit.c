/* Owns the diffusion transformer: patch, time and text embedding, the blocks, and the way back to
 * latents. The time steers each block through adaLN (Peebles and Xie, Scalable Diffusion Models
 * with Transformers, 2023): the norms' shift and scale and the residuals' gates are functions of
 * the time. The text enters through cross-attention only. */
#include "dit.h"

#include "text_encoder.h"
#include "weights.h"

#include <stdio.h>
#include <string.h>

enum { SHIFT, SCALE, GATE, MODULATION_PARTS };

/* A third of the columns each for frame, row and column of the token; the wavelengths fit a short
 * video, so that neighbours look alike. */
static void init_positions(struct nn *nn, struct tensor *positions, const struct latent_grid *grid)
{
    const int64_t part = DIT_WIDTH / 3 & ~1;
    const float longest = 64.0f;

    *positions = nn_matrix(nn, latent_tokens(grid), DIT_WIDTH);
    for (int64_t i = 0; i < positions->dims[0] && !nn_failed(nn); i++) {
        float *out = positions->data + i * DIT_WIDTH;
        memset(out, 0, DIT_WIDTH * sizeof(*out));
        sinusoid(out, part, (float)(i / (grid->rows * grid->columns)), longest);
        sinusoid(out + part, part, (float)(i / grid->columns % grid->rows), longest);
        sinusoid(out + 2 * part, part, (float)(i % grid->columns), longest);
    }
}

/* A layer norm's scale is 1 plus what the time says, so the 1 goes into the bias once. */
static void init_modulation(struct nn *nn, struct linear *l, const char *name, int64_t parts)
{
    linear_init(nn, l, name, DIT_WIDTH, parts * DIT_WIDTH);
    for (int64_t i = 0; i < parts * DIT_WIDTH && !nn_failed(nn); i++)
        l->bias.data[i] = i / DIT_WIDTH % MODULATION_PARTS == SCALE ? 1.0f : 0.0f;
}

/* The positions inside a patch start out alike, as they are in trained models; with independent
 * weights the patches would show as a grid. */
static void init_patch_out(struct nn *nn, struct linear *l)
{
    linear_init(nn, l, "dit.patch_out", DIT_WIDTH, LATENT_TOKEN_CHANNELS);
    for (int64_t i = 0; i < tensor_count(&l->weight) && !nn_failed(nn); i++) {
        int64_t column = i % LATENT_TOKEN_CHANNELS;
        l->weight.data[i] = l->weight.data[i - column + column % LATENT_CHANNELS];
    }
}

static void block_init(struct nn *nn, struct dit_block *b, int index)
{
    char name[48];

    snprintf(name, sizeof(name), "block.%d", index);
    b->node = plumb_node_get(name);
    snprintf(name, sizeof(name), "dit.%d.modulation", index);
    init_modulation(nn, &b->modulation, name, 2 * MODULATION_PARTS);
    snprintf(name, sizeof(name), "dit.%d.self", index);
    attention_init_self(nn, &b->self, name, DIT_WIDTH, DIT_HEADS);
    snprintf(name, sizeof(name), "dit.%d.cross", index);
    attention_init_cross(nn, &b->cross, name, DIT_WIDTH, DIT_WIDTH, DIT_HEADS);
    snprintf(name, sizeof(name), "dit.%d.mlp", index);
    mlp_init(nn, &b->mlp, name, DIT_WIDTH);
}

void dit_init(struct nn *nn, struct dit *dit, const struct latent_grid *grid)
{
    linear_init(nn, &dit->patch_in, "dit.patch_in", LATENT_TOKEN_CHANNELS, DIT_WIDTH);
    linear_init(nn, &dit->text_in, "dit.text_in", TEXT_WIDTH, DIT_WIDTH);
    linear_init(nn, &dit->time_in, "dit.time_in", DIT_TIME_WIDTH, DIT_WIDTH);
    linear_init(nn, &dit->time_hidden, "dit.time_hidden", DIT_WIDTH, DIT_WIDTH);
    for (int i = 0; i < DIT_BLOCKS; i++)
        block_init(nn, &dit->blocks[i], i);
    init_modulation(nn, &dit->modulation_out, "dit.modulation_out", 2);
    init_patch_out(nn, &dit->patch_out);
    init_positions(nn, &dit->positions, grid);
    nn_name(nn, "dit", "positions", &dit->positions);
}

/* Part `which` of the modulation row: SHIFT, SCALE or GATE, plus MODULATION_PARTS for the second
 * set. */
static struct tensor modulation_part(const struct tensor *row, int which)
{
    return tensor_part(row, (int64_t)which * DIT_WIDTH, DIT_WIDTH);
}

/* What the activation trace records, where somebody asks for one. `name` NULL: of `node`. */
static void tell(plumb_node node, const char *name, const char *label, const struct tensor *x)
{
    struct tensor copy = *x;
    DLTensor tensor = tensor_dlpack(&copy);

    plumb_activation(name ? plumb_node_get(name) : node, label, &tensor);
}

static void block_self_attention(struct nn *nn, const struct dit_block *b, const struct tensor *mod,
                                 const struct tensor *normed, const struct tensor *x)
{
    struct tensor shift = modulation_part(mod, SHIFT);
    struct tensor scale = modulation_part(mod, SCALE);
    struct tensor gate = modulation_part(mod, GATE);

    PLUMB_SPAN("self_attention");
    op_layer_norm(nn, x, &scale, &shift, normed);
    attention_run_self(nn, &b->self, normed, &gate, x);
    tell(0, "self_attention", "out", x);
}

static void block_cross_attention(struct nn *nn, const struct dit_block *b,
                                  const struct tensor *context, const struct tensor *normed,
                                  const struct tensor *x)
{
    PLUMB_SPAN("cross_attention");
    op_layer_norm(nn, x, NULL, NULL, normed);
    attention_run_cross(nn, &b->cross, normed, context, NULL, x);
    tell(0, "cross_attention", "out", x);
}

static void block_mlp(struct nn *nn, const struct dit_block *b, const struct tensor *mod,
                      const struct tensor *normed, const struct tensor *x)
{
    struct tensor shift = modulation_part(mod, MODULATION_PARTS + SHIFT);
    struct tensor scale = modulation_part(mod, MODULATION_PARTS + SCALE);
    struct tensor gate = modulation_part(mod, MODULATION_PARTS + GATE);

    PLUMB_SPAN("mlp");
    op_layer_norm(nn, x, &scale, &shift, normed);
    mlp_run(nn, &b->mlp, normed, &gate, x);
    tell(0, "mlp", "out", x);
}

static void block_forward(struct nn *nn, const struct dit_block *b, const struct tensor *time,
                          const struct tensor *context, const struct tensor *x)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor mod = nn_matrix(nn, 1, b->modulation.bias.dims[0]);
    struct tensor normed = nn_matrix(nn, x->dims[0], x->dims[1]);

    PLUMB_SPAN_NODE(b->node);
    tell(b->node, NULL, "in", x);
    linear_run(nn, &b->modulation, time, NULL, &mod);
    block_self_attention(nn, b, &mod, &normed, x);
    block_cross_attention(nn, b, context, &normed, x);
    block_mlp(nn, b, &mod, &normed, x);
    tell(b->node, NULL, "out", x);
    nn_release(nn, mark);
}

/* [1][DIT_WIDTH]. Every use of it starts with a swish, so that is applied here. */
static struct tensor embed_time(struct nn *nn, const struct dit *dit, float t)
{
    const struct epilogue swish = {.activation = ACTIVATION_SWISH};
    struct tensor time = nn_matrix(nn, 1, DIT_WIDTH);
    struct tensor waves = nn_matrix(nn, 1, DIT_TIME_WIDTH);
    struct tensor hidden = nn_matrix(nn, 1, DIT_WIDTH);

    if (!nn_failed(nn))
        sinusoid(waves.data, DIT_TIME_WIDTH, 1000.0f * t, 1e4f);
    linear_run(nn, &dit->time_in, &waves, &swish, &hidden);
    linear_run(nn, &dit->time_hidden, &hidden, &swish, &time);
    return time;
}

static void project_out(struct nn *nn, const struct dit *dit, const struct tensor *time,
                        const struct tensor *x, const struct tensor *predicted)
{
    struct tensor mod = nn_matrix(nn, 1, dit->modulation_out.bias.dims[0]);
    struct tensor shift = modulation_part(&mod, SHIFT);
    struct tensor scale = modulation_part(&mod, SCALE);

    linear_run(nn, &dit->modulation_out, time, NULL, &mod);
    op_layer_norm(nn, x, &scale, &shift, x);
    linear_run(nn, &dit->patch_out, x, NULL, predicted);
}

void dit_forward(struct nn *nn, const struct dit *dit, const struct tensor *latents, float t,
                 const struct tensor *text, const struct tensor *predicted)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor time = embed_time(nn, dit, t);
    struct tensor context = nn_matrix(nn, text->dims[0], DIT_WIDTH);
    struct tensor x = nn_matrix(nn, latents->dims[0], DIT_WIDTH);

    linear_run(nn, &dit->text_in, text, NULL, &context);
    op_copy(nn, &dit->positions, &x);
    linear_run(nn, &dit->patch_in, latents, &(struct epilogue){.accumulate = true}, &x);
    for (int i = 0; i < DIT_BLOCKS; i++)
        block_forward(nn, &dit->blocks[i], &time, &context, &x);
    project_out(nn, dit, &time, &x, predicted);
    tell(0, "project_out", "out", predicted);
    nn_release(nn, mark);
}
