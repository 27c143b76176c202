/* report.h: the views of `plumb report`, between cmd_report.c, which reads the command line, and
 * report_show.c, which renders what was asked for. */
#ifndef PLUMB_CLI_REPORT_H
#define PLUMB_CLI_REPORT_H

#include "cli.h"

struct plumb_cli_wish;
struct plumb_cli_report_view;

/* The request of a command line. The texts are those of argv. */
struct plumb_cli_wish {
    const struct plumb_cli_report_view *view; /* NULL while the command line is read: none yet */
    plumb_report_options options;
    plumb_trace_view trace;
    plumb_activation_log_view activations;
    uint32_t given;     /* bit i: option i of the command */
    const char *by;     /* NULL: not given */
    const char *output; /* NULL: stdout */
    const char *run;    /* NULL: the newest run */
    const char
        *nearest; /* the view whose name is nearest to `run`; NULL: none, or a view is given */
};

/* Each renders one family of views and returns the exit status of the command. */
int plumb_cli_show_report(const struct plumb_cli_wish *w);
int plumb_cli_show_trace(const struct plumb_cli_wish *w);
int plumb_cli_show_activations(const struct plumb_cli_wish *w);

/* Returns whether `path` is a trace by itself, by its name or by its first bytes. */
bool plumb_cli_is_trace(const char *path);

#endif
