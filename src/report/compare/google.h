/* google.h: a comparison of benchmarks as text, in the lines of google/benchmark's compare.py, and
 * as Markdown, CSV and JSON. Any thread; no state. */
#ifndef PLUMB_REPORT_COMPARE_GOOGLE_H
#define PLUMB_REPORT_COMPARE_GOOGLE_H

#include "analyze/compare/google.h"
#include "base/buf.h"

/* Appends it. `aggregates`: only aggregates, and the tests. PLUMB_ERR_ARG: another format. */
int plumb_google_write(struct plumb_buf *out, const struct plumb_google *g, const char *format,
                       bool aggregates, plumb_error *err);

#endif
