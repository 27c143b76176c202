/* json.c: the trace view as one JSON object. Times are whole nanoseconds. */
#include <string.h>

#include "codec/json_fields.h"
#include "codec/json_write.h"
#include "report/trace/parts.h"

static void put_cell(struct plumb_json *j, const struct plumb_grid_cell *cell)
{
    switch (cell->is) {
    case PLUMB_CELL_NONE:
        plumb_json_null(j);
        break;
    case PLUMB_CELL_STRING:
        plumb_json_str(j, cell->value.text);
        break;
    case PLUMB_CELL_WHOLE:
        plumb_json_u64(j, cell->value.whole);
        break;
    case PLUMB_CELL_SIGNED:
        plumb_json_i64(j, cell->value.with_sign);
        break;
    case PLUMB_CELL_REAL:
        plumb_json_f64(j, cell->value.real);
        break;
    }
}

static void put_inside(struct plumb_json *j, const struct plumb_trace_sight *s, uint32_t slice)
{
    struct plumb_inside inside[PLUMB_INSIDE_MAX], rest;
    uint64_t self_ns;
    size_t n = plumb_slice_inside(s->t, slice, inside, &rest, &self_ns);
    plumb_json_key(j, "inside");
    plumb_json_array(j);
    for (size_t i = 0; i <= n; i++) {
        const struct plumb_inside *at = i < n ? &inside[i] : &rest;
        if (at->count == 0)
            continue;
        plumb_json_object_inline(j);
        plumb_json_key(j, "name");
        plumb_json_str(j, i < n ? plumb_table_text(s->t, at->name) : NULL); /* null: others */
        plumb_json_key(j, "count");
        plumb_json_u64(j, at->count);
        plumb_json_key(j, "total_ns");
        plumb_json_u64(j, at->total_ns);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void put_section(struct plumb_json *j, const struct plumb_trace_sight *s,
                        const struct plumb_trace_section *section)
{
    struct plumb_grid g;
    size_t more = 0;
    section->fill(&g, s, &more);
    j->out->failed |= g.failed;
    plumb_json_key(j, section->key);
    plumb_json_array(j);
    for (size_t row = 0; row < plumb_grid_rows(&g); row++) {
        plumb_json_object(j);
        for (size_t c = 0; c < g.column_count; c++) {
            plumb_json_key(j, g.columns[c].key);
            put_cell(j, &g.cells[row * g.column_count + c]);
        }
        if (strcmp(section->key, "slowest") == 0)
            put_inside(j, s, s->slowest[row]);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    if (more > 0) {
        struct plumb_buf key = {0};
        plumb_buf_printf(&key, "%s_not_shown", section->key);
        plumb_json_key(j, key.data ? key.data : "not_shown");
        plumb_json_u64(j, more);
        plumb_buf_fini(&key);
    }
    plumb_grid_fini(&g);
}

static void put_u64(struct plumb_json *j, const char *key, uint64_t value)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, value);
}

static void put_facts(struct plumb_json *j, const struct plumb_table *t)
{
    plumb_json_key(j, "facts");
    plumb_json_object(j);
    for (uint32_t i = 0; i < t->fact_count; i++) {
        plumb_json_key(j, plumb_table_text(t, t->facts[i].key));
        if (t->facts[i].type == PLUMB_ARG_TEXT)
            plumb_json_str(j, plumb_table_text(t, (uint32_t)t->facts[i].value.u64));
        else
            plumb_json_i64(j, t->facts[i].value.i64);
    }
    plumb_json_object_end(j);
}

static void put_remarks(struct plumb_json *j, const struct plumb_table *t)
{
    struct plumb_buf text = {0};
    plumb_trace_remarks_write(t, &text);
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

void plumb_trace_put_json(struct plumb_buf *out, const struct plumb_trace_sight *s)
{
    struct plumb_json json, *j = &json;
    struct plumb_table_rank rank = plumb_table_rank(s->t);
    size_t n;
    const struct plumb_trace_section *sections = plumb_trace_sections(&n);
    plumb_json_init(j, out, 2);
    plumb_json_object(j);
    plumb_json_key(j, "format");
    plumb_json_str(j, "plumb-trace-report");
    put_u64(j, "schema", 1);
    plumb_json_key(j, "trace");
    plumb_json_str(j, s->path);
    put_u64(j, "slices", s->t->slices.count);
    put_u64(j, "instants", s->t->instants.count);
    put_u64(j, "counters", s->t->counters.count);
    put_u64(j, "flows", s->t->flow_count);
    put_u64(j, "open", s->t->open);
    put_u64(j, "cut", s->t->cut);
    put_u64(j, "spans_dropped", plumb_trace_dropped(s->t));
    put_u64(j, "end_ns", s->t->end_ns);
    put_u64(j, "zero_unix_ns", s->t->unix_ns);
    plumb_put_known(j, "rank", rank.rank);
    plumb_put_known(j, "world_size", rank.world_size);
    put_facts(j, s->t);
    if (s->view->kind == PLUMB_TRACE_VIEW_KERNELS)
        plumb_trace_put_kernel_sums(j, s);
    for (size_t i = 0; i < n; i++)
        if (sections[i].kinds >> s->view->kind & 1)
            put_section(j, s, &sections[i]);
    if (s->view->kind == PLUMB_TRACE_VIEW_KERNELS)
        plumb_trace_put_advice_json(j, s);
    put_remarks(j, s->t);
    plumb_json_object_end(j);
}
