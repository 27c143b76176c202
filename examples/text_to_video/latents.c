/* Owns the order of tokens. */
#include "latents.h"

#include "ops.h"

int64_t latent_tokens(const struct latent_grid *grid)
{
    return grid->frames * grid->rows * grid->columns;
}

/* Unpacking is one copy between two views of four axes: token row, token column, row within the
 * patch, and the values of one patch row, which stay side by side. */
struct tensor latents_unpack(struct nn *nn, const struct latent_grid *grid,
                             const struct tensor *tokens)
{
    enum { PATCH_ROW = LATENT_PATCH * LATENT_CHANNELS };
    struct tensor out = nn_tensor(nn, 4,
                                  (const int64_t[]){grid->frames, LATENT_PATCH * grid->rows,
                                                    LATENT_PATCH * grid->columns, LATENT_CHANNELS});
    int64_t line = PATCH_ROW * grid->columns;
    struct tensor from = {
        .ndims = 4,
        .dims = {grid->frames * grid->rows, grid->columns, LATENT_PATCH, PATCH_ROW},
        .strides = {grid->columns * LATENT_TOKEN_CHANNELS, LATENT_TOKEN_CHANNELS, PATCH_ROW, 1},
        .data = tokens->data,
        .type = tokens->type,
    };
    struct tensor to = from;

    to.strides[0] = LATENT_PATCH * line;
    to.strides[1] = PATCH_ROW;
    to.strides[2] = line;
    to.data = out.data;
    op_copy(nn, &from, &to);
    return out;
}
