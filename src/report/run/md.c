/* md.c: the report as Markdown, for issues and reviews: the narrow columns as a table, the call
 * tree as a nested list. */
#include <string.h>

#include "report/run/devices.h"
#include "report/run/render.h"
#include "report/table/escape.h"

static bool in_table(const struct plumb_column *c)
{
    static const char *const keys[] = {
        "node",      "phase",        "count",      "mean_ms",  "median_ms", "p95_ms",
        "std_ms",    "min_ms",       "max_ms",     "total_ms", "self_ms",   "percent",
        "on_cpu_ms", "preempted_ms", "blocked_ms", "switches", "migrations"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], c->key) == 0)
            return true;
    return false;
}

enum { MOST_COLUMNS = 40, FOLDS_LISTED = 12 };

struct units {
    const struct plumb_unit *of[MOST_COLUMNS]; /* by column */
};

static void put_header(struct plumb_buf *out, const struct plumb_column *columns, size_t n,
                       const struct units *u)
{
    plumb_buf_char(out, '|');
    for (size_t i = 0; i < n; i++)
        if (in_table(&columns[i])) {
            plumb_buf_char(out, ' ');
            plumb_column_title(out, &columns[i], u->of[i]);
            plumb_buf_str(out, " |");
        }
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++)
        if (in_table(&columns[i]))
            plumb_buf_str(out, columns[i].type == PLUMB_COLUMN_TEXT ? " :-- |" : " --: |");
}

static void put_row(struct plumb_buf *out, const struct plumb_column *columns, size_t n,
                    const struct units *u, const struct plumb_summary_row *row)
{
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++) {
        if (!in_table(&columns[i]))
            continue;
        plumb_buf_char(out, ' ');
        if (columns[i].type == PLUMB_COLUMN_TEXT)
            plumb_put_md(out, plumb_column_text(&columns[i], row));
        else
            plumb_column_put(out, &columns[i], row, u->of[i]);
        plumb_buf_str(out, " |");
    }
}

static void render_group(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                         size_t end)
{
    size_t n;
    size_t shown = plumb_summary_shown(s, begin, end);
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    struct units u = {{NULL}};
    for (size_t i = 0; i < n && i < MOST_COLUMNS; i++)
        u.of[i] = plumb_column_unit(&columns[i], s, begin, begin + shown);
    plumb_buf_str(out, "### ");
    plumb_put_title(out, s, begin, end);
    plumb_buf_str(out, ": ");
    plumb_put_md(out, s->rows[begin].pipeline);
    plumb_buf_str(out, "\n\n");
    put_header(out, columns, n, &u);
    for (size_t i = begin; i < begin + shown; i++)
        put_row(out, columns, n, &u, &s->rows[i]);
    plumb_buf_char(out, '\n');
    if (shown < end - begin)
        plumb_buf_printf(out, "\n(%zu more)\n", end - begin - shown);
    plumb_buf_str(out, "\nTotal: ");
    plumb_put_fixed(out, plumb_summary_total_ms(s, begin, end) / 1000.0, 3, 0);
    plumb_buf_str(out, " s");
    plumb_put_averages(out, s, begin, end);
}

/* In ms, unless that would lose digits. */
static void put_time(struct plumb_buf *out, uint64_t total_ns)
{
    double ns = (double)total_ns;
    const struct plumb_unit *unit = plumb_unit_for(PLUMB_TIME_IN_AUTO, PLUMB_TIME_IN_MS, &ns, 1);
    plumb_unit_put(out, unit, ns, 0);
    plumb_buf_printf(out, " %s", unit->name);
}

static void render_tree(const struct plumb_tree_view *tree, struct plumb_buf *out)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct plumb_tree_line *line = &tree->lines[i];
        for (uint32_t k = 0; k < line->depth && k < 100; k++)
            plumb_buf_str(out, "  ");
        if (line->place) {
            plumb_buf_str(out, "- ");
            plumb_put_md(out, line->node->name);
            plumb_buf_str(out, line->place->async ? " (async)" : "");
            if (line->switched) {
                plumb_buf_str(out, " (");
                plumb_put_md(out, line->node->pipeline);
                plumb_buf_str(out, ", ");
                plumb_put_md(out, line->node->phase);
                plumb_buf_char(out, ')');
            }
            plumb_buf_str(out, ": ");
            put_time(out, line->place->total_ns);
            plumb_buf_str(out, " (");
            plumb_put_fixed(out, line->percent, 1, 0);
            plumb_buf_str(out, " %), self ");
            put_time(out, line->place->self_ns);
            plumb_buf_str(out, ", ");
            plumb_put_count(out, line->place->count, 0);
            plumb_buf_str(out, " runs");
            plumb_tree_put_over(out, line);
        } else {
            plumb_buf_printf(out, "- (%zu more)", line->hidden);
        }
        if (i + 1 < tree->count)
            plumb_buf_char(out, '\n');
    }
}

void plumb_render_md(const struct plumb_render_input *in, struct plumb_buf *out)
{
    const struct plumb_summary *s = in->summary;
    size_t end;
    if (in->options->tree && in->tree->count > 0) {
        render_tree(in->tree, out);
        if (in->fold)
            plumb_fold_put(out, in->fold, in->options->summary.pipeline, in->options->summary.phase,
                           FOLDS_LISTED);
        return;
    }
    if (s->count == 0)
        plumb_buf_str(out, PLUMB_SUMMARY_EMPTY);
    for (size_t begin = 0; begin < s->count; begin = end) {
        end = plumb_summary_group_end(s, begin);
        if (begin > 0)
            plumb_buf_str(out, "\n\n");
        render_group(out, s, begin, end);
    }
    if (in->fold)
        plumb_fold_put(out, in->fold, in->options->summary.pipeline, in->options->summary.phase,
                       FOLDS_LISTED);
    plumb_devices_write(in, out, true);
}
