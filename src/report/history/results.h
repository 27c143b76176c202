/* results.h: results after their comparison, and the records of a history, as tables and JSON. One
 * thread; no state. */
#ifndef PLUMB_REPORT_HISTORY_RESULTS_H
#define PLUMB_REPORT_HISTORY_RESULTS_H

#include "base/buf.h"
#include "read/history/result.h"

/* Appends the results [n] with the baselines of their metrics (`baselines` NULL, or NULL for one:
 * not compared) as "text", "md", "csv" or "json". Text has a row for each metric that changed, or
 * that all have; Markdown has one for each result, for the page of a pull request. PLUMB_ERR_ARG:
 * another format. */
int plumb_history_results(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                          plumb_baseline *const *baselines, const char *format, plumb_error *err);
/* Appends the records as a table, in the same formats. */
int plumb_history_records(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                          const char *format, plumb_error *err);
/* Appends one record with all of it: "text", "md" or "json". `baselines`: of its metrics. */
int plumb_history_record(struct plumb_buf *out, const struct plumb_result_item *item,
                         const plumb_baseline *baselines, const char *format, plumb_error *err);

/* Writes the members of a result into an open object. */
struct plumb_json;
void plumb_history_put_result(struct plumb_json *j, const struct plumb_result_item *item,
                              const plumb_baseline *baselines);

#endif
