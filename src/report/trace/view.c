/* view.c: see view.h. */
#include "report/trace/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/nearest.h"
#include "report/table/page.h"
#include "report/trace/parts.h"

enum { KINDS = PLUMB_TRACE_VIEW_KERNELS + 1, TEXT_ROWS = 40, LATE_MS = 1000 };

/* ---- What is shown -------------------------------------------------------------------------- */

static int choose_slowest(struct plumb_trace_sight *s, plumb_error *err)
{
    const struct plumb_table *t = s->t;
    const char *node = s->view->node ? s->view->node : "";
    struct plumb_nearest nearest = plumb_nearest_start(node);
    uint32_t name = plumb_strings_find(&t->strings, node);
    size_t most = s->view->top ? (size_t)s->view->top : PLUMB_SLOWEST_SHOWN;
    most = most < PLUMB_SLOWEST_MAX ? most : PLUMB_SLOWEST_MAX;
    s->slowest_count = plumb_slowest(t, name, s->slowest, most, &s->slowest_of);
    if (s->slowest_of > 0)
        return PLUMB_OK;
    for (size_t i = 0; i < s->nodes.count; i++)
        plumb_nearest_offer(&nearest, plumb_table_text(t, s->nodes.rows[i].name));
    if (nearest.best)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "no whole span of the trace is called '%s': did you mean '%s'?", node,
                          nearest.best);
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no whole span of the trace is called '%s'", node);
}

static int look(struct plumb_trace_sight *s, plumb_error *err)
{
    size_t gaps = s->view->top ? (size_t)s->view->top : PLUMB_SLOWEST_SHOWN;
    size_t processes = 0;
    int rc = plumb_span_rows_init(&s->nodes, s->t, false, err);
    if (rc == PLUMB_OK)
        rc = plumb_span_rows_init(&s->threads, s->t, true, err);
    if (rc == PLUMB_OK)
        rc = plumb_gaps_init(&s->gaps, s->t, gaps < PLUMB_SLOWEST_MAX ? gaps : PLUMB_SLOWEST_MAX,
                             err);
    if (rc == PLUMB_OK)
        rc = plumb_step_marks_init(&s->marks, s->t, err);
    if (rc == PLUMB_OK)
        rc = plumb_steps_init(&s->steps, &s->marks, err);
    if (rc == PLUMB_OK && s->view->kind == PLUMB_TRACE_VIEW_KERNELS)
        rc = plumb_trace_look_at_kernels(s, err);
    if (rc == PLUMB_OK && s->view->kind == PLUMB_TRACE_VIEW_SLOWEST) {
        rc = choose_slowest(s, err);
        s->symbols = plumb_symbols_open(s->t);
    }
    for (uint32_t i = 0; i < s->t->track_count; i++)
        processes += s->t->tracks[i].kind == PLUMB_TRACK_PROCESS;
    s->processes = processes > 1;
    return rc;
}

static void look_away(struct plumb_trace_sight *s)
{
    plumb_trace_look_away_from_kernels(s);
    plumb_span_rows_fini(&s->nodes);
    plumb_span_rows_fini(&s->threads);
    plumb_gaps_fini(&s->gaps);
    plumb_step_marks_fini(&s->marks);
    plumb_steps_fini(&s->steps);
    plumb_symbols_close(s->symbols);
    plumb_arena_fini(&s->arena);
    free(s);
}

/* ---- Text and Markdown ---------------------------------------------------------------------- */

static void put_count(struct plumb_buf *out, uint64_t n, const char *one, const char *many)
{
    plumb_buf_str(out, ", ");
    plumb_put_count(out, n, 0);
    plumb_buf_str(out, n == 1 ? one : many);
}

/* Times of a trace of plumb begin with its run. A window of a run that is days old lasts as long as
 * its spans, so the time before the first one is not the trace's. */
