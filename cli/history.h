/* history.h: the options of plumb history, and what they ask for. */
#ifndef PLUMB_CLI_HISTORY_H
#define PLUMB_CLI_HISTORY_H

#include "cli.h"

/* In the order of the table below. */
enum {
    DB,
    WAIT,
    WORKLOAD,
    VARIANT,
    VERSION,
    RECIPE,
    HARDWARE,
    SOFTWARE,
    CONFIG,
    BASELINE,
    NO_COMPARE,
    DRY_RUN,
    FAILED,
    REPORT,
    RECORD,
    METRIC,
    BRANCH,
    SOURCE,
    SINCE,
    UNTIL,
    NEWEST,
    ELIGIBLE,
    KEEP,
    ID,
    FORMAT,
    OUTPUT,
    OPTIONS
};

#define BIT(option) ((uint32_t)1 << (option))

struct plumb_cli_history {
    const char *db, *format, *output, *report, *record;
    plumb_history_options file;
    plumb_results_options results;
    plumb_history_add_options add;
    plumb_history_filter filter;
    plumb_history_prune_options prune;
    uint32_t given;
    const char **operands;
    size_t count;
};

/* history_options.c: the table, which ends with a name of NULL, and taking option `option` of it.
 * False after a message. Texts are borrowed. */
extern const struct plumb_cli_option plumb_cli_history_options[];
bool plumb_cli_history_take(struct plumb_cli_history *w, int option, const char *value);

#endif
