/* The loader: draws the batches of a pass, ahead of their reader, on threads of its own.
 *
 * A pass is one walk through a set: loader_begin(), then loader_next() for each of its batches.
 * They come in order and hold the same bytes however many threads there are. All functions belong
 * to one thread, the reader's. */
#ifndef TRAIN_CLASSIFIER_LOADER_H
#define TRAIN_CLASSIFIER_LOADER_H

#include "digits.h"
#include "real.h"

#include <stdint.h>

struct batch {
    int rows;
    real *pixels; /* [rows][DIGITS_PIXELS] */
    int *labels;  /* [rows] */
};

struct pass {
    enum digits_set set;
    uint64_t seed;
    int first; /* index in the set of the first picture */
    int count; /* pictures */
    const int
        *order; /* picture i of the pass is first + order[i]; NULL: first + i. It must stay. */
};

struct loader;

/* `threads` 0: batches are drawn on the reader's thread, when it asks. `batch`: most rows. NULL
 * when memory is short or a thread cannot be started. */
struct loader *loader_open(int threads, int batch);

/* NULL is fine. A pass may be cut short. */
void loader_close(struct loader *l);

/* Begins a pass and returns how many batches it has; all of those of the pass before must have been
 * asked for. The threads work below the span that is open here, and in its phase. `pass` is copied.
 */
int loader_begin(struct loader *l, const struct pass *pass);

/* The next batch of the pass, NULL after the last. It lives until the next call. */
const struct batch *loader_next(struct loader *l);

#endif
