/* grid.h: a table of any columns: as fixed-width text, Markdown or CSV. One grid at a time; any
 * thread. Texts are not copied, except by _copy(): they must live as long as the grid.
 *
 *     struct plumb_grid g;
 *     plumb_grid_init(&g, columns, 3);
 *     plumb_grid_text(&g, name);            cells go from left to right, row by row
 *     plumb_grid_whole(&g, count);
 *     plumb_grid_none(&g);
 *     plumb_grid_write(&g, out);
 *     plumb_grid_fini(&g); */
#ifndef PLUMB_REPORT_TABLE_GRID_H
#define PLUMB_REPORT_TABLE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum plumb_grid_type {
    PLUMB_GRID_TEXT,
    PLUMB_GRID_COUNT,
    PLUMB_GRID_BYTES,   /* tables have MiB with two decimals, CSV has bytes */
    PLUMB_GRID_NS,      /* tables have ms with two decimals, CSV has ns */
    PLUMB_GRID_PERCENT, /* one decimal */
    PLUMB_GRID_FLAG,    /* yes, no; CSV: 1, 0 */
    PLUMB_GRID_US,      /* tables have us with one decimal, CSV has ns */
    PLUMB_GRID_WHOLE,   /* tables have whole numbers, with their sign */
    PLUMB_GRID_FIGURE,  /* six digits that count; a text in its place is shown as it is */
    PLUMB_GRID_MILLI    /* three decimals */
};

struct plumb_grid_column {
    const char *key;   /* of CSV; never changes */
    const char *title; /* of tables */
    enum plumb_grid_type type;
    const char *help; /* what it means; NULL: its title says it */
};

struct plumb_grid_cell {
    enum {
        PLUMB_CELL_NONE,
        PLUMB_CELL_STRING,
        PLUMB_CELL_WHOLE,
        PLUMB_CELL_SIGNED,
        PLUMB_CELL_REAL
    } is;
    union {
        const char *text;
        uint64_t whole;
        int64_t with_sign;
        double real;
    } value;
};

struct plumb_grid {
    const struct plumb_grid_column *columns;
    size_t column_count;
    struct plumb_grid_cell *cells;
    size_t count, cap; /* cells */
    struct plumb_arena copies;
    bool failed; /* out of memory: what is written then says so in its buffer */
};

void plumb_grid_init(struct plumb_grid *g, const struct plumb_grid_column *columns, size_t n);
void plumb_grid_fini(struct plumb_grid *g);

void plumb_grid_none(struct plumb_grid *g);
void plumb_grid_nones(struct plumb_grid *g, int n);
void plumb_grid_text(struct plumb_grid *g, const char *text); /* NULL: none */
void plumb_grid_copy(struct plumb_grid *g, const char *text); /* of a text that does not live on */
void plumb_grid_whole(struct plumb_grid *g, uint64_t value);
void plumb_grid_signed(struct plumb_grid *g, int64_t value);
void plumb_grid_real(struct plumb_grid *g, double value); /* NaN: none */
size_t plumb_grid_rows(const struct plumb_grid *g);

/* Whether tables have the column: a column without a value in any row is left out. */
bool plumb_grid_shows(const struct plumb_grid *g, size_t column);
/* Each appends lines, without a newline at the end. CSV has every column. */
void plumb_grid_write(const struct plumb_grid *g, struct plumb_buf *out);
void plumb_grid_md(const struct plumb_grid *g, struct plumb_buf *out);
void plumb_grid_csv(const struct plumb_grid *g, struct plumb_buf *out);

#endif
