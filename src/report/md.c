/* md.c: the report as Markdown, for issues and reviews: the narrow columns as a table, the call
 * tree as a nested list. */
#include <string.h>

#include "report/devices.h"
#include "report/escape.h"
#include "report/render.h"

static bool in_table(const struct plumb_column *c)
{
    static const char *const keys[] = {"node",      "phase",    "count",   "mean_ms",
                                       "median_ms", "p95_ms",   "std_ms",  "min_ms",
                                       "max_ms",    "total_ms", "self_ms", "percent"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], c->key) == 0)
            return true;
    return false;
}

static void put_header(struct plumb_buf *out, const struct plumb_column *columns, size_t n)
{
    plumb_buf_char(out, '|');
    for (size_t i = 0; i < n; i++)
        if (in_table(&columns[i]))
            plumb_buf_printf(out, " %s |", columns[i].title);
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++)
        if (in_table(&columns[i]))
            plumb_buf_str(out, columns[i].type == PLUMB_COLUMN_TEXT ? " :-- |" : " --: |");
}

static void put_row(struct plumb_buf *out, const struct plumb_column *columns, size_t n,
                    const struct plumb_summary_row *row)
{
    plumb_buf_str(out, "\n|");
    for (size_t i = 0; i < n; i++) {
        if (!in_table(&columns[i]))
            continue;
        plumb_buf_char(out, ' ');
        if (columns[i].type == PLUMB_COLUMN_TEXT)
            plumb_put_md(out, plumb_column_text(&columns[i], row));
        else
            plumb_column_put(out, &columns[i], row, 0);
        plumb_buf_str(out, " |");
    }
}

static void render_group(struct plumb_buf *out, const struct plumb_summary *s, size_t begin,
                         size_t end)
{
    size_t n;
    size_t shown = plumb_summary_shown(s, begin, end);
    const struct plumb_column *columns = plumb_columns(&n);
    plumb_buf_str(out, "### ");
    plumb_put_title(out, s, begin, end);
    plumb_buf_str(out, ": ");
    plumb_put_md(out, s->rows[begin].pipeline);
    plumb_buf_str(out, "\n\n");
    put_header(out, columns, n);
    for (size_t i = begin; i < begin + shown; i++)
        put_row(out, columns, n, &s->rows[i]);
    plumb_buf_char(out, '\n');
    if (shown < end - begin)
        plumb_buf_printf(out, "\n(%zu more)\n", end - begin - shown);
    plumb_buf_str(out, "\nTotal: ");
    plumb_put_fixed(out, plumb_summary_total_ms(s, begin, end) / 1000.0, 3, 0);
    plumb_buf_str(out, " s");
    plumb_put_averages(out, s, begin, end);
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
            plumb_put_fixed(out, (double)line->place->total_ns / 1e6, 2, 0);
            plumb_buf_str(out, " ms (");
            plumb_put_fixed(out, line->percent, 1, 0);
            plumb_buf_str(out, " %), self ");
            plumb_put_fixed(out, (double)line->place->self_ns / 1e6, 2, 0);
            plumb_buf_str(out, " ms, ");
            plumb_put_count(out, line->place->count, 0);
            plumb_buf_str(out, " runs");
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
    plumb_devices_write(in, out, true);
}
