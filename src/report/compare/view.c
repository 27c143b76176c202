/* view.c: the array of formats, and the order of the nodes. No state. */
#include "report/compare/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "summary/fold_nodes.h"

struct format {
    const char *name;
    void (*render)(const struct plumb_compare_sheet *s, struct plumb_buf *out);
};

static const struct format formats[] = {
    {"text", plumb_compare_text},
    {"json", plumb_compare_json},
    {"csv", plumb_compare_csv},
    {"md", plumb_compare_md},
};

struct ranked {
    const struct plumb_compare_line *line;
    double key;
    size_t seen;
};

static double key_of(const struct plumb_compare_line *line, uint32_t sort)
{
    switch (sort) {
    case PLUMB_COMPARE_DELTA:
        return fabs(line->main.delta);
    case PLUMB_COMPARE_PERCENT: /* what is new is the largest change there is */
        if (line->main.verdict == PLUMB_VERDICT_GONE)
            return 100;
        return isnan(line->main.percent) ? (double)INFINITY : fabs(line->main.percent);
    case PLUMB_COMPARE_A:
        return line->main.a;
    case PLUMB_COMPARE_B:
        return line->main.b;
    default:
        return 0;
    }
}

static int largest_first(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->seen > y->seen) - (x->seen < y->seen);
}

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a comparison");
}

static int list_nodes(struct plumb_compare_sheet *s, plumb_error *err)
{
    const struct plumb_compare_lines *nodes = &s->compare->nodes;
    s->nodes = calloc(nodes->count + 1, sizeof *s->nodes);
    if (!s->nodes)
        return no_memory(err);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct plumb_compare_line *line = &nodes->lines[i];
        s->nodes[i] = line;
        s->pipelines |= line->own != nodes->lines[0].own ||
                        (!line->own && strcmp(line->pipeline, nodes->lines[0].pipeline) != 0);
    }
    s->shown = s->lines = nodes->count;
    return PLUMB_OK;
}

static int order_nodes(struct plumb_compare_sheet *s, plumb_error *err)
{
    size_t n = s->shown;
    uint64_t top = s->view->top;
    struct ranked *order = calloc(n + 1, sizeof *order);
    if (!order)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){s->nodes[i], key_of(s->nodes[i], s->view->sort), i};
    qsort(order, n, sizeof *order, largest_first);
    s->lines = n;
    s->shown = top > 0 && top < n ? (size_t)top : n;
    for (size_t i = 0; i < s->shown; i++)
        s->nodes[i] = order[i].line;
    free(order);
    return PLUMB_OK;
}

/* As in a report: a table for people that would not fit a screen is folded, unless options chose
 * its lines. */
static bool is_folded(const struct plumb_compare_sheet *s, const char *format)
{
    const plumb_compare_options *o = &s->compare->options;
    return (strcmp(format, "text") == 0 || strcmp(format, "md") == 0) &&
           o->fold == PLUMB_FOLD_AUTO && !o->node && s->view->top == 0 &&
           s->shown >= PLUMB_FOLD_FROM;
}

int plumb_compare_render(struct plumb_buf *out, const struct plumb_compare *c,
                         const plumb_compare_view *view, const char *const *labels,
                         const char *remarks, plumb_error *err)
{
    struct plumb_compare_sheet s = {
        .compare = c, .view = view, .labels = labels, .remarks = remarks};
    const struct format *format = NULL;
    const char *name = view->format ? view->format : "text";
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !format; i++)
        if (strcmp(formats[i].name, name) == 0)
            format = &formats[i];
    if (!format)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown format '%s': it is text, json, csv or md",
                          name);
    if (view->sort > PLUMB_COMPARE_B)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown order of nodes: %u", (unsigned)view->sort);
    if (view->unit > PLUMB_REPORT_S)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown unit of times: %u", (unsigned)view->unit);
    int rc = list_nodes(&s, err);
    if (rc == PLUMB_OK && is_folded(&s, name))
        rc = plumb_compare_fold_lines(&s, err);
    if (rc == PLUMB_OK && (rc = order_nodes(&s, err)) == PLUMB_OK)
        rc = plumb_compare_choose_units(&s, err);
    if (rc == PLUMB_OK)
        format->render(&s, out);
    if (rc == PLUMB_OK && out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing a comparison");
    free(s.nodes);
    plumb_arena_fini(&s.arena);
    return rc;
}
