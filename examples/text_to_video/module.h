/* The place of the computation in the model, and the tensors that are recorded there.
 *
 * A module is what PyTorch calls one: a part of the model with a name, inside another. Modules that
 * are entered are spans too. Leaves, which are single operations, are not, to keep reports
 * short. */
#ifndef TEXT_TO_VIDEO_MODULE_H
#define TEXT_TO_VIDEO_MODULE_H

#include "nn.h"

#include <plumb/plumb.h>

/* Begins a module, its span and its name: `name` must outlive it. Modules nest, at most
 * NN_MAX_DEPTH deep. */
plumb_span module_enter(struct nn *nn, const char *name);
void module_leave(struct nn *nn, plumb_span span);

/* Records an input of the module; `label` is "in" or "in[1]". */
void module_in(struct nn *nn, const char *label, const struct tensor *x);

/* Records the whole numbers that go into a leaf. */
void module_numbers(struct nn *nn, const char *leaf, const int32_t *numbers, int64_t count);

/* Record the output of the module, or of one of its leaves. If a fault is planted there, the output
 * is spoiled first. */
void module_out(struct nn *nn, const struct tensor *x);
void module_leaf(struct nn *nn, const char *leaf, const struct tensor *x);

/* Writes the dotted name of a leaf (NULL: of the module itself). */
void module_name(const struct nn *nn, const char *leaf, char *out, size_t size);

#endif
