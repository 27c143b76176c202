/* counts_view.c: `plumb report counts`. Nothing in it depends on times, paths or the machine: two
 * equal runs give equal bytes. Any thread; no state. */
#include <string.h>

#include "config/pattern.h"
#include "model/timing_parts.h"
#include "report/counts.h"
#include "report/run/render.h"
#include "report/table/page.h"

#define PLUMB_COUNTS_EMPTY                                                                         \
    "Nothing was counted: see plumb_counter_add(), plumb_dispatch() and docs/counts.md."

static const struct plumb_grid_column columns[] = {
    {"pipeline", "Pipeline", PLUMB_GRID_TEXT, NULL},
    {"phase", "Phase", PLUMB_GRID_TEXT, NULL},
    {"node", "Node", PLUMB_GRID_TEXT,
     "the innermost one that was open; empty: outside every node, or of the whole run"},
    {"step", "Step", PLUMB_GRID_WHOLE, "empty: of all steps"},
    {"kind", "Kind", PLUMB_GRID_TEXT, NULL},
    {"name", "Name", PLUMB_GRID_TEXT, "of the counter, the kind of dispatch, the pool, the lane"},
    {"calls", "Calls", PLUMB_GRID_COUNT, "events that were counted"},
    {"value", "Value", PLUMB_GRID_WHOLE, "their sum, in the unit of the kind"},
    {"runs", "Runs", PLUMB_GRID_COUNT, "of the node in this phase, failed ones too"},
};

/* ---- Which rows ------------------------------------------------------------------------------ */

static bool is_chosen(const struct plumb_render_options *o, const struct plumb_count_row *r)
{
    const struct plumb_summary_options *s = &o->summary;
    bool step = r->step != PLUMB_COUNT_WHOLE_RUN;
    if ((s->pipeline && strcmp(s->pipeline, r->pipeline) != 0) ||
        (s->phase && strcmp(s->phase, r->phase) != 0) ||
        (s->node && !plumb_pattern_matches(s->node, r->node)))
        return false;
    return !o->by || step == (o->by == PLUMB_BY_STEP);
}

/* Makes the row the one that it is added to. */
static void generalise(const struct plumb_render_options *o, struct plumb_count_row *r)
{
    if (o->by == PLUMB_BY_NODE)
        r->phase = "";
    if (o->by == PLUMB_BY_STEP || o->by == PLUMB_BY_PHASE)
        r->node = "";
    if (o->by == PLUMB_BY_STEP || o->by == PLUMB_BY_PHASE)
        r->runs = 0;
}

static void choose(struct plumb_count_rows *rows, const struct plumb_render_options *o)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct plumb_count_row row = rows->rows[i];
        if (!is_chosen(o, &row))
            continue;
        generalise(o, &row);
        rows->rows[n++] = row;
    }
    rows->count = n;
    if (o->by)
        plumb_count_rows_merge(rows);
}

static size_t shown(const struct plumb_count_rows *rows, const struct plumb_render_options *o)
{
    return o->summary.top > 0 && o->summary.top < rows->count ? o->summary.top : rows->count;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void fill(struct plumb_grid *g, const struct plumb_count_rows *rows, size_t n)
{
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        const struct plumb_count_row *r = &rows->rows[i];
        plumb_grid_text(g, r->pipeline);
        plumb_grid_text(g, r->phase);
        plumb_grid_text(g, r->node);
        if (r->step == PLUMB_COUNT_WHOLE_RUN)
            plumb_grid_none(g);
        else
            plumb_grid_signed(g, r->step);
        plumb_grid_text(g, plumb_count_kind_name(r->kind));
        plumb_grid_text(g, r->name);
        plumb_grid_whole(g, r->calls);
        plumb_grid_signed(g, r->value);
        if (r->runs > 0)
            plumb_grid_whole(g, r->runs);
        else
            plumb_grid_none(g);
    }
}

