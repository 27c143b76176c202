/* Faults planted on purpose, so that plumb can be tried on a run that is wrong.
 *
 *     KIND:PLACE[:STEP[:SIZE]]    nan:block.4.self_attention.heads:7    scale:block.3:-:0.02
 *
 * A place is a module as plumb names it, below its stage and without "denoise_step.". STEP is a
 * denoise step, "-" or nothing: all of them, and wherever the place has none. The switch is not in
 * --help, because a video needs no faults.
 *
 *     kind           what goes wrong                                          at
 *     scale          the result times 1 + SIZE (0.1)                          any module
 *     offset         SIZE (0.1) of the mean magnitude is added                any module
 *     columns        the first quarter of the columns times 1 + SIZE (0.1)    any module
 *     zero           nothing comes out                                        any module
 *     nan, inf       one value                                                any module
 *     transposed     the weight is read the wrong way round                   square weights
 *     no-residual    the input is not added                                   attentions, MLPs
 *     swapped-heads  the first two heads change places                        attentions
 *     softmax        scores times 1 + SIZE (3: 1 / sqrt(width) forgotten)     attentions
 *
 * Attentions are called text.N.attention, block.N.self_attention and block.N.cross_attention, MLPs
 * text.N.mlp and block.N.mlp. Linears with a square weight are out of attentions, q of
 * cross_attention, text_in and time_hidden. */
#ifndef TEXT_TO_VIDEO_FAULT_H
#define TEXT_TO_VIDEO_FAULT_H

#include "nn.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_SCALE,
    FAULT_OFFSET,
    FAULT_COLUMNS,
    FAULT_ZERO,
    FAULT_NAN,
    FAULT_INF,
    FAULT_TRANSPOSED,
    FAULT_NO_RESIDUAL,
    FAULT_SWAPPED_HEADS,
    FAULT_SOFTMAX,
    FAULT_COUNT
};

enum { FAULT_EVERY_STEP = -1, FAULT_PLACE_BYTES = 64 };

struct fault {
    enum fault_kind kind;
    char place[FAULT_PLACE_BYTES];
    int step; /* or FAULT_EVERY_STEP */
    double size;
    uint64_t struck; /* how often */
};

const char *fault_kind_name(enum fault_kind kind);

/* Returns false if `text` does not name a fault. */
bool fault_parse(struct fault *out, const char *text);

/* Returns whether the fault of nn is of this kind, at `leaf` (NULL: the module itself) of the
 * current module, in the current step. Counts it as struck. */
bool fault_strikes(struct nn *nn, enum fault_kind kind, const char *leaf);

/* Changes the row-major result of `leaf`, if the fault of nn is one of results and meant for it. */
void fault_spoil(struct nn *nn, const char *leaf, const struct tensor *x);

#endif
