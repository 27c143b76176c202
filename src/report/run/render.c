/* render.c: the array of formats and the way from a report to one of them. */
#include "report/run/render.h"

#include <string.h>

#include "base/error.h"
#include <plumb/read/report.h>

enum {
    NODES = PLUMB_VIEW_NODES,
    MEMORY = PLUMB_VIEW_MEMORY,
    REQUESTS = PLUMB_VIEW_REQUESTS,
    SUMMARY = PLUMB_VIEW_SUMMARY,
    SIGNATURES = PLUMB_VIEW_SIGNATURES,
    COUNTS = PLUMB_VIEW_COUNTS,
    STREAMS = PLUMB_VIEW_STREAMS
};

static const struct plumb_renderer renderers[] = {
    {"text",
     "tables of fixed width",
     {[NODES] = plumb_render_text,
      [MEMORY] = plumb_render_memory_text,
      [REQUESTS] = plumb_render_requests_text,
      [SUMMARY] = plumb_render_summary_text,
      [SIGNATURES] = plumb_render_signatures_text,
      [COUNTS] = plumb_render_counts_text,
      [STREAMS] = plumb_render_streams_text}},
    {"json",
     "one object, with the remarks",
     {[NODES] = plumb_render_json,
      [MEMORY] = plumb_render_memory_json,
      [REQUESTS] = plumb_render_requests_json,
      [SIGNATURES] = plumb_render_signatures_json,
      [COUNTS] = plumb_render_counts_json,
      [STREAMS] = plumb_render_streams_json}},
    {"csv",
     "a line for each row, with stable column names",
     {[NODES] = plumb_render_csv,
      [MEMORY] = plumb_render_memory_csv,
      [REQUESTS] = plumb_render_requests_csv,
      [SIGNATURES] = plumb_render_signatures_csv,
      [COUNTS] = plumb_render_counts_csv,
      [STREAMS] = plumb_render_streams_csv}},
    {"md",
     "tables in Markdown",
     {[NODES] = plumb_render_md,
      [MEMORY] = plumb_render_memory_md,
      [REQUESTS] = plumb_render_requests_md,
      [SIGNATURES] = plumb_render_signatures_md,
      [COUNTS] = plumb_render_counts_md,
      [STREAMS] = plumb_render_streams_md}},
    {"svg",
     "a picture: the call tree as a flame graph, memory over time",
     {[NODES] = plumb_render_flame_svg, [MEMORY] = plumb_render_memory_svg}},
};
enum { RENDERERS = sizeof renderers / sizeof *renderers };

const struct plumb_renderer *plumb_renderers(size_t *n)
{
    *n = RENDERERS;
    return renderers;
}

static int find_renderer(const struct plumb_renderer **out, const char *format, uint32_t view,
                         plumb_error *err)
{
    static const char *const views[PLUMB_VIEWS] = {
        "table of nodes",       "memory report",    "index of requests", "summary",
        "report on signatures", "report on counts", "report on streams"};
    struct plumb_buf forms = {0};
    for (size_t i = 0; i < RENDERERS; i++)
        if (strcmp(renderers[i].name, format) == 0 && view < PLUMB_VIEWS &&
            renderers[i].render[view]) {
            *out = &renderers[i];
            return PLUMB_OK;
        }
    if (view >= PLUMB_VIEWS)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown view of a report: %u", (unsigned)view);
    for (size_t i = 0; i < RENDERERS; i++)
        if (renderers[i].render[view])
            plumb_buf_printf(&forms, "%s%s", forms.len ? ", " : "", renderers[i].name);
    plumb_fail(err, PLUMB_ERR_ARG, "no format '%s' of the %s: there is %s", format, views[view],
               forms.data ? forms.data : "none");
    plumb_buf_fini(&forms);
    return PLUMB_ERR_ARG;
}

/* The index of the request with this ID; of several the newest. */
static int find_request(uint32_t *out, const struct plumb_timing *t, const char *id,
                        plumb_error *err)
{
    *out = PLUMB_TIMING_NONE;
    if (!id)
        return PLUMB_OK;
    for (size_t i = t->request_count; i-- > 0;)
        if (strcmp(t->requests[i].id, id) == 0) {
            *out = (uint32_t)i;
            return PLUMB_OK;
        }
    if (t->request_count == 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no request '%s': the run has none", id);
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no request '%s' among the %zu of the run", id,
                      t->request_count);
}

struct rendering {
    const struct plumb_renderer *renderer;
    const char *format;
    struct plumb_summary summary;
    struct plumb_tree_view tree;
};

/* Prepares the rows, and the tree if the options want it, of in->timing. */
static int prepare(struct rendering *r, struct plumb_render_input *in, plumb_error *err)
{
    const struct plumb_render_options *o = in->options;
    int rc = plumb_summary_init(&r->summary, in->timing, &o->summary, err);
    if (rc == PLUMB_OK && o->tree)
        rc = plumb_tree_init(&r->tree, in->timing, &o->summary, err);
    in->summary = &r->summary;
    in->tree = &r->tree;
    return rc;
}

static void forget(struct rendering *r)
{
    plumb_tree_fini(&r->tree);
    plumb_summary_fini(&r->summary);
}

/* Whether the rows or the tree are folded. That is so for a table or a tree for people that would
 * not fit a screen, unless options chose its lines. Pictures are large enough, and data is for
 * programs. */
static bool is_folded(const struct rendering *r, const struct plumb_render_options *o)
{
    bool for_people = strcmp(r->format, "text") == 0 || strcmp(r->format, "md") == 0;
    size_t lines = o->tree ? r->tree.count : r->summary.count;
    if (o->view != NODES || o->fold == PLUMB_FOLD_OFF)
        return false;
    return o->fold == PLUMB_FOLD_ON ||
           (for_people && o->summary.top == 0 && !o->summary.node && lines >= PLUMB_FOLD_FROM);
}

static int render(struct rendering *r, struct plumb_render_input *in, struct plumb_buf *out,
                  plumb_error *err)
{
    struct plumb_fold fold = {.groups = NULL};
    int rc = prepare(r, in, err);
    if (rc == PLUMB_OK && is_folded(r, in->options)) {
        forget(r);
        if ((rc = plumb_fold_init(&fold, in->timing, err)) == PLUMB_OK) {
            in->timing = &fold.timing;
            in->fold = &fold;
            rc = prepare(r, in, err);
        }
    }
    if (rc == PLUMB_OK)
        r->renderer->render[in->options->view](in, out);
    if (rc == PLUMB_OK && out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing a report");
    forget(r);
    plumb_fold_fini(&fold);
    return rc;
}

int plumb_render(struct plumb_buf *out, const struct plumb_timing *t, const char *format,
                 const struct plumb_render_options *o, plumb_error *err)
{
    struct rendering r = {.format = format};
    struct plumb_render_input in = {
        .timing = t, .whole = t, .options = o, .request = PLUMB_TIMING_NONE};
    int rc = find_renderer(&r.renderer, format, o->view, err);
    if (rc < 0)
        return rc;
    /* Signatures know their requests themselves. */
    if (o->view != PLUMB_VIEW_SIGNATURES &&
        (rc = find_request(&in.request, t, o->request, err)) < 0)
        return rc;
    return render(&r, &in, out, err);
}
