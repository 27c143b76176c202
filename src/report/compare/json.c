/* json.c: a comparison as one object; its fields are documented in docs/compare.md. */
#include <math.h>
#include <string.h>

#include "codec/json_fields.h"
#include "codec/json_write.h"
#include "report/compare/view.h"

static void write_side(struct plumb_json *j, const struct plumb_compare_sheet *s, int side)
{
    const struct plumb_compare *c = s->compare;
    size_t begin = side == PLUMB_SIDE_A ? 0 : c->run_count[PLUMB_SIDE_A];
    plumb_json_key(j, side == PLUMB_SIDE_A ? "a" : "b");
    plumb_json_object(j);
    plumb_put_text(j, "name", s->labels[side]);
    plumb_json_key(j, "runs");
    plumb_json_array(j);
    for (size_t i = 0; i < c->run_count[side]; i++)
        plumb_json_str(j, c->runs[begin + i].path);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

static void write_rules(struct plumb_json *j, const struct plumb_compare *c)
{
    plumb_put_text(j, "figure", plumb_figure_name(c->options.figure));
    plumb_put_f64(j, "threshold_percent", c->options.threshold_percent);
    plumb_put_f64(j, "min_delta_ms", c->options.min_delta_ms);
    plumb_put_f64(j, "alpha", c->options.alpha);
    plumb_put_bool(j, "fold", c->options.fold == PLUMB_FOLD_ON);
    plumb_put_text(j, "node_pattern", c->options.node);
    plumb_put_u64(j, "depth", c->options.depth);
    plumb_put_text(j, "test", c->tested ? "mann-whitney" : NULL);
    plumb_put_text(j, "table_test", c->tested ? "holm-westfall-young" : NULL);
    plumb_put_u64(j, "tests", c->tests);
    plumb_put_f64(j, "least_p", c->tested ? c->least_p : (double)NAN);
    plumb_put_f64(j, "needed_p", c->tested ? c->needed_p : (double)NAN);
    plumb_json_key(j, "bootstrap");
    plumb_json_object(j);
    plumb_put_f64(j, "confidence", 0.95);
    plumb_put_u64(j, "resamples", PLUMB_BOOTSTRAP_RESAMPLES);
    plumb_put_u64(j, "seed", PLUMB_BOOTSTRAP_SEED);
    plumb_json_object_end(j);
}

static void write_drift(struct plumb_json *j, const struct plumb_compare *c)
{
    const struct plumb_compare_drift *d = &c->drift;
    plumb_json_key(j, "drift");
    plumb_json_object(j);
    plumb_json_key(j, "interleaved");
    if (c->tested)
        plumb_json_bool(j, !d->apart);
    else
        plumb_json_null(j);
    plumb_put_f64(j, "trend_p", c->tested ? d->p : (double)NAN);
    plumb_put_f64(j, "middle_ratio", d->middle > 0 ? d->middle : (double)NAN);
    plumb_json_object_end(j);
}

static void write_result(struct plumb_json *j, const struct plumb_compare *c)
{
    const plumb_compare_result *r = &c->result;
    plumb_put_bool(j, "worse", r->worse > 0);
    plumb_json_key(j, "lines");
    plumb_json_object(j);
    plumb_put_u64(j, "worse", r->worse);
    plumb_put_u64(j, "better", r->better);
    plumb_put_u64(j, "unclear", r->unclear);
    plumb_put_u64(j, "nodes", r->nodes);
    plumb_put_u64(j, "only_in_a", r->only_a);
    plumb_put_u64(j, "only_in_b", r->only_b);
    plumb_json_object_end(j);
}

/* A sum has no name but its kind, or that of its pool, and no runs. */
static bool says_nothing(const struct plumb_compare_column *column,
                         const struct plumb_compare_line *line)
{
    if (line->kind == PLUMB_COMPARE_NODE)
        return false;
    return column->text ? !column->text(line)[0] : column->when == PLUMB_WHEN_WIDE;
}

static const char *key_of(const struct plumb_compare_column *column,
                          const struct plumb_compare_line *line)
{
    if (line->kind == PLUMB_COMPARE_NODE)
        return column->key;
    return strcmp(column->key, "node") == 0    ? "pool"
           : strcmp(column->key, "phase") == 0 ? "device"
                                               : column->key;
}

static void write_line(struct plumb_json *j, const struct plumb_compare_line *line)
{
    size_t n;
    const struct plumb_compare_column *columns = plumb_compare_columns(&n);
    plumb_json_object(j);
    for (size_t i = 0; i < n; i++) {
        const struct plumb_compare_column *column = &columns[i];
        bool only_in = strcmp(column->key, "only_in") == 0;
        if (!only_in && says_nothing(column, line))
            continue;
        plumb_json_key(j, key_of(column, line));
        if (column->text)
            plumb_json_str(j, only_in && !column->text(line)[0] ? NULL : column->text(line));
        else
            plumb_json_f64(j, plumb_compare_cell_value(column, line));
    }
    plumb_json_object_end(j);
}

static void write_lines(struct plumb_json *j, const char *key, char *text)
{
    plumb_json_key(j, key);
    plumb_json_array(j);
    for (char *line = text, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_json_str(j, line);
    }
    plumb_json_array_end(j);
}

static void write_notes(struct plumb_json *j, const struct plumb_compare_sheet *s)
{
    struct plumb_buf notes = {0};
    struct plumb_buf remarks = {0};
    plumb_compare_notes_write(s->compare, &notes);
    plumb_buf_str(&remarks, s->remarks);
    write_lines(j, "notes", notes.data);
    write_lines(j, "remarks", remarks.data);
    j->out->failed |= notes.failed | remarks.failed;
    plumb_buf_fini(&notes);
    plumb_buf_fini(&remarks);
}

void plumb_compare_json(const struct plumb_compare_sheet *s, struct plumb_buf *out)
{
    const struct plumb_compare *c = s->compare;
    struct plumb_json json;
    struct plumb_json *j = &json;
    struct plumb_buf differences = {0};
    plumb_json_init(j, out, 2);
    plumb_json_object(j);
    plumb_put_text(j, "format", "plumb-comparison");
    plumb_put_u64(j, "schema", 1);
    write_side(j, s, PLUMB_SIDE_A);
    write_side(j, s, PLUMB_SIDE_B);
    write_rules(j, c);
    write_drift(j, c);
    plumb_compare_differences(c, c->overridden, &differences);
    plumb_put_text(j, "overridden", differences.data);
    write_result(j, c);
    plumb_json_key(j, "sums");
    plumb_json_array(j);
    for (size_t i = 0; i < c->sums.count; i++)
        write_line(j, &c->sums.lines[i]);
    plumb_json_array_end(j);
    plumb_json_key(j, "rows");
    plumb_json_array(j);
    for (size_t i = 0; i < s->shown; i++)
        write_line(j, s->nodes[i]);
    plumb_json_array_end(j);
    plumb_put_u64(j, "rows_not_shown", s->lines - s->shown);
    write_notes(j, s);
    plumb_json_object_end(j);
    out->failed |= differences.failed;
    plumb_buf_fini(&differences);
}
