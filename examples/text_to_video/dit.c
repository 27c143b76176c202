/* Owns the diffusion transformer: patch, time and text embedding, the blocks, and the way back to
 * latents. The time steers each block through adaLN (Peebles and Xie, Scalable Diffusion Models
 * with Transformers, 2023): the norms' shift and scale and the residuals' gates are functions of
 * the time. The text enters through cross-attention only. */
#include "dit.h"

#include "module.h"
#include "weights.h"

#include <stdio.h>
#include <string.h>

enum { SHIFT, SCALE, GATE, MODULATION_PARTS };

/* A third of the columns each for frame, row and column of the token; the wavelengths fit a short
 * video, so that neighbours look alike. */
static void init_positions(struct nn *nn, struct tensor *positions, int64_t width,
                           const struct latent_grid *grid)
{
    const int64_t part = width / 3 & ~1;
    const float longest = 64.0f;

    *positions = nn_tensor_of(nn, ELEMENT_F32, 2, (const int64_t[]){latent_tokens(grid), width});
    for (int64_t i = 0; i < positions->dims[0] && !nn_failed(nn); i++) {
        float *out = (float *)positions->data + i * width;
        memset(out, 0, (size_t)width * sizeof(*out));
        sinusoid(out, part, (float)(i / (grid->rows * grid->columns)), longest);
        sinusoid(out + part, part, (float)(i / grid->columns % grid->rows), longest);
        sinusoid(out + 2 * part, part, (float)(i % grid->columns), longest);
    }
}

/* The scale of a layer norm is 1 plus the modulation, so the 1 goes into the bias once. */
static void init_modulation(struct nn *nn, struct linear *l, const char *name, int64_t width,
                            int64_t parts)
{
    linear_init(nn, l, name, width, parts * width);
    for (int64_t i = 0; i < parts * width && !nn_failed(nn); i++)
        tensor_put(&l->bias, i, i / width % MODULATION_PARTS == SCALE ? 1.0f : 0.0f);
}

/* The positions inside a patch start out alike, as they are in trained models; with independent
 * weights the patches would show as a grid. */
static void init_patch_out(struct nn *nn, struct linear *l, int64_t width)
{
    linear_init(nn, l, "dit.patch_out", width, LATENT_TOKEN_CHANNELS);
    for (int64_t i = 0; i < tensor_count(&l->weight) && !nn_failed(nn); i++) {
        int64_t column = i % LATENT_TOKEN_CHANNELS;
        tensor_put(&l->weight, i, tensor_get(&l->weight, i - column + column % LATENT_CHANNELS));
    }
}

static void block_init(struct nn *nn, struct dit_block *b, int64_t width, int index)
{
    char name[48];

    snprintf(b->name, sizeof(b->name), "block.%d", index);
    snprintf(name, sizeof(name), "dit.%d.modulation", index);
    init_modulation(nn, &b->modulation, name, width, 2 * MODULATION_PARTS);
    snprintf(name, sizeof(name), "dit.%d.self", index);
    attention_init_self(nn, &b->self, name, width, DIT_HEADS);
    snprintf(name, sizeof(name), "dit.%d.cross", index);
    attention_init_cross(nn, &b->cross, name, width, width, DIT_HEADS);
    snprintf(name, sizeof(name), "dit.%d.mlp", index);
    mlp_init(nn, &b->mlp, name, width);
}

void dit_init(struct nn *nn, struct dit *dit, int64_t width, int64_t text_width,
              const struct latent_grid *grid)
{
    dit->width = width;
    linear_init(nn, &dit->patch_in, "dit.patch_in", LATENT_TOKEN_CHANNELS, width);
    linear_init(nn, &dit->text_in, "dit.text_in", text_width, width);
    linear_init(nn, &dit->time_in, "dit.time_in", DIT_TIME_WIDTH, width);
    linear_init(nn, &dit->time_hidden, "dit.time_hidden", width, width);
    for (int i = 0; i < DIT_BLOCKS; i++)
        block_init(nn, &dit->blocks[i], width, i);
    init_modulation(nn, &dit->modulation_out, "dit.modulation_out", width, 2);
    init_patch_out(nn, &dit->patch_out, width);
    init_positions(nn, &dit->positions, width, grid);
    nn_name(nn, "dit", "positions", &dit->positions);
}

/* Returns one row with the modulation of norms and gates for a time. oneDNN wants those vectors in
 * float32. */
static struct tensor modulate(struct nn *nn, const struct linear *l, const struct tensor *time)
{
    struct tensor row = nn_matrix(nn, 1, l->bias.dims[0]);
    struct tensor wide;

    linear_run(nn, l, time, NULL, &row);
    if (row.type == ELEMENT_F32)
        return row;
    wide = nn_tensor_of(nn, ELEMENT_F32, 2, row.dims);
    op_copy(nn, &row, &wide);
    return wide;
}

/* Part `which` of the modulation row: SHIFT, SCALE or GATE, plus MODULATION_PARTS for the second
 * set. `x` has as many columns as the part has elements. */
static struct tensor modulation_part(const struct tensor *row, const struct tensor *x, int which)
{
    return tensor_part(row, which * x->dims[1], x->dims[1]);
}

