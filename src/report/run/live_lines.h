/* live_lines.h: a table of the nodes of a running process, as JSON, CSV or Markdown. Any thread. */
#ifndef PLUMB_REPORT_RUN_LIVE_LINES_H
#define PLUMB_REPORT_RUN_LIVE_LINES_H

#include "base/buf.h"
#include <plumb/read/live.h>

/* Appends the table, as of plumb_reading_render(). `facts`: of the reading that it was made from.
 * Errors: those. */
int plumb_live_lines(struct plumb_buf *out, const plumb_reading_facts *facts,
                     const plumb_reading_line *lines, size_t n, const char *format,
                     plumb_error *err);

#endif
