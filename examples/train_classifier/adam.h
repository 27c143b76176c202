/* The optimizer: Adam with decoupled weight decay (Kingma, Ba: Adam, 2015; Loshchilov, Hutter:
 * Decoupled weight decay regularization, 2019). */
#ifndef TRAIN_CLASSIFIER_ADAM_H
#define TRAIN_CLASSIFIER_ADAM_H

#include "real.h"

#include <stddef.h>

struct adam {
    double learning_rate, weight_decay;
    int steps;     /* taken so far */
    size_t n;      /* parameters */
    real *mean;    /* running mean of the gradients */
    real *squares; /* and of their squares */
};

/* Returns 0, or -1 when memory is short; adam_fini() is right either way. */
int adam_init(struct adam *a, size_t n, double learning_rate, double weight_decay);
void adam_fini(struct adam *a);

/* One step of the n parameters against their gradients. */
void adam_step(struct adam *a, real *parameters, const real *gradients);

#endif
