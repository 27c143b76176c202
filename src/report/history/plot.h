/* plot.h: the records of a history as series over time: an SVG with a plot of each, and a table of
 * their steps. One thread; no state. */
#ifndef PLUMB_REPORT_HISTORY_PLOT_H
#define PLUMB_REPORT_HISTORY_PLOT_H

#include "base/buf.h"
#include "read/history/result.h"

/* Plots of one picture; a remark in it says how many more there are. */
enum { PLUMB_HISTORY_PLOTS = 40 };

/* Appends the picture. `metric`: NULL for every gated one, or the first of records without. */
int plumb_history_svg(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                      const char *metric, plumb_error *err);
/* Appends a row for each step: "text", "md", "csv" or "json". */
int plumb_history_step_table(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                             const char *metric, const char *format, plumb_error *err);

#endif
