/* csv.c: the report as CSV (RFC 4180): a header with stable names, then a line for each row,
 * numbers in full precision. Sums are left to the reader. */
#include <inttypes.h>
#include <string.h>

#include "report/run/render.h"
#include "report/table/escape.h"

static void put_row(struct plumb_buf *out, const struct plumb_column *columns, size_t n,
                    const struct plumb_summary_row *row)
{
    struct plumb_json json;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            plumb_buf_char(out, ',');
        if (columns[i].type == PLUMB_COLUMN_TEXT || columns[i].type == PLUMB_COLUMN_ESTIMATOR) {
            plumb_put_csv(out, plumb_column_text(&columns[i], row));
        } else { /* JSON's numbers are CSV's too */
            plumb_json_init(&json, out, 0);
            plumb_column_json(&json, &columns[i], row);
        }
    }
}

static void render_rows(const struct plumb_summary *s, struct plumb_buf *out)
{
    size_t n;
    size_t end;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    for (size_t i = 0; i < n; i++)
        plumb_buf_printf(out, "%s%s", i ? "," : "", columns[i].key);
    for (size_t begin = 0; begin < s->count; begin = end) {
        end = plumb_summary_group_end(s, begin);
        size_t shown = plumb_summary_shown(s, begin, end);
        for (size_t i = begin; i < begin + shown; i++) {
            plumb_buf_char(out, '\n');
            put_row(out, columns, n, &s->rows[i]);
        }
    }
}

static void render_tree(const struct plumb_tree_view *tree, struct plumb_buf *out)
{
    plumb_buf_str(out, "depth,pipeline,phase,node,async,count,total_ms,self_ms,percent");
    for (size_t i = 0; i < tree->count; i++) {
        const struct plumb_tree_line *line = &tree->lines[i];
        if (!line->place)
            continue;
        plumb_buf_printf(out, "\n%u,", (unsigned)line->depth);
        plumb_put_csv(out, line->node->pipeline);
        plumb_buf_char(out, ',');
        plumb_put_csv(out, line->node->phase);
        plumb_buf_char(out, ',');
        plumb_put_csv(out, line->node->name);
        plumb_buf_printf(out, ",%d,%" PRIu64 ",", line->place->async, line->place->count);
        plumb_put_fixed(out, (double)line->place->total_ns / 1e6, 6, 0);
        plumb_buf_char(out, ',');
        plumb_put_fixed(out, (double)line->place->self_ns / 1e6, 6, 0);
        plumb_buf_char(out, ',');
        plumb_put_fixed(out, line->percent, 1, 0);
    }
}

void plumb_render_csv(const struct plumb_render_input *in, struct plumb_buf *out)
{
    if (in->options->tree)
        render_tree(in->tree, out);
    else
        render_rows(in->summary, out);
}
