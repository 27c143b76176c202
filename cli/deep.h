/* deep.h: the part of `plumb deep` that runs NVIDIA Nsight Compute, and shows its reports. */
#ifndef PLUMB_CLI_DEEP_H
#define PLUMB_CLI_DEEP_H

#include "cli.h"

struct plumb_cli_ncu {
    const char *kernel;         /* --kernel-name of ncu; NULL: every kernel */
    const char *stage;          /* only kernels that are launched inside it; NULL: all */
    const char *metrics;        /* more raw names, separated by commas; NULL: none */
    const char *csv;            /* where ncu writes; NULL: plumb-ncu.csv */
    uint64_t skip;              /* launches before the first one that is profiled */
    uint64_t count;             /* launches that are profiled; 0: one */
    bool print;                 /* print the command, do not run it */
    plumb_ncu_report_view view; /* of the result */
    const char *output;         /* NULL: stdout */
};

/* Whether the operand is a CSV report of ncu, by its name: "*.csv", "*.csv.gz", "*.ncu-rep". */
bool plumb_cli_is_ncu(const char *path);
/* Shows the kernels of a CSV report. Returns the exit status. */
int plumb_cli_ncu_show(const struct plumb_cli_ncu *w, const char *path);
/* Runs the program under ncu and shows the kernels. The program keeps its stdout. Returns the exit
 * status: of ncu, which passes on that of the program; 127 without ncu; 2 after trouble of ours. */
int plumb_cli_ncu_run(const struct plumb_cli_ncu *w, char *const *program);

#endif
