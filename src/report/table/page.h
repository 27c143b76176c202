/* page.h: a report that is made of several tables, as text or Markdown. Any thread. */
#ifndef PLUMB_REPORT_TABLE_PAGE_H
#define PLUMB_REPORT_TABLE_PAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "report/table/grid.h"
#include "summary/cells.h"

struct plumb_render_input;

struct plumb_page {
    const struct plumb_render_input *in; /* for the caller alone; may be NULL */
    struct plumb_buf *out;
    bool md, explain;
    struct plumb_buf explained; /* the meaning of the columns so far, if the page has it */
};

/* explain: the page ends with the meaning of the columns of its tables. */
void plumb_page_begin(struct plumb_page *p, const struct plumb_render_input *in,
                      struct plumb_buf *out, bool md, bool explain);
/* The meanings of the columns, if the page has them. */
void plumb_page_end(struct plumb_page *p);

/* Each begins a new part. */
void plumb_page_title(struct plumb_page *p, const char *title);
void plumb_page_paragraph(struct plumb_page *p);
/* A line of a list, below a title or another; the caller appends the rest of it. */
void plumb_page_item(struct plumb_page *p, const char *text);
/* A name in running text. */
void plumb_page_name(struct plumb_page *p, const char *name);
/* The table, which it ends. */
void plumb_page_grid(struct plumb_page *p, struct plumb_grid *g);
/* "(3 more)" below a table; nothing for 0. */
void plumb_page_more(struct plumb_page *p, size_t hidden);

#endif
