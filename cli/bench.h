/* bench.h: the two processes of plumb bench. The command starts itself again for the stage, so that
 * a stage that crashes or hangs takes only that process with it; both share a mapped file. */
#ifndef PLUMB_CLI_BENCH_H
#define PLUMB_CLI_BENCH_H

#include <stdbool.h>

#include "cli.h"

struct plumb_cli_bench {
    const char *signature, *stage, *library;
    const char *config; /* NULL: the recorded one */
    const char *out, *suffix, *format;
    const char *alone; /* the folder shared with the command; NULL: this is the command */
    int64_t first_step;
    double timeout_s; /* 0: none */
    plumb_bench_options options;
};

/* The shared file: zero at first, written by the stage's process but for `collect`. */
struct plumb_cli_bench_shared {
    plumb_bench_progress progress;
    uint32_t finished; /* the rest is valid */
    int32_t status;
    plumb_error err;
    plumb_bench_result result; /* without its pointers: times are in the file `times` */
    char remarks[4096];
    char collect[1024]; /* PLUMB_COLLECT, written by the command; "": not set */
};
#define PLUMB_CLI_BENCH_SHARED "shared"
#define PLUMB_CLI_BENCH_TIMES "times"
#define PLUMB_CLI_BENCH_RUN "run" /* the recording */

/* bench_options.c: the command's options, of which two are done instead of running a stage. */
enum { PLUMB_CLI_BENCH_LIST = 2, PLUMB_CLI_BENCH_AGGREGATE = 3 };
extern const struct plumb_cli_option plumb_cli_bench_options[];
/* Takes option `option` of that table; one of the two goes to `instead`. False after a message. */
bool plumb_cli_bench_take(struct plumb_cli_bench *b, int *instead, int option, const char *value);

/* bench_tables.c: what runs no stage. Each prints, and returns the exit status. */
int plumb_cli_bench_list(const char *signature);
int plumb_cli_bench_aggregate(char **files, int count, const char *format);

/* Maps the shared file of `folder`, which is made if `make`. NULL: errno says why. */
struct plumb_cli_bench_shared *plumb_cli_bench_map(const char *folder, bool make);

struct plumb_launched;
/* Whether the stage's process has done its work; if not, says what happened to it, and where. */
bool plumb_cli_bench_ended(const struct plumb_cli_bench *b,
                           const struct plumb_cli_bench_shared *shared,
                           const struct plumb_launched *end);

/* Runs the stage in this process. Returns the exit status. */
int plumb_cli_bench_alone(const struct plumb_cli_bench *b);

#endif
