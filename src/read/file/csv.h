/* csv.h: rows of comma-separated values in memory, as RFC 4180 describes them: a field may stand in
 * quotes, which are doubled inside it, and a quoted field may hold line ends. One thread at a time.
 *
 *     struct plumb_csv c = {.at = text, .end = text + size};
 *     while ((rc = plumb_csv_row(&c, false)) == 1)
 *         ... plumb_csv_field(&c, i) for i < c.count ...
 *     plumb_csv_fini(&c); */
#ifndef PLUMB_READ_FILE_CSV_H
#define PLUMB_READ_FILE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct plumb_csv {
    const char *at, *end;  /* what is left of the text */
    uint64_t line;         /* where the row begins; the first is 1 */
    uint64_t next_line;    /* lines before `at` */
    struct plumb_buf text; /* fields of the row, each with a NUL */
    size_t *starts;        /* of field `i` in `text` */
    size_t count, cap;     /* fields */
};

/* Reads the next row. Returns 1, or 0 at the end of the text, or PLUMB_ERR_MEMORY, or
 * PLUMB_ERR_FORMAT: a quote is open at the end. `one_line`: a row ends with its line even inside
 * quotes; use it for lines that may not be CSV. A NUL byte in a field ends its text. */
int plumb_csv_row(struct plumb_csv *c, bool one_line);
/* Returns field `i` of the row, until the next row is read; "" beyond the last. */
const char *plumb_csv_field(const struct plumb_csv *c, size_t i);
/* Skips the next line. Returns false at the end of the text. */
bool plumb_csv_skip_line(struct plumb_csv *c);
void plumb_csv_fini(struct plumb_csv *c);

#endif
