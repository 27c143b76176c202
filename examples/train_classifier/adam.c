/* Owns the optimizer's two running means. The usual constants are written where they are used: this
 * program has no reason to change them. */
#include "adam.h"

#include <plumb/plumb.h>

#include <stdlib.h>
#include <tgmath.h>

int adam_init(struct adam *a, size_t n, double learning_rate, double weight_decay)
{
    *a = (struct adam){.learning_rate = learning_rate, .weight_decay = weight_decay, .n = n};
    a->mean = calloc(2 * n, sizeof(real));
    if (!a->mean)
        return -1;
    a->squares = a->mean + n;
    return 0;
}

void adam_fini(struct adam *a)
{
    free(a->mean);
    *a = (struct adam){0};
}

void adam_step(struct adam *a, real *parameters, const real *gradients)
{
    PLUMB_SPAN("optimizer");
    const real keep_mean = (real)0.9, keep_squares = (real)0.999, epsilon = (real)1e-8;
    double steps = (double)++a->steps;
    /* Both means began at 0 and are too small at first, by these factors. */
    real mean_scale = (real)(a->learning_rate / (1.0 - pow(0.9, steps)));
    real squares_scale = (real)(1.0 / (1.0 - pow(0.999, steps)));
    real shrink = (real)(1.0 - a->learning_rate * a->weight_decay);

    for (size_t i = 0; i < a->n; i++) {
        real g = gradients[i];
        a->mean[i] = keep_mean * a->mean[i] + (1 - keep_mean) * g;
        a->squares[i] = keep_squares * a->squares[i] + (1 - keep_squares) * g * g;
        parameters[i] = shrink * parameters[i] -
                        mean_scale * a->mean[i] / (sqrt(squares_scale * a->squares[i]) + epsilon);
    }
}
