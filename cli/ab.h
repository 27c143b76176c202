/* ab.h: plumb ab in its parts: variants are measured in turn (ab_measure.c), for each size and
 * element type (ab_sweep.c), and their samples are written (ab_files.c). One thread. */
#ifndef PLUMB_CLI_AB_H
#define PLUMB_CLI_AB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"

enum { PLUMB_AB_SIZES = 64, PLUMB_AB_TYPES = 8, PLUMB_AB_ROUNDS = 60 };
enum plumb_ab_figure { PLUMB_AB_WALL, PLUMB_AB_CPU, PLUMB_AB_NODE, PLUMB_AB_FIGURES };

/* The samples of both sides of one comparison: sample i of A and of B were measured in turn. */
struct plumb_ab_pair {
    const char *a, *b; /* names of the sides */
    const char *type;  /* the element type; "": none */
    uint64_t size;     /* of a sweep; 0: none */
    size_t rounds;
    double *ns[2][PLUMB_AB_FIGURES];       /* [rounds] of each side; of NODE only with a node */
    double resolution;                     /* of the times of NODE: the relative error of each */
    plumb_gate_crossover_result crossover; /* of all sizes of its type */
};

struct plumb_ab {
    const struct plumb_cli_command *command;
    char **argv[2]; /* of the variants, NULL-terminated; with one: both are the same */
    uint64_t sizes[PLUMB_AB_SIZES];
    size_t size_count;
    char size_name[64]; /* "n": {n} in the commands */
    const char *types[PLUMB_AB_TYPES];
    size_t type_count;
    const char *node;  /* whose median in a recording is measured; NULL: none */
    bool record;       /* each run is recorded, below `folder` */
    char folder[4096]; /* temporary */
    uint64_t warmup;
    size_t most_rounds; /* that will be measured */
    struct plumb_ab_pair *pairs;
    size_t pair_count;
};

/* Takes --sweep and --types, whose text is cut at the commas and kept. False after a message. */
bool plumb_ab_take_sweep(struct plumb_ab *ab, const char *text);
bool plumb_ab_take_types(struct plumb_ab *ab, char *text);
/* Whether the commands use {NAME} and {type}: without them, all sizes or types would be one
 * measurement under several names. False after a message. */
bool plumb_ab_check_words(const struct plumb_ab *ab);
/* Makes a pair for each type and size. False after a message. The caller frees ab->pairs. */
bool plumb_ab_make_pairs(struct plumb_ab *ab);

/* The signal that asked to stop; 0: none. From plumb_ab_catch() on it is passed to the running
 * program, and measuring ends, so that temporary files can be removed. */
extern volatile sig_atomic_t plumb_ab_stopped;
void plumb_ab_catch(void);

/* Measures `rounds` more rounds of a pair. A program that fails is a message, and false. Each run
 * gets standard input from its beginning if that is a file, and nothing to read otherwise. */
bool plumb_ab_measure(const struct plumb_ab *ab, struct plumb_ab_pair *pair, size_t rounds);
/* The path of the recording of round `i` of a side; NULL: it is not there. */
const char *plumb_ab_recording(char out[4200], const struct plumb_ab *ab,
                               const struct plumb_ab_pair *pair, int side, size_t i);

/* The figure that stands for a run: of the node where there is one. */
enum plumb_ab_figure plumb_ab_figure(const struct plumb_ab *ab);
/* The samples of that figure. */
plumb_gate_point plumb_ab_point(const struct plumb_ab *ab, const struct plumb_ab_pair *pair);

/* ab_tables.c: prints the medians of both sides at each size and type, and the crossovers. False
 * after a message. */
bool plumb_ab_print(const struct plumb_ab *ab);

/* Middle, 95th percentile (type 7) and least of `n` samples; `scratch` has n. */
struct plumb_ab_spread {
    double median, p95, min;
};
struct plumb_ab_spread plumb_ab_spread(const double *ns, size_t n, double *scratch);

/* Writes the samples of all pairs as JSON of google/benchmark to FOLDER/NAME-HOST.json, and the
 * tables of all such files in the folder, summary.csv and summary.txt. `fields` [n] "KEY=VALUE" are
 * put into each entry. False after a message. */
bool plumb_ab_write(const struct plumb_ab *ab, const char *folder, const char *name,
                    const char *host, const char *const *fields, size_t n);

#endif
