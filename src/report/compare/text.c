/* text.c: a comparison for people: the sums of the run, the nodes, the outcome, and the notes on
 * what the figures mean. */
#include <string.h>

#include "report/compare/view.h"
#include "summary/cells.h"
#include "summary/text_table.h"

static void put_name(struct plumb_buf *out, const char *text)
{
    plumb_put_left(out, text, 0);
}

static bool names_a_node(const struct plumb_compare_column *column)
{
    return strcmp(column->key, "pipeline") == 0 || strcmp(column->key, "node") == 0 ||
           strcmp(column->key, "phase") == 0;
}

/* Both tables have these columns, so that the sums stand above the figures of the nodes. Names
 * widen them up to a bound, as in the table of a run, and times as far as they need. */
static void make_columns(const struct plumb_compare_sheet *s,
                         struct plumb_text_column columns[PLUMB_COMPARE_COLUMNS])
{
    size_t n;
    const struct plumb_compare_column *all = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++) {
        /* Without a width, that of its heading: the last column, whose texts may be longer. */
        size_t width = all[i].width ? all[i].width : strlen(all[i].title ? all[i].title : "");
        size_t most = width;
        if (names_a_node(&all[i]))
            most = strcmp(all[i].key, "node") == 0 ? PLUMB_WIDTH_NODE_MOST : PLUMB_WIDTH_NAME_MOST;
        else if (plumb_compare_unit(s, &all[i]))
            most = 0;
        columns[i] = (struct plumb_text_column){.left = all[i].type == PLUMB_CELL_TEXT,
                                                .hidden = !plumb_compare_shows(s, &all[i]),
                                                .gap = all[i].width ? 1 : 2,
                                                .width = width,
                                                .most = most};
    }
}

/* Headings when `line` is NULL. A line of sums has a title where a node has its names. */
static void add_line(const struct plumb_compare_sheet *s, struct plumb_text_table *t,
                     const struct plumb_compare_line *line, bool sums)
{
    size_t n;
    const struct plumb_compare_column *all = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++) {
        struct plumb_buf *cell = plumb_text_cell(t);
        const struct plumb_unit *unit = sums ? NULL : plumb_compare_unit(s, &all[i]);
        struct plumb_buf text = {0};
        if (t->columns[i].hidden || (sums && names_a_node(&all[i])))
            ;
        else if (line)
            plumb_compare_cell_put(&text, s, &all[i], line);
        else if (unit)
            plumb_buf_printf(&text, "%s(%s)", all[i].title, unit->name);
        else
            plumb_buf_str(&text, all[i].title);
        cell->failed |= text.failed;
        plumb_text_put(t, text.data ? text.data : "");
        plumb_buf_fini(&text);
    }
}

/* The columns up to the last that names a node, which are shown before all others. */
static size_t name_count(void)
{
    size_t n, count = 0;
    const struct plumb_compare_column *all = plumb_compare_columns(&n);
    for (size_t i = 0; i < n; i++)
        if (names_a_node(&all[i]))
            count = i + 1;
    return count;
}

static void put_sum(const struct plumb_compare_sheet *s, struct plumb_text_table *t,
                    struct plumb_buf *out, const struct plumb_compare_line *line)
{
    struct plumb_buf title = {0};
    if (line)
        plumb_compare_put_sum(&title, s, line);
    else
        plumb_buf_str(&title, "Whole run");
    out->failed |= title.failed;
    plumb_put_left(out, title.data ? title.data : "", plumb_text_width(t, name_count()));
    plumb_text_line(t, name_count(), out);
    plumb_buf_fini(&title);
}

static void put_tables(const struct plumb_compare_sheet *s, struct plumb_buf *out)
{
    const struct plumb_compare_lines *sums = &s->compare->sums;
    struct plumb_text_column columns[PLUMB_COMPARE_COLUMNS];
    struct plumb_text_table t;
    make_columns(s, columns);
    plumb_text_table_init(&t, columns, PLUMB_COMPARE_COLUMNS);
    add_line(s, &t, NULL, true);
    for (size_t i = 0; i < sums->count; i++)
        add_line(s, &t, &sums->lines[i], true);
    add_line(s, &t, NULL, false);
    for (size_t i = 0; i < s->shown; i++)
        add_line(s, &t, s->nodes[i], false);
    put_sum(s, &t, out, NULL);
    plumb_text_rule(&t, out);
    for (size_t i = 0; i < sums->count; i++)
        put_sum(s, &t, out, &sums->lines[i]);
    plumb_buf_char(out, '\n');
    plumb_text_line(&t, 0, out);
    plumb_text_rule(&t, out);
    for (size_t i = 0; i < s->shown; i++)
        plumb_text_line(&t, 0, out);
    if (s->shown < s->lines)
        plumb_buf_printf(out, "(%zu more)\n", s->lines - s->shown);
    plumb_text_table_fini(&t);
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
    plumb_compare_put_title(out, c);
    plumb_buf_char(out, '\n');
    put_side(s, out, PLUMB_SIDE_A);
    put_side(s, out, PLUMB_SIDE_B);
    plumb_buf_char(out, '\n');
    put_tables(s, out);
    plumb_buf_char(out, '\n');
    plumb_compare_put_outcome(out, c);
    plumb_compare_put_folds(out, s, "\n", put_name);
    put_notes(c, out);
}
