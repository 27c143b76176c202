/* The training: epochs of train and val, checkpoints, and the test of the best one. */
#ifndef TRAIN_CLASSIFIER_TRAINER_H
#define TRAIN_CLASSIFIER_TRAINER_H

#include "digits.h"
#include "options.h"
#include "real.h"

/* Pictures that no phase has used, and what the network reads in them. */
enum { TRAINER_SHOWN = 5 };

struct trainer_result {
    int test_correct, test_count;
    real pixels[TRAINER_SHOWN * DIGITS_PIXELS];
    int digits[TRAINER_SHOWN], read_as[TRAINER_SHOWN];
    char error[512]; /* why it failed */
};

/* Trains and tests, or only tests (o->test_path), and prints a line to stdout for each epoch.
 * Returns 0, or -1 with result->error set. */
int trainer_run(const struct options *o, struct trainer_result *result);

#endif
