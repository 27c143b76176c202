/* grid.c: see grid.h. */
#include "report/table/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "codec/json_write.h"
#include "report/table/escape.h"
#include "summary/cells.h"
#include "summary/text_table.h"

/* ---- Cells ----------------------------------------------------------------------------------- */

void plumb_grid_init(struct plumb_grid *g, const struct plumb_grid_column *columns, size_t n)
{
    *g = (struct plumb_grid){.columns = columns, .column_count = n};
}

void plumb_grid_fini(struct plumb_grid *g)
{
    free(g->cells);
    plumb_arena_fini(&g->copies);
    *g = (struct plumb_grid){.columns = NULL};
}

static void add(struct plumb_grid *g, struct plumb_grid_cell cell)
{
    if (g->count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 64;
        struct plumb_grid_cell *cells =
            cap > SIZE_MAX / sizeof *cells ? NULL : realloc(g->cells, cap * sizeof *cells);
        if (!cells) {
            g->failed = true;
            return;
        }
        g->cells = cells;
        g->cap = cap;
    }
    g->cells[g->count++] = cell;
}

void plumb_grid_none(struct plumb_grid *g)
{
    add(g, (struct plumb_grid_cell){.is = PLUMB_CELL_NONE});
}

void plumb_grid_nones(struct plumb_grid *g, int n)
{
    while (n-- > 0)
        plumb_grid_none(g);
}

void plumb_grid_text(struct plumb_grid *g, const char *text)
{
    add(g, (struct plumb_grid_cell){.is = text ? PLUMB_CELL_STRING : PLUMB_CELL_NONE,
                                    .value.text = text});
}

void plumb_grid_copy(struct plumb_grid *g, const char *text)
{
    const char *copy = plumb_arena_strdup(&g->copies, text);
    g->failed |= copy == NULL;
    plumb_grid_text(g, copy);
}

void plumb_grid_whole(struct plumb_grid *g, uint64_t value)
{
    add(g, (struct plumb_grid_cell){.is = PLUMB_CELL_WHOLE, .value.whole = value});
}

void plumb_grid_signed(struct plumb_grid *g, int64_t value)
{
    add(g, (struct plumb_grid_cell){.is = PLUMB_CELL_SIGNED, .value.with_sign = value});
}

void plumb_grid_real(struct plumb_grid *g, double value)
{
    add(g, (struct plumb_grid_cell){.is = isnan(value) ? PLUMB_CELL_NONE : PLUMB_CELL_REAL,
                                    .value.real = value});
}

size_t plumb_grid_rows(const struct plumb_grid *g)
{
    return g->count / g->column_count;
}

static const struct plumb_grid_cell *cell_at(const struct plumb_grid *g, size_t row, size_t column)
{
    return &g->cells[row * g->column_count + column];
}

static double number_of(const struct plumb_grid_cell *cell)
{
    return cell->is == PLUMB_CELL_REAL     ? cell->value.real
           : cell->is == PLUMB_CELL_SIGNED ? (double)cell->value.with_sign
                                           : (double)cell->value.whole;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Appends the cell as a table shows it, with names escaped; nothing for a missing value. */
static void put_cell(struct plumb_buf *out, enum plumb_grid_type type,
                     const struct plumb_grid_cell *cell)
{
    if (cell->is == PLUMB_CELL_NONE)
        return;
    switch (type) {
    case PLUMB_GRID_TEXT:
        plumb_put_left(out, cell->value.text, 0);
        break;
    case PLUMB_GRID_FLAG:
        plumb_buf_str(out, cell->value.whole ? "yes" : "no");
        break;
    case PLUMB_GRID_COUNT:
        plumb_put_count(out, cell->value.whole, 0);
        break;
    case PLUMB_GRID_BYTES:
        plumb_put_fixed(out, number_of(cell) / 1048576, 2, 0);
        break;
    case PLUMB_GRID_NS:
        plumb_put_fixed(out, number_of(cell) / 1e6, 2, 0);
        break;
    case PLUMB_GRID_PERCENT:
        plumb_put_fixed(out, number_of(cell), 1, 0);
        break;
    case PLUMB_GRID_US:
        plumb_put_fixed(out, number_of(cell) / 1e3, 1, 0);
        break;
    case PLUMB_GRID_WHOLE:
        plumb_buf_printf(out, "%" PRId64, cell->value.with_sign);
        break;
    case PLUMB_GRID_MILLI:
        plumb_put_fixed(out, number_of(cell), 3, 0);
        break;
    case PLUMB_GRID_FIGURE:
        if (cell->is == PLUMB_CELL_STRING)
            plumb_put_left(out, cell->value.text, 0);
        else
            plumb_put_figure(out, number_of(cell));
        break;
    }
}

bool plumb_grid_shows(const struct plumb_grid *g, size_t column)
{
    for (size_t row = 0; row < plumb_grid_rows(g); row++)
        if (cell_at(g, row, column)->is != PLUMB_CELL_NONE)
            return true;
    return false;
}

static bool is_left(const struct plumb_grid_column *c)
{
    return c->type == PLUMB_GRID_TEXT;
}

struct layout {
    struct plumb_text_table table; /* headings first */
    struct plumb_text_column *columns;
    size_t lines;
};

/* False: out of memory. */
static bool lay_out(struct layout *l, const struct plumb_grid *g)
{
    size_t rows = plumb_grid_rows(g);
    *l = (struct layout){.columns = calloc(g->column_count, sizeof *l->columns)};
    if (g->failed || !l->columns)
        return false;
    for (size_t c = 0; c < g->column_count; c++)
        l->columns[c] = (struct plumb_text_column){
            .left = is_left(&g->columns[c]), .hidden = !plumb_grid_shows(g, c), .gap = 2};
    plumb_text_table_init(&l->table, l->columns, g->column_count);
    for (size_t c = 0; c < g->column_count; c++)
        plumb_text_put(&l->table, g->columns[c].title);
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < g->column_count; c++) {
            put_cell(plumb_text_cell(&l->table), g->columns[c].type, cell_at(g, row, c));
            plumb_text_end_cell(&l->table);
        }
    l->lines = rows + 1;
    return !l->table.cells.failed;
}

