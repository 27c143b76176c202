/* export_to.h: exports of a run other than its trace: plumb export --to. */
#ifndef PLUMB_CLI_EXPORT_TO_H
#define PLUMB_CLI_EXPORT_TO_H

/* Each exports a run (NULL: the newest) to `output` ("-": standard output; NULL: a file of the
 * default name) and returns an exit status. */
int plumb_cli_export_otlp(const char *run, const char *output);

#endif
