/* signatures_view.c: `plumb report signatures`: for each stage the signatures that its calls had,
 * how often, and what went in and out. Any thread; no state. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec/decimal.h"
#include "codec/json_fields.h"
#include "model/signature.h"
#include "report/run/render.h"
#include "report/table/page.h"

#define PLUMB_SIGNATURES_EMPTY                                                                     \
    "No signatures were recorded: tell what goes into stages and comes out (plumb_stage_input(), " \
    "plumb_stage_output())."

static const struct plumb_grid_column columns[] = {
    {"stage", "Stage", PLUMB_GRID_TEXT, NULL}, /* of CSV; tables have a title for each */
    {"signature", "#", PLUMB_GRID_COUNT, "which of the stage's signatures"},
    {"calls", "Calls", PLUMB_GRID_COUNT, "that had it"},
    {"direction", "Way", PLUMB_GRID_TEXT, "in, out, or meta: what else was told"},
    {"name", "Name", PLUMB_GRID_TEXT, NULL},
    {"dtype", "Type", PLUMB_GRID_TEXT, "of the elements, as PyTorch spells it"},
    {"shape", "Shape", PLUMB_GRID_TEXT, "sizes, outermost first"},
    {"strides", "Strides", PLUMB_GRID_TEXT, "in elements; none: row-major without gaps"},
    {"device", "Device", PLUMB_GRID_TEXT, NULL},
    {"bytes", "MiB", PLUMB_GRID_BYTES, "of the elements"},
    {"requires_grad", "Grad", PLUMB_GRID_FLAG, "whether a gradient is wanted of it"},
    {"value", "Value", PLUMB_GRID_TEXT,
     "of a value that is not a tensor; of a tensor its statistics"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- Values ---------------------------------------------------------------------------------- */

static void add_buf(struct plumb_grid *g, struct plumb_buf *text)
{
    g->failed |= text->failed;
    plumb_grid_copy(g, text->data ? text->data : "");
    plumb_buf_fini(text);
}

static void add_sizes(struct plumb_grid *g, const int64_t *sizes, size_t n)
{
    struct plumb_buf text = {0};
    if (!sizes) {
        plumb_grid_none(g);
        return;
    }
    plumb_buf_char(&text, '[');
    for (size_t i = 0; i < n; i++)
        plumb_buf_printf(&text, "%s%" PRId64, i ? ", " : "", sizes[i]);
    plumb_buf_char(&text, ']');
    add_buf(g, &text);
}

static bool put_no_number(struct plumb_buf *out, double value)
{
    if (isfinite(value))
        return false;
    plumb_buf_str(out, plumb_json_special(value));
    return true;
}

static void put_real(struct plumb_buf *out, double value)
{
    struct plumb_json json;
    if (put_no_number(out, value))
        return;
    plumb_json_init(&json, out, 0);
    plumb_put_fraction(&json, value);
}

/* Six digits are enough to look at; JSON has all. */
static void put_statistic(struct plumb_buf *out, const char *what, double value)
{
    char number[40];
    plumb_buf_str(out, what);
    if (put_no_number(out, value))
        return;
    snprintf(number, sizeof number, "%.6g", value);
    plumb_decimal_point(number);
    plumb_buf_str(out, number);
}

static void put_statistics(struct plumb_buf *out, const struct plumb_signature_tensor *t)
{
    const struct plumb_signature_stats *s = t->stats;
    if (t->stats_error)
        plumb_buf_str(out, t->stats_error);
    if (!s)
        return;
    put_statistic(out, "min ", s->min);
    put_statistic(out, " max ", s->max);
    put_statistic(out, " mean ", s->mean);
    put_statistic(out, " std ", s->std);
    plumb_buf_printf(out, " n %" PRIu64, s->n);
    if (s->nan > 0)
        plumb_buf_printf(out, " nan %" PRIu64, s->nan);
    if (s->inf > 0)
        plumb_buf_printf(out, " inf %" PRIu64, s->inf);
}

/* Seven cells: type to value. */
static void add_tensor(struct plumb_grid *g, const struct plumb_signature_tensor *t)
{
    struct plumb_buf text = {0};
    plumb_grid_text(g, t->dtype);
    add_sizes(g, t->shape, t->ndim);
    add_sizes(g, t->strides, t->ndim);
    plumb_grid_text(g, t->device);
    if (t->bytes >= 0)
        plumb_grid_whole(g, (uint64_t)t->bytes);
    else
        plumb_grid_none(g);
    if (t->requires_grad >= 0)
        plumb_grid_whole(g, (uint64_t)t->requires_grad);
    else
        plumb_grid_none(g);
    if (!t->stats && !t->stats_error) {
        plumb_grid_none(g);
        return;
    }
    put_statistics(&text, t);
    add_buf(g, &text);
}

static void put_scalar(struct plumb_buf *out, const struct plumb_signature_value *v)
{
    switch (v->kind) {
    case PLUMB_SIGNATURE_BOOL:
        plumb_buf_str(out, v->is.boolean ? "true" : "false");
        break;
    case PLUMB_SIGNATURE_INT:
        plumb_buf_printf(out, "%" PRId64, v->is.integer);
        break;
    case PLUMB_SIGNATURE_REAL:
        put_real(out, v->is.real);
        break;
    case PLUMB_SIGNATURE_TEXT:
        plumb_buf_printf(out, "\"%s\"", v->is.text ? v->is.text : "");
        break;
    case PLUMB_SIGNATURE_LIST: /* the others have rows of their own */
        plumb_buf_str(out, "[]");
        break;
    case PLUMB_SIGNATURE_FIELDS: /* likewise */
        plumb_buf_str(out, "{}");
        break;
    default:
        plumb_buf_str(out, "null");
        break;
    }
}

struct lines { /* what a signature brings, while its rows are added */
    struct plumb_grid *g;
    const char *stage; /* NULL: a table, whose title says it */
    uint64_t number, calls;
    bool calls_known;
    bool begun; /* its number stands already */
};

/* Three cells: the stage, and of the first row of a signature which it is, and its calls. In CSV
 * each row says all of it. */
static void begin_row(struct lines *l)
{
    plumb_grid_text(l->g, l->stage);
    if (l->begun && !l->stage) {
        plumb_grid_none(l->g);
        plumb_grid_none(l->g);
    } else {
        plumb_grid_whole(l->g, l->number);
        if (l->calls_known)
            plumb_grid_whole(l->g, l->calls);
        else
            plumb_grid_none(l->g);
    }
    l->begun = true;
}

static void add_value(struct lines *l, const char *way, const char *name,
                      const struct plumb_signature_value *v)
{
    struct plumb_buf text = {0};
    begin_row(l);
    plumb_grid_text(l->g, way);
    plumb_grid_copy(l->g, name);
    if (v->kind == PLUMB_SIGNATURE_TENSOR) {
        add_tensor(l->g, v->is.tensor);
        return;
    }
    for (int i = 0; i < 6; i++)
        plumb_grid_none(l->g);
    put_scalar(&text, v);
    add_buf(l->g, &text);
}

static void add_item(struct lines *l, const char *way, const char *name,
                     const struct plumb_signature_value *v);

/* A value of a list or a mapping: "frames[3]", "cond.text". */
static void add_part(struct lines *l, const char *way, struct plumb_buf *path,
                     const struct plumb_signature_value *v)
{
    l->g->failed |= path->failed;
    if (path->data)
        add_item(l, way, path->data, v);
    plumb_buf_fini(path);
}

/* A list and a mapping have a row for each of their values. They are at most PLUMB_SIGNATURE_DEPTH
 * deep, so this ends. */
static void add_item(struct lines *l, const char *way, const char *name,
                     const struct plumb_signature_value *v)
{
    bool list = v->kind == PLUMB_SIGNATURE_LIST && v->is.list.count > 0;
    bool fields = v->kind == PLUMB_SIGNATURE_FIELDS && v->is.fields.count > 0;
    if (!list && !fields)
        add_value(l, way, name, v);
    for (size_t i = 0; list && i < v->is.list.count; i++) {
        struct plumb_buf path = {0};
        plumb_buf_printf(&path, "%s[%zu]", name, i);
        add_part(l, way, &path, &v->is.list.at[i]);
    }
    for (size_t i = 0; fields && i < v->is.fields.count; i++) {
        struct plumb_buf path = {0};
        plumb_buf_printf(&path, "%s.%s", name, v->is.fields.at[i].name);
        add_part(l, way, &path, &v->is.fields.at[i].value);
    }
}

static void add_items(struct lines *l, const char *way, const struct plumb_signature_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        add_item(l, way, items->at[i].name, &items->at[i].value);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void add_call(struct plumb_grid *g, const char *stage,
                     const struct plumb_signature_call *call, uint64_t number, bool calls_known)
{
    struct lines l = {g, stage, number, call->count, calls_known, false};
    add_items(&l, "in", &call->inputs);
    add_items(&l, "out", &call->outputs);
    add_items(&l, "meta", &call->metadata);
    if (call->dropped == 0)
        return;
    struct plumb_buf text = {0};
    begin_row(&l);
    for (int i = 3; i < COLUMNS - 1; i++)
        plumb_grid_none(g);
    plumb_buf_printf(&text, "(%" PRIu64 " more were dropped)", call->dropped);
    add_buf(g, &text);
}

/* Where a file keeps no sections of requests, a request has the signatures that it was the last
 * call of. */
static bool is_chosen(const struct plumb_page *p, const struct plumb_signature_call *call)
{
    const char *request = p->in->options->request;
    return !request || p->in->options->signature->request_count > 0 ||
           (call->request_id && strcmp(call->request_id, request) == 0);
}

/* Returns how many of the stage's signatures are chosen and not shown. */
static size_t add_stage(const struct plumb_page *p, struct plumb_grid *g,
                        const struct plumb_signature_stage *stage, bool csv)
{
    const char *name = csv ? stage->name : NULL;
    size_t top = p->in->options->summary.top;
    size_t chosen = 0;
    size_t shown = 0;
    if (stage->distinct_count == 0 && is_chosen(p, &stage->last))
        add_call(g, name, &stage->last, 1, false);
    for (size_t i = 0; i < stage->distinct_count; i++) {
        if (!is_chosen(p, &stage->distinct[i]))
            continue;
        chosen++;
        if (top > 0 && shown == top)
            continue;
        shown++;
        add_call(g, name, &stage->distinct[i], i + 1, !p->in->options->signature->foreign);
    }
    return chosen - shown;
}

static void put_stage_title(struct plumb_page *p, const struct plumb_signature_stage *stage)
{
    plumb_page_paragraph(p);
    plumb_buf_str(p->out, p->md ? "### " : "");
    plumb_page_name(p, stage->name);
    if (p->in->options->signature->foreign)
        plumb_buf_str(p->out, ": the last call, of an unknown number");
    else
        plumb_buf_printf(p->out, ": %" PRIu64 " %s, %zu %s", stage->calls,
                         stage->calls == 1 ? "call" : "calls", stage->distinct_count,
                         stage->distinct_count == 1 ? "signature" : "signatures");
    plumb_buf_str(p->out, p->md ? "\n" : "");
}

static void put_stage(struct plumb_page *p, const struct plumb_signature_stage *stage)
{
    struct plumb_grid g;
    plumb_grid_init(&g, columns, COLUMNS);
    size_t hidden = add_stage(p, &g, stage, false);
    if (plumb_grid_rows(&g) == 0 && p->in->options->request) {
        plumb_grid_fini(&g);
        return;
    }
    put_stage_title(p, stage);
    if (plumb_grid_rows(&g) > 0)
        plumb_page_grid(p, &g);
    else
        plumb_grid_fini(&g);
    plumb_page_more(p, hidden);
    if (stage->other_calls > 0)
        plumb_buf_printf(p->out, "%s(%" PRIu64 " calls had other signatures: too many to keep)",
                         p->md ? "\n\n" : "\n", stage->other_calls);
}

typedef void stage_fn(struct plumb_page *p, const struct plumb_signature_stage *stage, void *arg);

/* Calls `fn` for the chosen stages: of one request, or of all calls. Returns how many calls of the
 * request had signatures beyond the bound. */
static uint64_t each_stage(struct plumb_page *p, const struct plumb_signature *s, stage_fn *fn,
                           void *arg)
{
    const char *request = p->in->options->request;
    uint64_t others = 0;
    if (!request || s->request_count == 0) {
        for (size_t i = 0; i < s->stage_count; i++)
            fn(p, &s->stages[i], arg);
        return 0;
    }
    for (size_t i = 0; i < s->request_count; i++) {
        if (strcmp(s->requests[i].id, request) != 0)
            continue;
        for (size_t k = 0; k < s->requests[i].stage_count; k++)
            fn(p, &s->requests[i].stages[k], arg);
        others += s->requests[i].other_calls;
    }
    return others;
}

static void put_one(struct plumb_page *p, const struct plumb_signature_stage *stage, void *unused)
{
    (void)unused;
    put_stage(p, stage);
}

static void add_one(struct plumb_page *p, const struct plumb_signature_stage *stage, void *grid)
{
    add_stage(p, grid, stage, true);
}

static void put_page(const struct plumb_render_input *in, struct plumb_buf *out, bool md)
{
    const struct plumb_signature *s = in->options->signature;
    struct plumb_page p;
    uint64_t others;
    plumb_page_begin(&p, in, out, md, in->options->explain);
    others = s ? each_stage(&p, s, put_one, NULL) : 0;
    if (!s || s->stage_count == 0)
        plumb_buf_str(out, PLUMB_SIGNATURES_EMPTY);
    else if (out->len == 0)
        plumb_buf_str(out, "No signature is of a call for this request.");
    if (others > 0) {
        plumb_page_paragraph(&p);
        plumb_buf_printf(out, "(%" PRIu64 " calls had other signatures: too many to keep)", others);
    }
    if (s && s->lost_calls > 0) {
        plumb_page_paragraph(&p);
        plumb_buf_printf(out, "%" PRIu64 " calls are not here, for lack of memory.", s->lost_calls);
    }
    plumb_page_end(&p);
}

void plumb_render_signatures_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, false);
}

void plumb_render_signatures_md(const struct plumb_render_input *in, struct plumb_buf *out)
{
    put_page(in, out, true);
}

void plumb_render_signatures_csv(const struct plumb_render_input *in, struct plumb_buf *out)
{
    const struct plumb_signature *s = in->options->signature;
    struct plumb_page p;
    struct plumb_grid g;
    plumb_page_begin(&p, in, out, false, in->options->explain);
    plumb_grid_init(&g, columns, COLUMNS);
    if (s)
        each_stage(&p, s, add_one, &g);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

/* The file itself, as plumb writes it: also for one of the predecessor's. */
void plumb_render_signatures_json(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_signature none;
    plumb_signature_init(&none);
    if (plumb_signature_write(in->options->signature ? in->options->signature : &none, out, NULL) <
        0)
        out->failed = true;
    while (out->len > 0 && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
    plumb_signature_fini(&none);
}
