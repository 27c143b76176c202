/* view.c: see view.h. */
#include "report/activation/view.h"

#include <string.h>

#include "base/error.h"
#include "report/activation/parts.h"
#include "report/table/escape.h"
#include "report/table/page.h"
#include <plumb/read/activation.h>

/* ---- Pages ----------------------------------------------------------------------------------- */

/* "1,404 records of 313 tensors in 4 steps, plumb JSONL". */
static void put_headline(const struct plumb_act_view *v, struct plumb_buf *out, bool md)
{
    const struct plumb_activations *t = v->t;
    if (md)
        plumb_put_md(out, t->path);
    else
        plumb_put_left(out, t->path, 0);
    plumb_buf_str(out, ": ");
    plumb_put_count(out, t->count, 0);
    plumb_buf_str(out, t->count == 1 ? " record of " : " records of ");
    plumb_put_count(out, v->modules, 0);
    plumb_buf_str(out, v->modules == 1 ? " module" : " modules");
    if (v->seen_steps) {
        plumb_buf_str(out, " in ");
        plumb_put_count(out, v->seen_steps, 0);
        plumb_buf_str(out, v->seen_steps == 1 ? " step" : " steps");
    }
    plumb_buf_printf(out, " (%s); ", plumb_activation_format_name(t->format));
    if (v->suspects.records == 0) {
        plumb_buf_str(out, "none is suspect");
    } else {
        plumb_put_count(out, v->suspects.records, 0);
        plumb_buf_str(out, v->suspects.records == 1 ? " is suspect" : " are suspect");
    }
}

static void put_page(const struct plumb_act_view *v, struct plumb_buf *out, bool md)
{
    struct plumb_page p;
    struct plumb_grid g;
    plumb_page_begin(&p, NULL, out, md, v->o->explain);
    put_headline(v, out, md);
    if (v->o->kind != PLUMB_ACTIVATIONS_STEPS && v->suspects.count) {
        plumb_page_title(&p, "Suspects");
        plumb_act_fill_suspects(&g, v);
        plumb_page_grid(&p, &g);
        plumb_page_more(&p, v->suspects.count - plumb_act_suspects_shown(v));
    }
    if (v->o->kind != PLUMB_ACTIVATIONS_SUSPECTS) {
        bool steps = v->o->kind == PLUMB_ACTIVATIONS_STEPS;
        plumb_page_title(&p, steps ? "Layers over steps" : "Layers");
        if (steps)
            plumb_act_fill_steps(&g, v);
        else
            plumb_act_fill_layers(&g, v);
        plumb_page_grid(&p, &g);
        plumb_page_more(&p, v->line_count - plumb_act_shown(v, v->line_count));
    }
    plumb_page_end(&p);
}

static void put_text(const struct plumb_act_view *v, struct plumb_buf *out)
{
    put_page(v, out, false);
}

static void put_md(const struct plumb_act_view *v, struct plumb_buf *out)
{
    put_page(v, out, true);
}

static void put_csv(const struct plumb_act_view *v, struct plumb_buf *out)
{
    struct plumb_grid g;
    if (v->o->kind == PLUMB_ACTIVATIONS_SUSPECTS)
        plumb_act_fill_suspects(&g, v);
    else if (v->o->kind == PLUMB_ACTIVATIONS_STEPS)
        plumb_act_fill_steps(&g, v);
    else
        plumb_act_fill_layers(&g, v);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

/* ---- The view -------------------------------------------------------------------------------- */

int plumb_activations_render(struct plumb_buf *out, const struct plumb_activations *t,
                             const struct plumb_activations_view *view, plumb_error *err)
{
    static const struct {
        const char *name;
        void (*put)(const struct plumb_act_view *v, struct plumb_buf *out);
    } formats[] = {{"text", put_text}, {"json", plumb_act_json}, {"csv", put_csv}, {"md", put_md}};
    struct plumb_act_view v = {.t = t, .o = view};
    void (*put)(const struct plumb_act_view *, struct plumb_buf *) = NULL;
    int rc;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, view->format ? view->format : "text") == 0)
            put = formats[i].put;
    if (!put)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "activations have no format '%s': text, json, csv, md", view->format);
    if ((rc = plumb_act_group(&v, err)) == PLUMB_OK)
        put(&v, out);
    if (out->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while showing activations");
    plumb_act_ungroup(&v);
    return rc;
}
