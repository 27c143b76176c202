/* Owns the VAE decoder. Volumes are [frames][rows][columns][channels]: with the channels last, the
 * norm over channels is a layer norm over rows of a matrix, and the result is RGB as video encoders
 * want it. */
#include "vae.h"

#include "latents.h"
#include "module.h"
#include "ops.h"
#include "weights.h"

#include <stdio.h>

enum { TAPS = 27, TOP_CHANNELS = 64, LAST_CHANNELS = 16, RGB = 3 };

/* The effect of each stage on channels and resolution. */
static const struct {
    int in, out, time_factor, space_factor;
} shapes[VAE_STAGES] = {
    {TOP_CHANNELS, 48, 2, 2},
    {48, 32, 2, 2},
    {32, LAST_CHANNELS, 1, 2},
};

/* `leaf` is a part of `name`: how it is called inside its module. */
static void conv_init(struct nn *nn, struct conv3d *c, const char *name, const char *leaf,
                      int64_t in, int64_t out)
{
    snprintf(c->leaf, sizeof(c->leaf), "%s", leaf);
    c->weight = weights_uniform(nn, name, 5, (const int64_t[]){out, in, 3, 3, 3}, in * TAPS);
    c->bias = weights_constant(nn, out, 0.0f);
    nn_name(nn, name, "weight", &c->weight);
    nn_name(nn, name, "bias", &c->bias);
}

void vae_init(struct nn *nn, struct vae *vae)
{
    char name[48];

    conv_init(nn, &vae->in, "vae.in", "vae.in", LATENT_CHANNELS, TOP_CHANNELS);
    for (int i = 0; i < VAE_STAGES; i++) {
        struct vae_stage *s = &vae->stages[i];
        const char *leaf = name + snprintf(s->name, sizeof(s->name), "vae.%d", i) + 1;
        for (int j = 0; j < 2; j++) {
            snprintf(name, sizeof(name), "%s.residual.%d", s->name, j);
            conv_init(nn, &s->residual[j], name, leaf, shapes[i].in, shapes[i].in);
        }
        snprintf(name, sizeof(name), "%s.up", s->name);
        conv_init(nn, &s->up, name, leaf, shapes[i].in, shapes[i].out);
    }
    conv_init(nn, &vae->out, "vae.out", "vae.out", LAST_CHANNELS, RGB);
}

static struct tensor volume(struct nn *nn, int64_t frames, int64_t rows, int64_t columns,
                            int64_t channels)
{
    return nn_tensor(nn, 4, (const int64_t[]){frames, rows, columns, channels});
}

static void conv(struct nn *nn, const struct conv3d *c, const struct tensor *x,
                 enum activation activation, bool accumulate, const struct tensor *out)
{
    const struct epilogue then = {
        .bias = &c->bias,
        .activation = activation,
        .accumulate = accumulate,
    };

    op_conv3d(nn, x, &c->weight, &then, out);
    module_leaf(nn, c->leaf, out);
}

/* Over the channels of each position, then a swish. */
static void norm_swish(struct nn *nn, const struct tensor *x, const struct tensor *out)
{
    int64_t channels = x->dims[3];
    const struct tensor rows_in = {
        .ndims = 2,
        .dims = {tensor_count(x) / channels, channels},
        .strides = {channels, 1},
        .data = x->data,
        .type = x->type,
    };
    struct tensor rows_out = rows_in;

    rows_out.data = out->data;
    op_layer_norm(nn, &rows_in, NULL, NULL, &rows_out);
    op_activation(nn, ACTIVATION_SWISH, &rows_out);
}

/* x += conv(norm(conv(norm(x)))) */
static void residual(struct nn *nn, const struct vae_stage *s, const struct tensor *x)
{
    struct nn_mark mark = nn_mark(nn);
    struct tensor a = volume(nn, x->dims[0], x->dims[1], x->dims[2], x->dims[3]);
    struct tensor b = volume(nn, x->dims[0], x->dims[1], x->dims[2], x->dims[3]);

    norm_swish(nn, x, &a);
    conv(nn, &s->residual[0], &a, ACTIVATION_NONE, false, &b);
    norm_swish(nn, &b, &b);
    conv(nn, &s->residual[1], &b, ACTIVATION_NONE, true, x);
    nn_release(nn, mark);
}

static struct tensor stage_forward(struct nn *nn, const struct vae *vae, int index,
                                   const struct tensor *x)
{
    const struct vae_stage *s = &vae->stages[index];
    int64_t frames = x->dims[0] * shapes[index].time_factor;
    int64_t rows = x->dims[1] * shapes[index].space_factor;
    int64_t columns = x->dims[2] * shapes[index].space_factor;
    struct tensor out = volume(nn, frames, rows, columns, shapes[index].out);
    struct nn_mark mark = nn_mark(nn);
    struct tensor large = volume(nn, frames, rows, columns, x->dims[3]);
    plumb_span span = module_enter(nn, s->name);

    module_in(nn, "in", x);
    residual(nn, s, x);
    op_resize(nn, x, &large);
    conv(nn, &s->up, &large, ACTIVATION_NONE, false, &out);
    module_out(nn, &out);
    module_leave(nn, span);
    nn_release(nn, mark);
    return out;
}

struct tensor vae_decode(struct nn *nn, const struct vae *vae, const struct tensor *latents)
{
    const int64_t *n = latents->dims;
    struct tensor rgb =
        volume(nn, n[0] * VAE_TIME_FACTOR, n[1] * VAE_SPACE_FACTOR, n[2] * VAE_SPACE_FACTOR, RGB);
    struct nn_mark mark = nn_mark(nn);
    struct tensor x = volume(nn, n[0], n[1], n[2], TOP_CHANNELS);

    conv(nn, &vae->in, latents, ACTIVATION_NONE, false, &x);
    for (int i = 0; i < VAE_STAGES; i++)
        x = stage_forward(nn, vae, i, &x);
    norm_swish(nn, &x, &x);
    conv(nn, &vae->out, &x, ACTIVATION_TANH, false, &rgb);
    nn_check_finite(nn, &rgb, "frames");
    nn_release(nn, mark);
    return rgb;
}