static void drop(struct layout *l)
{
    plumb_text_table_fini(&l->table);
    free(l->columns);
}

void plumb_grid_write(const struct plumb_grid *g, struct plumb_buf *out)
{
    struct layout l;
    bool good = lay_out(&l, g);
    out->failed |= !good;
    for (size_t line = 0; good && line < l.lines; line++) {
        plumb_text_line(&l.table, 0, out);
        if (line == 0)
            plumb_text_rule(&l.table, out);
    }
    if (good && !out->failed)
        out->data[--out->len] = '\0'; /* the last newline */
    drop(&l);
}

void plumb_grid_md(const struct plumb_grid *g, struct plumb_buf *out)
{
    struct layout l;
    bool good = lay_out(&l, g);
    out->failed |= !good;
    for (size_t line = 0; good && line < l.lines; line++) {
        plumb_buf_str(out, line > 0 ? "\n|" : "|");
        for (size_t c = 0; c < g->column_count; c++) {
            const char *text = plumb_text_next_cell(&l.table);
            if (l.columns[c].hidden)
                continue;
            plumb_buf_char(out, ' ');
            plumb_put_clean_md(out, text);
            plumb_buf_str(out, " |");
        }
        if (line > 0)
            continue;
        plumb_buf_str(out, "\n|");
        for (size_t c = 0; c < g->column_count; c++)
            if (!l.columns[c].hidden)
                plumb_buf_str(out, is_left(&g->columns[c]) ? " :-- |" : " --: |");
    }
    drop(&l);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_field(struct plumb_buf *out, const struct plumb_grid_cell *cell)
{
    struct plumb_json json; /* JSON's numbers are CSV's too */
    switch (cell->is) {
    case PLUMB_CELL_NONE:
        break;
    case PLUMB_CELL_STRING:
        plumb_put_csv(out, cell->value.text);
        break;
    case PLUMB_CELL_WHOLE:
        plumb_buf_printf(out, "%" PRIu64, cell->value.whole);
        break;
    case PLUMB_CELL_SIGNED:
        plumb_buf_printf(out, "%" PRId64, cell->value.with_sign);
        break;
    case PLUMB_CELL_REAL:
        plumb_json_init(&json, out, 0);
        plumb_json_f64(&json, cell->value.real);
        break;
    }
}

void plumb_grid_csv(const struct plumb_grid *g, struct plumb_buf *out)
{
    for (size_t c = 0; c < g->column_count; c++)
        plumb_buf_printf(out, "%s%s", c ? "," : "", g->columns[c].key);
    for (size_t row = 0; row < plumb_grid_rows(g); row++)
        for (size_t c = 0; c < g->column_count; c++) {
            plumb_buf_char(out, c ? ',' : '\n');
            put_field(out, cell_at(g, row, c));
        }
    out->failed |= g->failed;
}
