/* json.c: the contents of the tables as one object. --top bounds it, so that a script or a model
 * can read it whole. The full report is timing.json itself. */
#include <string.h>

#include "report/run/render.h"

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text);
}

static void write_rows(struct plumb_json *j, const struct plumb_summary *s, size_t begin,
                       size_t end)
{
    size_t n;
    size_t shown = plumb_summary_shown(s, begin, end);
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    plumb_json_key(j, "rows");
    plumb_json_array(j);
    for (size_t i = begin; i < begin + shown; i++) {
        plumb_json_object(j);
        for (size_t k = 0; k < n; k++) {
            plumb_json_key(j, columns[k].key);
            plumb_column_json(j, &columns[k], &s->rows[i]);
        }
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_json_key(j, "rows_not_shown");
    plumb_json_u64(j, end - begin - shown);
}

static void write_averages(struct plumb_json *j, const struct plumb_summary *s, size_t begin,
                           size_t end)
{
    struct plumb_summary_average a;
    plumb_json_key(j, "averages");
    plumb_json_array(j);
    for (size_t i = 0; plumb_summary_average(s, begin, end, i, &a); i++) {
        plumb_json_object(j);
        put_text(j, "phase", a.phase);
        plumb_json_key(j, "frame_ms");
        plumb_json_f64(j, a.ms);
        plumb_json_key(j, "fps");
        plumb_json_f64(j, a.fps);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_pipelines(struct plumb_json *j, const struct plumb_summary *s)
{
    size_t end;
    plumb_json_key(j, "pipelines");
    plumb_json_array(j);
    for (size_t begin = 0; begin < s->count; begin = end) {
        end = plumb_summary_group_end(s, begin);
        plumb_json_object(j);
        put_text(j, "pipeline", s->rows[begin].pipeline);
        plumb_json_key(j, "skip_first_n");
        plumb_json_u64(j, s->rows[begin].skip_first_n);
        plumb_json_key(j, "total_ms");
        plumb_json_f64(j, plumb_summary_total_ms(s, begin, end));
        write_averages(j, s, begin, end);
        write_rows(j, s, begin, end);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_tree(struct plumb_json *j, const struct plumb_tree_view *tree)
{
    plumb_json_key(j, "tree");
    plumb_json_array(j);
    for (size_t i = 0; i < tree->count; i++) {
        const struct plumb_tree_line *line = &tree->lines[i];
        plumb_json_object(j);
        plumb_json_key(j, "depth");
        plumb_json_u64(j, line->depth);
        if (line->place) {
            put_text(j, "pipeline", line->node->pipeline);
            put_text(j, "phase", line->node->phase);
            put_text(j, "node", line->node->name);
            plumb_json_key(j, "async");
            plumb_json_bool(j, line->place->async);
            plumb_json_key(j, "count");
            plumb_json_u64(j, line->place->count);
            plumb_json_key(j, "total_ms");
            plumb_json_f64(j, (double)line->place->total_ns / 1e6);
            plumb_json_key(j, "self_ms");
            plumb_json_f64(j, (double)line->place->self_ns / 1e6);
            plumb_json_key(j, "percent");
            plumb_json_fixed(j, line->percent, 1);
        } else {
            plumb_json_key(j, "not_shown");
            plumb_json_u64(j, line->hidden);
        }
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_remarks(struct plumb_json *j, const struct plumb_timing *t, bool live)
{
    struct plumb_buf text = {0};
    plumb_remarks_write(t, live, &text);
    j->out->failed |= text.failed;
    plumb_json_key(j, "remarks");
    plumb_json_array(j);
    for (char *line = text.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_json_str(j, line);
    }
    plumb_json_array_end(j);
    plumb_buf_fini(&text);
}

static void write_explanation(struct plumb_json *j, const struct plumb_summary *s)
{
    size_t n;
    const struct plumb_column *columns = plumb_columns_wide(s, &n);
    plumb_json_key(j, "columns");
    plumb_json_object(j);
    for (size_t i = 0; i < n; i++)
        put_text(j, columns[i].key, columns[i].help);
    plumb_json_object_end(j);
}

void plumb_json_report(struct plumb_json *j, const struct plumb_render_input *in)
{
    plumb_json_object(j);
    put_text(j, "format", "plumb-report");
    plumb_json_key(j, "schema");
    plumb_json_u64(j, 1);
    put_text(j, "run", in->options->run);
    put_text(j, "program", in->timing->program);
    plumb_json_key(j, "recovered");
    plumb_json_bool(j, in->timing->recovered);
    plumb_json_key(j, "live");
    plumb_json_bool(j, in->options->live);
    plumb_json_key(j, "wall_clock_ms");
    plumb_json_f64(j, (double)in->timing->wall_clock_ns / 1e6);
}

void plumb_json_report_end(struct plumb_json *j, const struct plumb_render_input *in)
{
    write_remarks(j, in->timing, in->options->live);
    plumb_json_object_end(j);
}

void plumb_render_json(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_json json;
    struct plumb_json *j = &json;
    const struct plumb_summary_options *o = &in->summary->options;
    plumb_json_init(j, out, 2);
    plumb_json_report(j, in);
    plumb_json_key(j, "frames");
    if (o->frames > 0)
        plumb_json_u64(j, o->frames);
    else
        plumb_json_null(j);
    plumb_json_key(j, "skip_first_n");
    plumb_json_u64(j, in->timing->skip_first_n);
    write_pipelines(j, in->summary);
    if (in->options->tree)
        write_tree(j, in->tree);
    if (in->options->explain)
        write_explanation(j, in->summary);
    plumb_json_report_end(j, in);
}
