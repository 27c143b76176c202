/* text.c: the report for people: the summary table, its wide form, the call tree, and what the
 * columns mean. */
#include <string.h>

#include "report/run/devices.h"
#include "report/run/render.h"
#include "summary/text_table.h"

enum { MOST_COLUMNS = 40, FOLDS_LISTED = 12 };

/* The columns that the wide table has, of those of a row. */
static size_t choose_columns(const struct plumb_summary *s, const struct plumb_column **chosen,
                             struct plumb_text_column *columns)
{
    size_t n, count = 0;
    const struct plumb_column *all = plumb_columns_wide(s, &n);
    for (size_t i = 0; i < n && count < MOST_COLUMNS; i++) {
        if (!all[i].width)
            continue;
        chosen[count] = &all[i];
        columns[count++] = (struct plumb_text_column){.left = all[i].type == PLUMB_COLUMN_TEXT,
                                                      .gap = 1,
                                                      .width = all[i].width,
                                                      .most = all[i].width};
    }
    return count;
}

/* Device columns of a node without device time show a dash: 0.00 would be a measurement. */
static void add_cell(struct plumb_text_table *t, const struct plumb_column *c,
                     const struct plumb_summary_row *row, const struct plumb_unit *unit)
{
    struct plumb_buf *cell = plumb_text_cell(t);
    if (row->device_count == 0 && strncmp(c->key, "device_", 7) == 0)
        plumb_buf_str(cell, strcmp(row->device_times, "launch") == 0 ? "launch" : "-");
    else
        plumb_column_put(cell, c, row, unit);
    plumb_text_end_cell(t);
}

/* TOTAL stands below the totals, in their unit. */
static void put_total(struct plumb_buf *out, const struct plumb_text_table *t,
                      const struct plumb_column *const *chosen,
                      const struct plumb_unit *const *units, double total_ms)
{
    size_t i = 0;
    while (strcmp(chosen[i]->key, "total_ms") != 0)
        i++;
    plumb_put_left(out, "TOTAL", plumb_text_width(t, i) + 1);
    plumb_put_total(out, units[i], total_ms);
}

static void put_wide(struct plumb_buf *out, const struct plumb_summary *s, size_t begin, size_t end)
{
    size_t shown = plumb_summary_shown(s, begin, end);
    const struct plumb_column *chosen[MOST_COLUMNS];
    const struct plumb_unit *units[MOST_COLUMNS];
    struct plumb_text_column columns[MOST_COLUMNS];
    struct plumb_text_table t;
    size_t n = choose_columns(s, chosen, columns);
    plumb_text_table_init(&t, columns, n);
    for (size_t c = 0; c < n; c++) {
        units[c] = plumb_column_unit(chosen[c], s, begin, begin + shown);
        plumb_column_title(plumb_text_cell(&t), chosen[c], units[c]);
        plumb_text_end_cell(&t);
    }
    for (size_t i = begin; i < begin + shown; i++)
        for (size_t c = 0; c < n; c++)
            add_cell(&t, chosen[c], &s->rows[i], units[c]);
    plumb_put_title(out, s, begin, end);
    plumb_buf_char(out, '\n');
    plumb_text_line(&t, 0, out);
    plumb_text_rule(&t, out);
    for (size_t i = begin; i < begin + shown; i++)
        plumb_text_line(&t, 0, out);
    if (shown < end - begin)
        plumb_buf_printf(out, "(%zu more)\n", end - begin - shown);
    plumb_text_rule(&t, out);
    put_total(out, &t, chosen, units, plumb_summary_total_ms(s, begin, end));
    plumb_put_averages(out, s, begin, end);
    plumb_text_table_fini(&t);
}

static void explain_line(struct plumb_buf *out, const char *title, const char *help)
{
    plumb_buf_str(out, "\n  ");
    plumb_put_left(out, title, 12);
    plumb_buf_str(out, help);
}

static void explain_table(struct plumb_buf *out, const struct plumb_summary *s, bool wide)
{
    static const char *const narrow[] = {"node",   "phase",  "count",     "mean_ms", "std_ms",
                                         "min_ms", "max_ms", "median_ms", "total_ms"};
    size_t n;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    plumb_buf_str(out, "\n\nColumns");
    for (size_t i = 0; i < n; i++) {
        bool shown = wide && columns[i].width;
        for (size_t k = 0; k < sizeof narrow / sizeof *narrow && !shown; k++)
            shown = strcmp(narrow[k], columns[i].key) == 0;
        if (shown)
            explain_line(out, columns[i].title, columns[i].help);
    }
    explain_line(out, "TOTAL", "time of outermost runs: nested nodes are not counted twice");
    explain_line(out, "Average",
                 "time of a phase / frames: --frames minus skip_first_n in a table of one phase; "
                 "otherwise the runs of its loop, the outermost nodes that ran more than once and "
                 "equally often; left out where there is no such loop");
    explain_line(out, "Counts", "what plumb_counter_add() added up, and that over the wall clock");
    explain_line(out, "Folded", "nodes that differ in a number alone, shown as one: --fold=off");
}

static void explain_tree(struct plumb_buf *out)
{
    plumb_buf_str(out, "\n\nColumns");
    explain_line(out, "Count", "samples of the node in this place, below these parents");
    explain_line(out, "Total(ms)", "sum of its runs here, nested nodes included");
    explain_line(out, "Self(ms)", "the same without the nodes nested in it");
    explain_line(out, "%", "total in the sum of the outermost nodes");
    explain_line(out, "[children]",
                 "more time than what is around them: they ran on several threads at once");
    explain_line(out, "(async)", "begun and ended apart: overlaps others, has no self time");
}

void plumb_render_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    if (in->options->tree)
        plumb_tree_write(in->tree, out);
    else if (in->options->wide)
        plumb_summary_put_groups(out, in->summary, put_wide);
    else
        plumb_summary_write(in->summary, out);
    if (!in->options->tree)
        plumb_put_counts(out, in->whole, &in->options->summary);
    if (in->fold)
        plumb_fold_put(out, in->fold, in->options->summary.pipeline, in->options->summary.phase,
                       FOLDS_LISTED);
    if (in->options->explain && in->options->tree)
        explain_tree(out);
    else if (in->options->explain)
        explain_table(out, in->summary, in->options->wide);
    if (!in->options->tree)
        plumb_devices_write(in, out, false);
}
