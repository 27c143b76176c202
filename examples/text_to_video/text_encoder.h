/* Stage 1: a prompt becomes one vector per byte.
 *
 * Bytes, not words: a vocabulary of 256 entries and a start token needs no tokenizer file and
 * takes any text in any encoding. The empty prompt is valid; classifier-free guidance needs it. */
#ifndef TEXT_TO_VIDEO_TEXT_ENCODER_H
#define TEXT_TO_VIDEO_TEXT_ENCODER_H

#include "layers.h"
#include "nn.h"

enum { TEXT_BLOCKS = 2, TEXT_HEADS = 4, TEXT_MAX_BYTES = 255 };

struct text_block {
    char name[24]; /* "text.<i>" */
    struct attention attention;
    struct mlp mlp;
};

struct text_encoder {
    int64_t width;
    struct tensor embedding; /* [257][width]: the bytes, then the start token */
    struct text_block blocks[TEXT_BLOCKS];
};

/* `width` is a multiple of TEXT_HEADS. */
void text_encoder_init(struct nn *nn, struct text_encoder *e, int64_t width);

/* [1 + bytes of the prompt][width], from the arena. The prompt has at most TEXT_MAX_BYTES. */
struct tensor text_encode(struct nn *nn, const struct text_encoder *e, const char *prompt);

#endif
