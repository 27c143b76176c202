/* render.c: the array of formats and the way from a report to one of them. */
#include "report/render.h"

#include <string.h>

#include "base/error.h"

static const struct plumb_renderer renderers[] = {
    {"text", "the fixed-width table", plumb_render_text},
    {"json", "one object with rows, sums, averages and remarks", plumb_render_json},
    {"csv", "a line for each row, with stable column names", plumb_render_csv},
    {"md", "a Markdown table", plumb_render_md},
    {"svg", "a picture: the call tree as a flame graph", plumb_render_flame_svg},
};
enum { RENDERERS = sizeof renderers / sizeof *renderers };

const struct plumb_renderer *plumb_renderers(size_t *n)
{
    *n = RENDERERS;
    return renderers;
}

int plumb_render(struct plumb_buf *out, const struct plumb_timing *t, const char *format,
                 const struct plumb_render_options *o, plumb_error *err)
{
    struct plumb_summary summary = {.rows = NULL};
    struct plumb_tree_view tree = {NULL, 0};
    const struct plumb_renderer *renderer = NULL;
    int rc;
    for (size_t i = 0; i < RENDERERS && !renderer; i++)
        if (strcmp(renderers[i].name, format) == 0)
            renderer = &renderers[i];
    if (!renderer)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "unknown format '%s': it is text, json, csv, md or svg", format);
    if ((rc = plumb_summary_init(&summary, t, &o->summary, err)) < 0)
        goto out;
    if (o->tree && (rc = plumb_tree_init(&tree, t, &o->summary, err)) < 0)
        goto out;
    struct plumb_render_input in = {t, &summary, &tree, o};
    renderer->render(&in, out);
    if (out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing a report");
out:
    plumb_tree_fini(&tree);
    plumb_summary_fini(&summary);
    return rc;
}
