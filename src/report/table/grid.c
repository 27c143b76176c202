/* grid.c: see grid.h. */
#include "report/table/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "codec/json_write.h"
#include "report/table/escape.h"
#include "summary/cells.h"

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

/* What a table shows, names made harmless; nothing for no value. */
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

static size_t characters(const char *text)
{
    size_t n = 0;
    for (size_t bytes; *text; text += bytes, n++)
        if ((bytes = plumb_utf8_sequence(text)) == 0)
            bytes = 1;
    return n;
}

/* Appends `text`, which is clean, in a field of `width`. */
static void pad(struct plumb_buf *out, const char *text, size_t width, bool left, bool last)
{
    size_t n = characters(text);
    for (size_t i = n; i < width && !left; i++)
        plumb_buf_char(out, ' ');
    plumb_buf_str(out, text);
    for (size_t i = n; i < width && left && !last; i++)
        plumb_buf_char(out, ' ');
}

struct layout {
    struct plumb_buf *cells; /* as text; headings first */
    size_t *widths;          /* 0: not shown */
    size_t columns, rows, last;
};

static const char *text_at(const struct layout *l, size_t line, size_t column)
{
    const struct plumb_buf *b = &l->cells[line * l->columns + column];
    return b->data ? b->data : "";
}

static bool lay_out(struct layout *l, const struct plumb_grid *g)
{
    l->columns = g->column_count;
    l->rows = plumb_grid_rows(g);
    l->cells = calloc((l->rows + 1) * l->columns, sizeof *l->cells);
    l->widths = calloc(l->columns, sizeof *l->widths);
    if (g->failed || !l->cells || !l->widths)
        return false;
    for (size_t c = 0; c < l->columns; c++) {
        if (!plumb_grid_shows(g, c))
            continue;
        l->last = c;
        plumb_buf_str(&l->cells[c], g->columns[c].title);
        for (size_t row = 0; row < l->rows; row++)
            put_cell(&l->cells[(row + 1) * l->columns + c], g->columns[c].type, cell_at(g, row, c));
        for (size_t line = 0; line <= l->rows; line++) {
            size_t n = characters(text_at(l, line, c));
            if (l->cells[line * l->columns + c].failed)
                return false;
            l->widths[c] = n > l->widths[c] ? n : l->widths[c];
        }
    }
    return true;
}

static void drop(struct layout *l)
{
    for (size_t i = 0; l->cells && i < (l->rows + 1) * l->columns; i++)
        plumb_buf_fini(&l->cells[i]);
    free(l->cells);
    free(l->widths);
}

static void put_rule(struct plumb_buf *out, const struct layout *l)
{
    size_t width = 0;
    for (size_t c = 0; c < l->columns; c++)
        if (l->widths[c] > 0)
            width += l->widths[c] + (width > 0 ? 2 : 0);
    plumb_buf_char(out, '\n');
    for (size_t i = 0; i < width; i++)
        plumb_buf_char(out, '-');
}

void plumb_grid_write(const struct plumb_grid *g, struct plumb_buf *out)
{
    struct layout l = {.cells = NULL};
    if (!lay_out(&l, g))
        out->failed = true;
    for (size_t line = 0; line <= l.rows && !out->failed; line++) {
        bool first = true;
        if (line > 0)
            plumb_buf_char(out, '\n');
        for (size_t c = 0; c < l.columns; c++) {
            if (l.widths[c] == 0)
                continue;
            plumb_buf_str(out, first ? "" : "  ");
            pad(out, text_at(&l, line, c), l.widths[c], is_left(&g->columns[c]), c == l.last);
            first = false;
        }
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->data[--out->len] = '\0';
        if (line == 0)
            put_rule(out, &l);
    }
    drop(&l);
}

void plumb_grid_md(const struct plumb_grid *g, struct plumb_buf *out)
{
    struct layout l = {.cells = NULL};
    if (!lay_out(&l, g))
        out->failed = true;
    for (size_t line = 0; line <= l.rows && !out->failed; line++) {
        plumb_buf_str(out, line > 0 ? "\n|" : "|");
        for (size_t c = 0; c < l.columns; c++) {
            if (l.widths[c] == 0)
                continue;
            plumb_buf_char(out, ' ');
            plumb_put_clean_md(out, text_at(&l, line, c));
            plumb_buf_str(out, " |");
        }
        if (line > 0)
            continue;
        plumb_buf_str(out, "\n|");
        for (size_t c = 0; c < l.columns; c++)
            if (l.widths[c] > 0)
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
