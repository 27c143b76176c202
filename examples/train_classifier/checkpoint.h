/* Checkpoints: the network's parameters in a safetensors file, which other programs can read. */
#ifndef TRAIN_CLASSIFIER_CHECKPOINT_H
#define TRAIN_CLASSIFIER_CHECKPOINT_H

#include "network.h"

#include <stddef.h>
#include <stdint.h>

/* Facts about the network that are saved with it. */
struct checkpoint_facts {
    int epoch;
    uint64_t seed;
    int val_correct, val_count; /* of the validation pass after that epoch */
};

/* Both return 0, or -1 with the reason, the path in it, in `error`. */

/* Returns when the file is on disk; if it fails, the file before it still is. The file is written
 * under a temporary name, flushed and renamed. */
int checkpoint_save(const struct network *net, const struct checkpoint_facts *facts,
                    const char *path, char *error, size_t error_bytes);

/* Refuses a file that is damaged, or belongs to a network of another shape. The network then keeps
 * its parameters. */
int checkpoint_load(struct network *net, struct checkpoint_facts *facts, const char *path,
                    char *error, size_t error_bytes);

#endif