static void put_length(struct plumb_buf *out, const struct plumb_table *t)
{
    uint64_t first = t->slices.count > 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < t->slices.count; i++)
        first = t->slices.ts_ns[i] < first ? t->slices.ts_ns[i] : first;
    if (first / 1000000 < LATE_MS)
        first = 0;
    plumb_put_fixed(out, (double)(t->end_ns - first) / 1e9, 3, 0);
    plumb_buf_str(out, " s");
    if (first > 0) {
        plumb_buf_str(out, " from ");
        plumb_put_fixed(out, (double)first / 1e9, 3, 0);
        plumb_buf_str(out, " s on");
    }
}

static void put_head(struct plumb_page *p, const struct plumb_trace_sight *s)
{
    const struct plumb_table *t = s->t;
    struct plumb_table_rank rank = plumb_table_rank(t);
    plumb_page_title(p, "Trace");
    plumb_buf_str(p->out, p->md ? "\n" : ": ");
    put_length(p->out, t);
    put_count(p->out, s->gaps.track_count, " thread", " threads");
    put_count(p->out, t->slices.count, " span", " spans");
    if (t->instants.count > 0)
        put_count(p->out, t->instants.count, " instant", " instants");
    if (t->counters.count > 0)
        put_count(p->out, t->counters.count, " counter value", " counter values");
    if (t->flow_count > 0)
        put_count(p->out, t->flow_count, " flow", " flows");
    if (rank.rank >= 0)
        plumb_buf_printf(p->out, ", rank %" PRId32, rank.rank);
    if (rank.rank >= 0 && rank.world_size >= 0)
        plumb_buf_printf(p->out, " of %" PRId32, rank.world_size);
    plumb_buf_str(p->out, p->md ? "\n" : "\n  ");
    plumb_page_name(p, s->path);
}

/* Nodes by thread say nothing new where there is one thread. */
static bool is_worth(const struct plumb_trace_section *section, const struct plumb_trace_sight *s,
                     const struct plumb_grid *g)
{
    if (s->view->kind == PLUMB_TRACE_VIEW_OVERVIEW && s->gaps.track_count < 2 &&
        strcmp(section->key, "nodes_by_thread") == 0)
        return false;
    return plumb_grid_rows(g) > 0;
}

static const char *nothing_to_show(uint32_t kind)
{
    switch (kind) {
    case PLUMB_TRACE_VIEW_STEPS:
        return "No span of the trace tells its step: mark steps with PLUMB_STEPS() or "
               "PLUMB_STEP(), "
               "and with step() of torch.profiler.";
    case PLUMB_TRACE_VIEW_KERNELS:
        return "The trace has neither kernels nor operators on the host.";
    case PLUMB_TRACE_VIEW_GAPS:
    default:
        return "The trace has no spans.";
    }
}

static void put_sections(struct plumb_page *p, const struct plumb_trace_sight *s)
{
    size_t n, put = 0;
    const struct plumb_trace_section *sections = plumb_trace_sections(&n);
    for (size_t i = 0; i < n; i++) {
        struct plumb_grid g;
        size_t more = 0;
        if (!(sections[i].kinds >> s->view->kind & 1))
            continue;
        sections[i].fill(&g, s, &more);
        p->out->failed |= g.failed;
        if (!is_worth(&sections[i], s, &g)) {
            plumb_grid_fini(&g);
            continue;
        }
        plumb_page_title(p, sections[i].title);
        plumb_page_grid(p, &g);
        plumb_page_more(p, more);
        put++;
    }
    if (put == 0) {
        plumb_page_paragraph(p);
        plumb_buf_str(p->out, nothing_to_show(s->view->kind));
    }
}

