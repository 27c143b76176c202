/* text.c: the report for people: the summary table, its wide form, the call tree, and what the
 * columns mean. */
#include <string.h>

#include "report/run/devices.h"
#include "report/run/render.h"

enum { MOST_COLUMNS = 40, FOLDS_LISTED = 12 };

struct units {
    const struct plumb_unit *of[MOST_COLUMNS]; /* by column */
};

static struct units units_of(const struct plumb_summary *s, size_t begin, size_t end)
{
    struct units u = {{NULL}};
    size_t n;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    for (size_t i = 0; i < n && i < MOST_COLUMNS; i++)
        if (columns[i].width)
            u.of[i] = plumb_column_unit(&columns[i], s, begin, end);
    return u;
}

static size_t wide_width(const struct plumb_summary *s)
{
    size_t n;
    size_t width = 0;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    for (size_t i = 0; i < n; i++)
        if (columns[i].width)
            width += columns[i].width + 1;
    return width - 1;
}

static void put_rule(struct plumb_buf *out, const struct plumb_summary *s)
{
    size_t width = wide_width(s);
    for (size_t i = 0; i < width; i++)
        plumb_buf_char(out, '-');
    plumb_buf_char(out, '\n');
}

/* A line of the wide table: headings when `row` is NULL. Device columns of a node without device
 * time show a dash: 0.00 would be a measurement. */
static void put_line(struct plumb_buf *out, const struct plumb_summary *s, const struct units *u,
                     const struct plumb_summary_row *row)
{
    size_t n;
    bool first = true;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    for (size_t i = 0; i < n; i++) {
        const struct plumb_column *c = &columns[i];
        if (!c->width)
            continue;
        if (!first)
            plumb_buf_char(out, ' ');
        first = false;
        if (!row)
            plumb_column_title(out, c, u->of[i], c->width);
        else if (row->device_count == 0 && strncmp(c->key, "device_", 7) == 0)
            plumb_put_right(out, strcmp(row->device_times, "launch") == 0 ? "launch" : "-",
                            c->width);
        else
            plumb_column_put(out, c, row, u->of[i], c->width);
    }
    plumb_buf_char(out, '\n');
}

/* TOTAL stands under the totals, in their unit. */
static void put_total(struct plumb_buf *out, const struct plumb_summary *s, const struct units *u,
                      double total_ms)
{
    size_t n;
    size_t i;
    size_t before = 0;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    for (i = 0; i < n && strcmp(columns[i].key, "total_ms") != 0; i++)
        if (columns[i].width)
            before += columns[i].width + 1;
    plumb_put_left(out, "TOTAL", before);
    plumb_put_total(out, u->of[i], total_ms);
}

static void put_wide(struct plumb_buf *out, const struct plumb_summary *s, size_t begin, size_t end)
{
    size_t shown = plumb_summary_shown(s, begin, end);
    struct units u = units_of(s, begin, begin + shown);
    plumb_put_title(out, s, begin, end);
    plumb_buf_char(out, '\n');
    put_line(out, s, &u, NULL);
    put_rule(out, s);
    for (size_t i = begin; i < begin + shown; i++)
        put_line(out, s, &u, &s->rows[i]);
    if (shown < end - begin)
        plumb_buf_printf(out, "(%zu more)\n", end - begin - shown);
    put_rule(out, s);
    put_total(out, s, &u, plumb_summary_total_ms(s, begin, end));
    plumb_put_averages(out, s, begin, end);
}

static void write_wide(const struct plumb_summary *s, struct plumb_buf *out)
{
    size_t end;
    bool several = s->count > 0 && plumb_summary_group_end(s, 0) < s->count;
    if (s->count == 0)
        plumb_buf_str(out, PLUMB_SUMMARY_EMPTY);
    for (size_t begin = 0; begin < s->count; begin = end) {
        end = plumb_summary_group_end(s, begin);
        if (begin > 0)
            plumb_buf_str(out, "\n\n");
        if (several) {
            plumb_buf_str(out, "Pipeline ");
            plumb_put_left(out, s->rows[begin].pipeline, 0);
            plumb_buf_char(out, '\n');
        }
        put_wide(out, s, begin, end);
    }
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
    explain_line(out, "Counts", "what plumb_count() added up, and that over the wall clock");
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
        write_wide(in->summary, out);
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
