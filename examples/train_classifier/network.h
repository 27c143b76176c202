/* The network: three linear layers with tanh between them, and cross-entropy on top.
 *
 * One thread at a time. Rows of a batch are independent of each other, but for the gradients, which
 * are sums over the batch. The order of all sums is fixed: equal inputs give equal bits. */
#ifndef TRAIN_CLASSIFIER_NETWORK_H
#define TRAIN_CLASSIFIER_NETWORK_H

#include "real.h"

#include <stddef.h>
#include <stdint.h>

enum { NETWORK_LAYERS = 3 };

/* y = x weight + bias. The four tensors are parts of the network's two blocks. */
struct linear {
    int in, out;
    real *weight; /* [in][out] */
    real *bias;   /* [out] */
    real *weight_gradient, *bias_gradient;
};

struct network {
    struct linear layers[NETWORK_LAYERS];
    size_t n_parameters;
    real *parameters; /* layer by layer: weight, bias */
    real *gradients;  /* in the same order; of the mean loss of a batch */

    /* Of the last batch: what each layer takes and, last, the logits. */
    const real *input;                 /* the caller's */
    real *activations[NETWORK_LAYERS]; /* [row][out] */
    real *errors[NETWORK_LAYERS];      /* d loss / d (x weight + bias), [row][out] */
    real *scratch;                     /* a transposed weight */
};

/* `widths`: inputs, then the outputs of each layer. `max_rows`: of a batch. Parameters and
 * gradients are 0. Returns 0, or -1 when memory is short; network_fini() is right either way. */
int network_init(struct network *net, const int widths[NETWORK_LAYERS + 1], int max_rows);
void network_fini(struct network *net);

/* Draws the weights, spread so that activations keep their size from layer to layer; biases are 0.
 */
void network_randomize(struct network *net, uint64_t seed);

/* The logits, [rows][classes], of `x`, [rows][inputs], which must stay until network_backward().
 * They live until the next call. */
const real *network_forward(struct network *net, const real *x, int rows);

/* The class whose logit is the largest of a row. */
int network_answer(const struct network *net, const real *logits);

/* Sum over the batch of the cross-entropy of softmax(logits); adds to *correct the rows whose
 * largest logit is at their label. Call it after network_forward() with the same rows. */
double network_loss(struct network *net, const int *labels, int rows, int *correct);

/* Sets the gradients from what network_loss() left. */
void network_backward(struct network *net, int rows);

#endif
