/* aggregate.h: files of benchmarks as one table with a row for each benchmark. One thread. */
#ifndef PLUMB_REPORT_BENCH_AGGREGATE_H
#define PLUMB_REPORT_BENCH_AGGREGATE_H

#include <stddef.h>

#include <plumb/error.h>

#include "base/buf.h"

struct plumb_aggregate;

/* For at most `files` files. PLUMB_ERR_MEMORY. */
int plumb_aggregate_open(struct plumb_aggregate **out, size_t files, plumb_error *err);
void plumb_aggregate_close(struct plumb_aggregate *a);

/* Takes the benchmarks of a file's `text` [size], which is copied; `file` is its name, which lives
 * as long as `a`. PLUMB_ERR_FORMAT: it is not JSON, or has no benchmarks, and `a` is unchanged;
 * PLUMB_ERR_MEMORY. */
int plumb_aggregate_add(struct plumb_aggregate *a, const char *text, size_t size, const char *file,
                        plumb_error *err);
size_t plumb_aggregate_rows(const struct plumb_aggregate *a);

/* Appends the table as "text", "md", "csv" or "json". Fields that the files have beyond the columns
 * are in the last two: "extra.NAME" in CSV, `extra` in JSON. */
void plumb_aggregate_write(struct plumb_buf *out, const struct plumb_aggregate *a,
                           const char *format);

#endif
