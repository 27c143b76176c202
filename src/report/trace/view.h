/* view.h: `plumb report` of a trace: nodes, threads and gaps, steps, the slowest runs of a
 * node, as text, Markdown, CSV and JSON. Any thread, one view at a time. */
#ifndef PLUMB_REPORT_TRACE_VIEW_H
#define PLUMB_REPORT_TRACE_VIEW_H

#include "base/buf.h"
#include "read/trace/table.h"
#include <plumb/read/trace.h>

/* Appends the view, without a newline at its end. `path`: the file, as it is shown. Errors:
 * PLUMB_ERR_ARG: no such format or view; PLUMB_ERR_NOT_FOUND: no slice of the name asked for;
 * PLUMB_ERR_MEMORY. */
int plumb_trace_view_render(struct plumb_buf *out, const struct plumb_table *t, const char *path,
                            const plumb_trace_view *view, plumb_error *err);

/* Appends the breakdown of the trace by kernels and operators on the host: JSON, `name` and lists
 * of at most 50 rows. PLUMB_ERR_MEMORY. */
int plumb_trace_breakdown_write(struct plumb_buf *out, const struct plumb_table *t,
                                const char *name, plumb_error *err);

/* Appends the limits of the trace, lines that each end in a newline; nothing if there are none. */
void plumb_trace_remarks_write(const struct plumb_table *t, struct plumb_buf *out);

/* The sum of all drops that the trace records. */
uint64_t plumb_trace_dropped(const struct plumb_table *t);

#endif
