/* The command line. */
#ifndef AUDIO_FILTER_CHAIN_OPTIONS_H
#define AUDIO_FILTER_CHAIN_OPTIONS_H

#include "effect.h"

struct options {
    const char *in_path;  /* NULL: noise */
    const char *out_path; /* NULL: nothing is written */
    double seconds;       /* of noise */
    int rate, channels;   /* of noise */
    unsigned long long seed;
    enum iir_type type;
    const char *chain;
    int depth; /* filters of second order instead of `chain`; 0: the chain */
    bool fuse;
    int block;  /* frames; 0: all at once */
    int repeat; /* runs of the chain over the same samples */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* Strings point into argv. OPTIONS_DONE: --help was given, and the help is printed. OPTIONS_WRONG:
 * the reason is on stderr, in one line. */
enum options_result options_parse(struct options *o, int argc, char **argv);

#endif
