/* md.c: a comparison as Markdown, for a pull request: one table of the sums, one of the
 * nodes. */
#include <string.h>

#include "report/compare/view.h"
#include "report/table/escape.h"

static void put_escaped(struct plumb_buf *out, const struct plumb_buf *text)
{
    out->failed |= text->failed;
    plumb_put_md(out, text->data ? text->data : "");
}

static bool in_table(const struct plumb_compare_sheet *s, const struct plumb_compare_column *column,
                     bool sums)
{
    bool of_nodes = strcmp(column->key, "pipeline") == 0 || strcmp(column->key, "phase") == 0 ||
                    column->when == PLUMB_WHEN_WIDE;
    return plumb_compare_shows(s, column) && !(sums && of_nodes);
}

static void put_heading(const struct plumb_compare_sheet *s,
                        const struct plumb_compare_column *column, bool sums, struct plumb_buf *out)
{
    const struct plumb_unit *unit = sums ? NULL : plumb_compare_unit(s, column);
    bool first = strcmp(column->key, "node") == 0;
    plumb_buf_printf(out, " %s", sums && first ? "Whole run" : column->title);
    if (unit)
        plumb_buf_printf(out, " (%s)", unit->name);
    plumb_buf_str(out, " |");
}

static void put_head(const struct plumb_compare_sheet *s, bool sums, struct plumb_buf *out)
{
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++)
        if (in_table(s, &columns[i], sums))
            put_heading(s, &columns[i], sums, out);
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++)
        if (in_table(s, &columns[i], sums))
            plumb_buf_str(out, columns[i].type == PLUMB_CELL_TEXT ? " :-- |" : " --: |");
}

static void put_cell(const struct plumb_compare_sheet *s, const struct plumb_compare_column *column,
                     const struct plumb_compare_line *line, struct plumb_buf *out)
{
    struct plumb_buf text = {0};
    bool marker = strcmp(column->key, "marker") == 0;
    bool strong = marker && line->main.verdict == PLUMB_VERDICT_WORSE;
    if (line->kind != PLUMB_COMPARE_NODE && strcmp(column->key, "node") == 0)
        plumb_compare_put_sum(&text, s, line);
    else
        plumb_compare_cell_put(&text, s, column, line);
    plumb_buf_str(out, strong ? " **" : " ");
    if (column->type == PLUMB_CELL_TEXT)
        put_escaped(out, &text);
    else
        plumb_buf_str(out, text.data ? text.data : "");
    plumb_buf_str(out, strong ? "** |" : " |");
    plumb_buf_fini(&text);
}

static void put_row(const struct plumb_compare_sheet *s, const struct plumb_compare_line *line,
                    bool sums, struct plumb_buf *out)
{
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++)
        if (in_table(s, &columns[i], sums))
            put_cell(s, &columns[i], line, out);
}

static void put_side(const struct plumb_compare_sheet *s, int side, struct plumb_buf *out)
{
    size_t runs = s->compare->run_count[side];
    plumb_buf_str(out, side == PLUMB_SIDE_A ? "\n- A: " : "\n- B: ");
    plumb_put_md(out, s->labels[side]);
    if (runs > 1)
        plumb_buf_printf(out, " (%zu runs)", runs);
}

static void put_notes(const struct plumb_compare *c, struct plumb_buf *out)
{
    struct plumb_buf notes = {0};
    plumb_compare_notes_write(c, &notes);
    out->failed |= notes.failed;
    for (char *line = notes.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_buf_str(out, "\n- ");
        plumb_put_clean_md(out, line);
    }
    plumb_buf_fini(&notes);
}

void plumb_compare_md(const struct plumb_compare_sheet *s, struct plumb_buf *out)
{
    const struct plumb_compare *c = s->compare;
    plumb_buf_str(out, "### ");
    plumb_compare_put_title(out, c);
    plumb_buf_char(out, '\n');
    put_side(s, PLUMB_SIDE_A, out);
    put_side(s, PLUMB_SIDE_B, out);
    plumb_buf_char(out, '\n');
    put_head(s, true, out);
    for (size_t i = 0; i < c->sums.count; i++)
        put_row(s, &c->sums.lines[i], true, out);
    plumb_buf_char(out, '\n');
    put_head(s, false, out);
    for (size_t i = 0; i < s->shown; i++)
        put_row(s, s->nodes[i], false, out);
    plumb_buf_char(out, '\n');
    if (s->shown < s->lines)
        plumb_buf_printf(out, "\n(%zu more)\n", s->lines - s->shown);
    plumb_buf_char(out, '\n');
    plumb_compare_put_outcome(out, c);
    plumb_buf_char(out, '\n');
    plumb_compare_put_folds(out, s, "\n- ", plumb_put_clean_md);
    put_notes(c, out);
}