static void put_page(struct plumb_buf *out, const struct plumb_trace_sight *s, bool md)
{
    struct plumb_page p;
    if (s->view->kind == PLUMB_TRACE_VIEW_SLOWEST) {
        plumb_trace_put_slowest(out, s, md);
        return;
    }
    plumb_page_begin(&p, NULL, out, md, s->view->explain != 0);
    put_head(&p, s);
    if (s->view->kind == PLUMB_TRACE_VIEW_KERNELS)
        plumb_trace_put_kernel_line(&p, s);
    put_sections(&p, s);
    if (s->view->kind == PLUMB_TRACE_VIEW_KERNELS)
        plumb_trace_put_advice(&p, s);
    plumb_page_end(&p);
}

/* ---- Formats -------------------------------------------------------------------------------- */

static void put_text(struct plumb_buf *out, const struct plumb_trace_sight *s)
{
    put_page(out, s, false);
}

static void put_md(struct plumb_buf *out, const struct plumb_trace_sight *s)
{
    put_page(out, s, true);
}

/* CSV is one table: the one with the most figures. */
static void put_csv(struct plumb_buf *out, const struct plumb_trace_sight *s)
{
    static const char *const tables[KINDS] = {"nodes_by_thread", "nodes_by_thread", "gaps",
                                              "steps",           "slowest",         "top_kernels"};
    size_t n, more;
    const struct plumb_trace_section *sections = plumb_trace_sections(&n);
    for (size_t i = 0; i < n; i++) {
        struct plumb_grid g;
        if (strcmp(sections[i].key, tables[s->view->kind]) != 0)
            continue;
        sections[i].fill(&g, s, &more);
        out->failed |= g.failed;
        plumb_grid_csv(&g, out);
        plumb_grid_fini(&g);
    }
}

static const struct {
    const char *name;
    void (*put)(struct plumb_buf *out, const struct plumb_trace_sight *s);
    uint64_t rows; /* shown without --top; 0: all */
} formats[] = {
    {"text", put_text, TEXT_ROWS},
    {"json", plumb_trace_put_json, 0},
    {"csv", put_csv, 0},
    {"md", put_md, TEXT_ROWS},
};

int plumb_trace_view_render(struct plumb_buf *out, const struct plumb_table *t, const char *path,
                            const plumb_trace_view *view, plumb_error *err)
{
    const char *format = view->format ? view->format : "text";
    plumb_trace_view shown = *view;
    struct plumb_trace_sight *s;
    size_t i = 0;
    int rc;
    if (view->by > PLUMB_TRACE_BY_STEP)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown rows of kernels: %u", (unsigned)view->by);
    if (view->kind >= KINDS)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown view of a trace: %u", (unsigned)view->kind);
    while (i < sizeof formats / sizeof *formats && strcmp(formats[i].name, format) != 0)
        i++;
    if (i == sizeof formats / sizeof *formats)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "no format '%s' of a trace's report: there is text, json, csv, md",
                          format);
    if (!(s = calloc(1, sizeof *s)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the report of a trace");
    s->t = t;
    s->path = path;
    s->view = &shown;
    if ((rc = look(s, err)) == PLUMB_OK) {
        if (shown.top == 0)
            shown.top = formats[i].rows;
        formats[i].put(out, s);
        if (out->failed || s->arena.failed)
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing a report");
    }
    look_away(s);
    return rc;
}

int plumb_trace_breakdown_write(struct plumb_buf *out, const struct plumb_table *t,
                                const char *name, plumb_error *err)
{
    plumb_trace_view view = plumb_trace_view_default();
    struct plumb_trace_sight *s = calloc(1, sizeof *s);
    int rc;
    if (!s)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the breakdown of a trace");
    view.node = name;
    s->t = t;
    s->view = &view;
    rc = plumb_step_marks_init(&s->marks, t, err);
    if (rc == PLUMB_OK)
        rc = plumb_trace_look_at_kernels(s, err);
    if (rc == PLUMB_OK)
        plumb_trace_put_breakdown(out, s);
    if (rc == PLUMB_OK && out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing a breakdown");
    look_away(s);
    return rc;
}