static bool make(struct plumb_count_rows *rows, const struct plumb_render_input *in,
                 struct plumb_buf *out)
{
    if (plumb_count_rows_init(rows, in->whole, NULL) < 0) {
        out->failed = true;
        return false;
    }
    choose(rows, in->options);
    return true;
}

static void put_page(const struct plumb_render_input *in, struct plumb_buf *out, bool md)
{
    struct plumb_count_rows rows;
    struct plumb_page p;
    struct plumb_grid g;
    if (!make(&rows, in, out))
        goto out;
    plumb_page_begin(&p, in, out, md, in->options->explain);
    if (rows.count == 0) {
        plumb_buf_str(out, PLUMB_COUNTS_EMPTY);
    } else {
        size_t n = shown(&rows, in->options);
        fill(&g, &rows, n);
        plumb_page_title(&p, "Counts");
        plumb_page_grid(&p, &g);
        plumb_page_more(&p, rows.count - n);
    }
    if (in->whole->cells_lost > 0) {
        plumb_page_paragraph(&p);
        plumb_put_count(out, in->whole->cells_lost, 0);
        plumb_buf_str(out, " counts are in the rows of the whole run alone: the run had more "
                           "steps than it keeps apart");
    }
    plumb_page_end(&p);
out:
    plumb_count_rows_fini(&rows);
}

void plumb_render_counts_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, false);
}

void plumb_render_counts_md(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, true);
}

void plumb_render_counts_csv(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_count_rows rows;
    struct plumb_grid g;
    if (make(&rows, in, out)) {
        fill(&g, &rows, shown(&rows, in->options));
        plumb_grid_csv(&g, out);
        plumb_grid_fini(&g);
    }
    plumb_count_rows_fini(&rows);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_row(struct plumb_json *j, const struct plumb_count_row *r)
{
    plumb_json_object_inline(j);
    plumb_put_text(j, "pipeline", r->pipeline);
    plumb_put_text(j, "phase", r->phase);
    plumb_put_text(j, "node", r->node);
    plumb_json_key(j, "step");
    if (r->step == PLUMB_COUNT_WHOLE_RUN)
        plumb_json_null(j);
    else
        plumb_json_i64(j, r->step);
    plumb_put_text(j, "kind", plumb_count_kind_name(r->kind));
    plumb_put_text(j, "name", r->name);
    plumb_put_u64(j, "calls", r->calls);
    plumb_put_i64(j, "value", r->value);
    plumb_json_key(j, "runs");
    if (r->runs > 0)
        plumb_json_u64(j, r->runs);
    else
        plumb_json_null(j);
    plumb_json_object_end(j);
}

/* Notes of `plumb record --count` about calls that it did not see. */
static bool is_uncounted(const char *note)
{
    static const char head[] = "not counted: ";
    return strncmp(note, head, sizeof head - 1) == 0;
}

void plumb_render_counts_json(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_count_rows rows;
    struct plumb_json j;
    if (make(&rows, in, out)) {
        size_t n = shown(&rows, in->options);
        plumb_json_init(&j, out, 2);
        plumb_json_object(&j);
        plumb_put_text(&j, "format", "plumb-counts");
        plumb_put_u64(&j, "schema", 1);
        plumb_put_array(&j, "counts");
        for (size_t i = 0; i < n; i++)
            put_row(&j, &rows.rows[i]);
        plumb_json_array_end(&j);
        plumb_put_u64(&j, "counts_not_shown", rows.count - n);
        plumb_put_u64(&j, "steps_lost", in->whole->cells_lost);
        plumb_put_array(&j, "not_counted");
        for (size_t i = 0; i < in->whole->note_count; i++)
            if (is_uncounted(in->whole->notes[i]))
                plumb_json_str(&j, in->whole->notes[i] + strlen("not counted: "));
        plumb_json_array_end(&j);
        plumb_json_object_end(&j);
    }
    plumb_count_rows_fini(&rows);
}
