/* text_table.h: tables of aligned columns for people. Every table that plumb prints or writes as
 * text is laid out here: the one that a run ends in, those of the commands, and the summary of a
 * rank. The caller provides the cells, and the lines above and below a table.
 *
 *     struct plumb_text_column columns[] = {{.left = true, .width = 40, .most = 64},
 *                                           {.gap = 1, .width = 10, .most = 10}};
 *     struct plumb_text_table t;
 *     plumb_text_table_init(&t, columns, 2);
 *     plumb_text_put(&t, "Node");                       cells from left to right, line by line
 *     plumb_buf_printf(plumb_text_cell(&t), "%zu", n);
 *     plumb_text_end_cell(&t);
 *     ...
 *     plumb_text_line(&t, 0, out);                      then each line in the same order
 *     plumb_text_rule(&t, out);
 *     plumb_text_table_fini(&t);
 *
 * Widths are in characters. One thread at a time; memory for the cells alone. */
#ifndef PLUMB_SUMMARY_TEXT_TABLE_H
#define PLUMB_SUMMARY_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct plumb_text_column {
    bool left;    /* flush left, as names are; numbers are flush right */
    bool hidden;  /* has cells that no line shows */
    size_t gap;   /* blanks before it, where a column before it is shown */
    size_t width; /* at least; grows with the cells */
    /* A cell wider than this does not widen the column: it moves the rest of its line. 0: no cell
     * is too wide. */
    size_t most;
};

struct plumb_text_table {
    struct plumb_text_column *columns; /* the caller's; their widths are changed */
    size_t column_count;
    struct plumb_buf cells; /* one after another, each followed by a NUL */
    size_t begun;           /* in `cells`: where the cell that is being made begins */
    size_t column;          /* of that cell */
    size_t read;            /* in `cells`: the next cell that is written */
};

void plumb_text_table_init(struct plumb_text_table *t, struct plumb_text_column *columns, size_t n);
void plumb_text_table_fini(struct plumb_text_table *t);

/* Returns the buffer to append the next cell to, which plumb_text_end_cell() ends. The text must be
 * clean: no control characters, no NUL. */
struct plumb_buf *plumb_text_cell(struct plumb_text_table *t);
void plumb_text_end_cell(struct plumb_text_table *t);
/* A whole cell; names are made harmless as plumb_put_left() does. */
void plumb_text_put(struct plumb_text_table *t, const char *text);

/* After the last cell: the width of columns [0, n), with the gaps between them. */
size_t plumb_text_width(const struct plumb_text_table *t, size_t n);
/* Appends the next line, without its first `skip` columns and without blanks at its end: the caller
 * has put something else in their place, plumb_text_width(t, skip) wide. Then a newline. */
void plumb_text_line(struct plumb_text_table *t, size_t skip, struct plumb_buf *out);
/* Appends dashes, as many as the table is wide, and a newline. */
void plumb_text_rule(const struct plumb_text_table *t, struct plumb_buf *out);
/* Takes the next cell for a caller that lays lines out by itself (Markdown). */
const char *plumb_text_next_cell(struct plumb_text_table *t);

#endif
