/* escape.h: names in formats where some characters have a meaning. Control characters and bytes
 * that are not UTF-8 become \xHH first, as everywhere (summary/table.h). Any thread. */
#ifndef PLUMB_REPORT_TABLE_ESCAPE_H
#define PLUMB_REPORT_TABLE_ESCAPE_H

#include "base/buf.h"

/* Markdown that cannot leave its cell or start anything. */
void plumb_put_md(struct plumb_buf *out, const char *text);
/* The same for text whose names are clean already. */
void plumb_put_clean_md(struct plumb_buf *out, const char *text);
/* One field of CSV (RFC 4180), in quotes where it needs them. */
void plumb_put_clean_csv(struct plumb_buf *out, const char *text);
/* The same for a name: control characters are escaped first, so a row is one line. */
void plumb_put_csv(struct plumb_buf *out, const char *text);

#endif
