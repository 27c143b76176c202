/* Checkpoints: the network's parameters in a safetensors file, which other programs can read. */
#ifndef TRAIN_CLASSIFIER_CHECKPOINT_H
#define TRAIN_CLASSIFIER_CHECKPOINT_H

#include "network.h"

#include <stddef.h>
#include <stdint.h>

/* What is known of the network when it is saved. */
struct checkpoint_facts {
    int epoch;
    uint64_t seed;
    int val_correct, val_count; /* of the validation pass after that epoch */
};

/* Both return 0, or -1 with the reason, the path in it, in `error`. */

/* The file is on disk when this returns, or the one before it still is: it is written beside its
 * place, flushed and renamed. */
int checkpoint_save(const struct network *net, const struct checkpoint_facts *facts,
                    const char *path, char *error, size_t error_bytes);

/* Refuses a file that is damaged, or not of a network of this shape. The network keeps its
 * parameters then. */
int checkpoint_load(struct network *net, struct checkpoint_facts *facts, const char *path,
                    char *error, size_t error_bytes);

#endif
