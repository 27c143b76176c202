/* cells.h: names and numbers as tables for people show them, in any locale. Any thread. Part of
 * libplumb too. */
#ifndef PLUMB_SUMMARY_CELLS_H
#define PLUMB_SUMMARY_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* `text` padded to `width` characters (never cut). Control characters and bytes that are not UTF-8
 * become \xHH, so that no name can steer a terminal or break a line. */
void plumb_put_left(struct plumb_buf *out, const char *text, size_t width);
/* The width of a column of names that has `width` so far: it fits the output of plumb_put_left()
 * for `text`, unless that is wider than `most`. */
enum { PLUMB_WIDTH_NODE_MOST = 64, PLUMB_WIDTH_NAME_MOST = 24 };
size_t plumb_width_for(size_t width, const char *text, size_t most);
void plumb_put_right(struct plumb_buf *out, const char *text, size_t width);
void plumb_put_count(struct plumb_buf *out, uint64_t value, size_t width);
/* `value` with a fixed number of decimals and '.', whatever the locale says. */
void plumb_put_fixed(struct plumb_buf *out, double value, int decimals, size_t width);
/* "1,234,567" or "12.3": a number for people, with three digits at least. */
void plumb_put_grouped(struct plumb_buf *out, double value);
/* The same of a count, which is exact: a double rounds beyond 2^53. */
void plumb_put_grouped_count(struct plumb_buf *out, int64_t value);
/* Six digits that count, without zeros at the end, as %g: "0.8353", "1.2e-07", "nan". */
void plumb_put_figure(struct plumb_buf *out, double value);

#endif
