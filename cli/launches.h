/* launches.h: the runs of `plumb count-launches`, between cmd_count_launches.c, which reads the
 * command line, and launches.c, which runs the command and compares its outputs. */
#ifndef PLUMB_CLI_LAUNCHES_H
#define PLUMB_CLI_LAUNCHES_H

#include "cli.h"

enum { PLUMB_CLI_DEPTHS = 64 };

struct plumb_cli_launches {
    uint32_t depths[PLUMB_CLI_DEPTHS];
    size_t depth_count;
    double duration_s, tolerance;
    uint32_t channels, fs, iters;
    const char *device; /* "cpu" or "cuda"; cpu where it has to fall back */
    char *const *command;
};

/* Fills `rows` [2 * depth_count], unfused before fused. Returns false after a message. */
bool plumb_cli_launches_run(plumb_launches_row *rows, struct plumb_cli_launches *w);

#endif
