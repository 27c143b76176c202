/* report_options.h: the options of plumb report. Those that chose a view before there were operands
 * for it still do: they have no help text and are thus in no help, man page or completion. */
#ifndef PLUMB_CLI_REPORT_OPTIONS_H
#define PLUMB_CLI_REPORT_OPTIONS_H

#include "report.h"

enum {
    FORMAT,
    OUTPUT,
    PIPELINE,
    PHASE,
    SORT,
    TOP,
    FRAMES,
    WIDE,
    EXPLAIN,
    REQUEST,
    MIN_WIDTH,
    NODE,
    DEPTH,
    FOLD,
    UNIT,
    MODULE,
    SUSPECTS,
    BY_STEP,
    BY,
    OLD_TREE,
    OLD_SUMMARY,
    OLD_MEMORY,
    OLD_REQUESTS,
    OLD_SIGNATURES,
    OLD_STREAMS,
    OLD_TRACE,
    OLD_GAPS,
    OLD_STEPS,
    OLD_SLOWEST,
    OPTIONS
};

#define BIT(option) (UINT32_C(1) << (option))

/* report_options.c: the table, which ends with a name of NULL, and taking option `option` of it.
 * False after a message. Texts are borrowed. */
extern const struct plumb_cli_option plumb_cli_report_options[];
bool plumb_cli_report_take(struct plumb_cli_wish *w, int option, const char *value);
/* Takes --by, whose values depend on the view: the view is known only when the whole line has been
 * read. False after a message. */
bool plumb_cli_report_take_by(struct plumb_cli_wish *w);

#endif
