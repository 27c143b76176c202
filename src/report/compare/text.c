/* text.c: a comparison for people: the sums of the run, the nodes, the outcome, and what
 * must be known about it. */
#include <string.h>

#include "report/compare/view.h"
#include "summary/cells.h"

static void put_padded(struct plumb_buf *out, const struct plumb_buf *cell, size_t width,
                       bool is_text)
{
    const char *text = cell->data ? cell->data : "";
    out->failed |= cell->failed;
    if (is_text)
        plumb_put_left(out, text, width);
    else
        plumb_put_right(out, text, width);
}

static void put_name(struct plumb_buf *out, const char *text)
{
    plumb_put_left(out, text, 0);
}

/* Widths of the columns in order. They give way to what is longer, those of names up to a bound, as
 * in the table of a run; what is longer still moves the rest of its line. */
struct widths {
    size_t of[PLUMB_COMPARE_COLUMNS];
};

static bool names_a_node(const struct plumb_compare_column *column)
{
    return strcmp(column->key, "pipeline") == 0 || strcmp(column->key, "node") == 0 ||
           strcmp(column->key, "phase") == 0;
}

/* Room for the times of the line. */
static void widen(const struct plumb_compare_sheet *s, struct widths *w,
                  const struct plumb_compare_line *line)
{
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++) {
        struct plumb_buf cell = {0};
        if (!plumb_compare_unit(s, &columns[i]) || !plumb_compare_shows(s, &columns[i]))
            continue;
        plumb_compare_cell_put(&cell, s, &columns[i], line);
        w->of[i] = cell.len > w->of[i] ? cell.len : w->of[i];
        plumb_buf_fini(&cell);
    }
}

static struct widths widths_of(const struct plumb_compare_sheet *s)
{
    struct widths w = {{0}};
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++) {
        size_t most =
            strcmp(columns[i].key, "node") == 0 ? PLUMB_WIDTH_NODE_MOST : PLUMB_WIDTH_NAME_MOST;
        w.of[i] = columns[i].width;
        for (size_t k = 0; k < s->shown && names_a_node(&columns[i]); k++)
            w.of[i] = plumb_width_for(w.of[i], columns[i].text(s->nodes[k]), most);
    }
    for (size_t k = 0; k < s->compare->sums.count; k++)
        widen(s, &w, &s->compare->sums.lines[k]);
    for (size_t k = 0; k < s->shown; k++)
        widen(s, &w, s->nodes[k]);
    return w;
}

/* Width of the columns that name a node: a sum's title spans them. */
static size_t name_width(const struct plumb_compare_sheet *s, const struct widths *w)
{
    size_t n;
    size_t width = 0;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++)
        if (names_a_node(&columns[i]) && plumb_compare_shows(s, &columns[i]))
            width += w->of[i] + 1;
    return width - 1;
}

/* The heading when `line` is NULL. */
static void put_cell(const struct plumb_compare_sheet *s, struct plumb_buf *out,
                     const struct plumb_compare_column *column,
                     const struct plumb_compare_line *line, bool sums, size_t width)
{
    struct plumb_buf cell = {0};
    const struct plumb_unit *unit = sums ? NULL : plumb_compare_unit(s, column);
    if (line)
        plumb_compare_cell_put(&cell, s, column, line);
    else if (unit)
        plumb_buf_printf(&cell, "%s(%s)", column->title, unit->name);
    else
        plumb_buf_str(&cell, column->title);
    put_padded(out, &cell, width, column->type == PLUMB_CELL_TEXT);
    plumb_buf_fini(&cell);
}

static void trim_end(struct plumb_buf *out)
{
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
}

static void put_title(const struct plumb_compare_sheet *s, struct plumb_buf *out,
                      const struct plumb_compare_line *line, bool sums, size_t width)
{
    struct plumb_buf title = {0};
    if (line)
        plumb_compare_put_sum(&title, s, line);
    else
        plumb_buf_str(&title, sums ? "Whole run" : "");
    put_padded(out, &title, width, true);
    plumb_buf_fini(&title);
}

/* Headings when `line` is NULL. */
static void put_line(const struct plumb_compare_sheet *s, const struct widths *w,
                     struct plumb_buf *out, const struct plumb_compare_line *line, bool sums)
{
    size_t n;
    bool first = true;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    if (sums)
        put_title(s, out, line, sums, name_width(s, w));
    for (size_t i = 0; i < n; i++) {
        const struct plumb_compare_column *column = &columns[i];
        if (!plumb_compare_shows(s, column) || (sums && names_a_node(column)))
            continue;
        if (!first || sums)
            plumb_buf_str(out, column->width == 0 ? "  " : " ");
        first = false;
        put_cell(s, out, column, line, sums, w->of[i]);
    }
    trim_end(out);
    plumb_buf_char(out, '\n');
}

static void put_rule(const struct plumb_compare_sheet *s, const struct widths *w,
                     struct plumb_buf *out)
{
    size_t n;
    size_t width = strlen("Marker");
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++)
        if (plumb_compare_shows(s, &columns[i]))
            width += w->of[i] + 1;
    while (width-- > 0)
        plumb_buf_char(out, '-');
    plumb_buf_char(out, '\n');
}

static void put_side(const struct plumb_compare_sheet *s, struct plumb_buf *out, int side)
{
    size_t runs = s->compare->run_count[side];
    plumb_buf_str(out, side == PLUMB_SIDE_A ? "A: " : "B: ");
    plumb_put_left(out, s->labels[side], 0);
    if (runs > 1)
        plumb_buf_printf(out, " (%zu runs)", runs);
    plumb_buf_char(out, '\n');
}

static void put_notes(const struct plumb_compare *c, struct plumb_buf *out)
{
    struct plumb_buf notes = {0};
    plumb_compare_notes_write(c, &notes);
    out->failed |= notes.failed;
    for (char *line = notes.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_buf_printf(out, "\nNote: %s", line);
    }
    plumb_buf_fini(&notes);
}

void plumb_compare_text(const struct plumb_compare_sheet *s, struct plumb_buf *out)
{
    const struct plumb_compare *c = s->compare;
    struct widths w = widths_of(s);
    plumb_compare_put_title(out, c);
    plumb_buf_char(out, '\n');
    put_side(s, out, PLUMB_SIDE_A);
    put_side(s, out, PLUMB_SIDE_B);
    plumb_buf_char(out, '\n');
    put_line(s, &w, out, NULL, true);
    put_rule(s, &w, out);
    for (size_t i = 0; i < c->sums.count; i++)
        put_line(s, &w, out, &c->sums.lines[i], true);
    plumb_buf_char(out, '\n');
    put_line(s, &w, out, NULL, false);
    put_rule(s, &w, out);
    for (size_t i = 0; i < s->shown; i++)
        put_line(s, &w, out, s->nodes[i], false);
    if (s->shown < s->lines)
        plumb_buf_printf(out, "(%zu more)\n", s->lines - s->shown);
    plumb_buf_char(out, '\n');
    plumb_compare_put_outcome(out, c);
    plumb_compare_put_folds(out, s, "\n", put_name);
    put_notes(c, out);
}
