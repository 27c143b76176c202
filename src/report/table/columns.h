/* columns.h: the one table of a summary row's columns: the stable name in CSV and JSON, the heading
 * in the wide table and in Markdown, and the meaning. */
#ifndef PLUMB_REPORT_TABLE_COLUMNS_H
#define PLUMB_REPORT_TABLE_COLUMNS_H

#include <stddef.h>

#include "codec/json_write.h"
#include "summary/table.h"

enum plumb_column_type {
    PLUMB_COLUMN_TEXT,
    PLUMB_COLUMN_COUNT,   /* uint64_t */
    PLUMB_COLUMN_THREADS, /* uint32_t */
    PLUMB_COLUMN_MS,
    PLUMB_COLUMN_SECONDS, /* kept in ms; shown in seconds in tables, in ms in CSV and JSON */
    PLUMB_COLUMN_PERCENT,
    PLUMB_COLUMN_ESTIMATOR
};

struct plumb_column {
    const char *key;   /* of CSV and JSON; never changes */
    const char *title; /* of tables; NULL: not in tables */
    const char *help;
    enum plumb_column_type type;
    size_t offset; /* in struct plumb_summary_row */
    size_t width;  /* in the wide table; 0: only in --format csv|json|md */
};

/* With those of context switches, where the rows have any. */
const struct plumb_column *plumb_columns_wide(const struct plumb_summary *s, size_t *n);
const char *plumb_column_text(const struct plumb_column *c, const struct plumb_summary_row *row);
/* The unit of a column of times in the rows [begin, end); NULL: it has no times. */
const struct plumb_unit *plumb_column_unit(const struct plumb_column *c,
                                           const struct plumb_summary *s, size_t begin, size_t end);
/* Appends the heading: "Mean(us)". */
void plumb_column_title(struct plumb_buf *out, const struct plumb_column *c,
                        const struct plumb_unit *unit);
/* Appends the value as tables show it. */
void plumb_column_put(struct plumb_buf *out, const struct plumb_column *c,
                      const struct plumb_summary_row *row, const struct plumb_unit *unit);
/* Writes the value in full precision. */
void plumb_column_json(struct plumb_json *j, const struct plumb_column *c,
                       const struct plumb_summary_row *row);

#endif