static void block_self_attention(struct nn *nn, const struct dit_block *b, const struct tensor *mod,
                                 const struct tensor *normed, const struct tensor *x)
{
    struct tensor shift = modulation_part(mod, x, SHIFT);
    struct tensor scale = modulation_part(mod, x, SCALE);
    struct tensor gate = modulation_part(mod, x, GATE);
    plumb_span span = module_enter(nn, "self_attention");

    module_in(nn, "in", x);
    op_layer_norm(nn, x, &scale, &shift, normed);
    module_leaf(nn, "norm", normed);
    attention_run_self(nn, &b->self, normed, &gate, x);
    module_out(nn, x);
    module_leave(nn, span);
}

static void block_cross_attention(struct nn *nn, const struct dit_block *b,
                                  const struct tensor *context, const struct tensor *normed,
                                  const struct tensor *x)
{
    plumb_span span = module_enter(nn, "cross_attention");

    module_in(nn, "in[0]", x);
    module_in(nn, "in[1]", context);
    op_layer_norm(nn, x, NULL, NULL, normed);
    module_leaf(nn, "norm", normed);
    attention_run_cross(nn, &b->cross, normed, context, NULL, x);
    module_out(nn, x);
    module_leave(nn, span);
}

static void block_mlp(struct nn *nn, const struct dit_block *b, const struct tensor *mod,
                      const struct tensor *normed, const struct tensor *x)
{
    struct tensor shift = modulation_part(mod, x, MODULATION_PARTS + SHIFT);
    struct tensor scale = modulation_part(mod, x, MODULATION_PARTS + SCALE);
    struct tensor gate = modulation_part(mod, x, MODULATION_PARTS + GATE);
    plumb_span span = module_enter(nn, "mlp");

    module_in(nn, "in", x);
    op_layer_norm(nn, x, &scale, &shift, normed);
    module_leaf(nn, "norm", normed);
    mlp_run(nn, &b->mlp, normed, &gate, x);
    module_out(nn, x);
    module_leave(nn, span);
}

static void block_forward(struct nn *nn, const struct dit_block *b, const struct tensor *time,
                          const struct tensor *context, const struct tensor *x)
{
    struct nn_mark mark = nn_mark(nn);
    plumb_span span = module_enter(nn, b->name);
    struct tensor normed = nn_matrix(nn, x->dims[0], x->dims[1]);
    struct tensor mod;

    module_in(nn, "in", x);
    mod = modulate(nn, &b->modulation, time);
    block_self_attention(nn, b, &mod, &normed, x);
    block_cross_attention(nn, b, context, &normed, x);
    block_mlp(nn, b, &mod, &normed, x);
    module_out(nn, x);
    module_leave(nn, span);
    nn_release(nn, mark);
}

/* [1][width]. Every use of it starts with a swish, so that is applied here. */
static struct tensor embed_time(struct nn *nn, const struct dit *dit, float t)
{
    const struct epilogue swish = {.activation = ACTIVATION_SWISH};
    const int64_t dims[] = {1, DIT_TIME_WIDTH};
    struct tensor time = nn_matrix(nn, 1, dit->width);
    struct tensor waves = nn_tensor_of(nn, ELEMENT_F32, 2, dims);
    struct tensor rounded = nn_tensor(nn, 2, dims);
    struct tensor hidden = nn_matrix(nn, 1, dit->width);

    if (!nn_failed(nn))
        sinusoid(waves.data, DIT_TIME_WIDTH, 1000.0f * t, 1e4f);
    op_copy(nn, &waves, &rounded);
    linear_run(nn, &dit->time_in, &rounded, &swish, &hidden);
    linear_run(nn, &dit->time_hidden, &hidden, &swish, &time);
    return time;
}

/* positions + patch_in(latents) */
static struct tensor embed_patches(struct nn *nn, const struct dit *dit,
                                   const struct tensor *latents)
{
    struct tensor x = nn_matrix(nn, latents->dims[0], dit->width);

    op_copy(nn, &dit->positions, &x);
    linear_add(nn, &dit->patch_in, latents, &x);
    return x;
}

static void project_out(struct nn *nn, const struct dit *dit, const struct tensor *time,
                        const struct tensor *x, const struct tensor *predicted)
{
    plumb_span span = module_enter(nn, "project_out");
    struct tensor mod, shift, scale;

    module_in(nn, "in", x);
    mod = modulate(nn, &dit->modulation_out, time);
    shift = modulation_part(&mod, x, SHIFT);
    scale = modulation_part(&mod, x, SCALE);
    op_layer_norm(nn, x, &scale, &shift, x);
    module_leaf(nn, "norm", x);
    linear_run(nn, &dit->patch_out, x, NULL, predicted);
    module_out(nn, predicted);
    module_leave(nn, span);
}

void dit_forward(struct nn *nn, const struct dit *dit, const struct tensor *latents, float t,
                 const struct tensor *text, const struct tensor *predicted)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor time = embed_time(nn, dit, t);
    struct tensor context = nn_matrix(nn, text->dims[0], dit->width);
    struct tensor x;

    linear_run(nn, &dit->text_in, text, NULL, &context);
    x = embed_patches(nn, dit, latents);
    for (int i = 0; i < DIT_BLOCKS; i++)
        block_forward(nn, &dit->blocks[i], &time, &context, &x);
    project_out(nn, dit, &time, &x, predicted);
    nn_release(nn, mark);
}
