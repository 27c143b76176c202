/* The command line. */
#ifndef TRAIN_CLASSIFIER_OPTIONS_H
#define TRAIN_CLASSIFIER_OPTIONS_H

#include <stdint.h>

struct options {
    int epochs;
    int pictures; /* of an epoch */
    int batch;
    int hidden;
    uint64_t seed;
    double learning_rate;
    int threads;           /* that load data; 0: the training does it itself */
    int save_every;        /* epochs */
    const char *out_dir;   /* for checkpoints */
    const char *test_path; /* a checkpoint to test instead of training, or NULL */
    double required;       /* test accuracy */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* Strings point into argv. OPTIONS_DONE: --help was given, and the help is printed. OPTIONS_WRONG:
 * the reason is on stderr, in one line. */
enum options_result options_parse(struct options *o, int argc, char **argv);

#endif
