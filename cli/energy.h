/* energy.h: the energy of a program that the command runs, and of the stages that it records. */
#ifndef PLUMB_CLI_ENERGY_H
#define PLUMB_CLI_ENERGY_H

#include <stdbool.h>

#include "cli.h"

struct plumb_cli_log;
struct plumb_cli_energy {
    bool wanted;          /* otherwise the functions do nothing */
    const char *output;   /* file for the result, with {host} in it; NULL: none */
    const char *powercap; /* folder of the counters; NULL: that of the system */
    plumb_energy_meter *meter;
    plumb_energy energy;
};

/* Before the program is started, and after it has ended. */
void plumb_cli_energy_begin(struct plumb_cli_energy *e);
void plumb_cli_energy_end(struct plumb_cli_energy *e);
/* Prints a line on standard error, and writes the files: that of the user, and energy.json in each
 * run of the log. */
void plumb_cli_energy_show(struct plumb_cli_energy *e, char *const *argv,
                           const struct plumb_cli_log *log);
void plumb_cli_energy_free(struct plumb_cli_energy *e);

#endif
