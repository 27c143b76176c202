/* view.c: the table of formats, and the rows that a table shows: those around the culprit. */
#include "report/diverge/view.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { TOP = 20 };

static const struct {
    const char *name;
    void (*render)(const struct plumb_diverge_sheet *s, struct plumb_buf *out);
} formats[] = {
    {"text", plumb_diverge_text}, {"json", plumb_diverge_json}, {"csv", plumb_diverge_csv},
    {"md", plumb_diverge_md},     {"svg", plumb_diverge_svg},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool is_pair(const struct plumb_diverge *d, uint32_t a)
{
    return d->sides[PLUMB_DIVERGE_A].partner[a] != PLUMB_DIVERGE_NONE;
}

/* A third of the rows shown come before the culprit. */
static void choose_rows(struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    size_t n = d->sides[PLUMB_DIVERGE_A].t->count;
    size_t top = s->top;
    size_t begin = 0;
    size_t before = 0;
    if (d->culprit.a != PLUMB_DIVERGE_NONE && !s->view->all)
        for (begin = d->culprit.a; begin > 0 && before < top / 3; begin--)
            before += is_pair(d, (uint32_t)begin - 1);
    for (size_t i = 0; i < n; i++) {
        if (!is_pair(d, (uint32_t)i))
            continue;
        if (i >= begin && (s->view->all || s->row_count < top))
            s->rows[s->row_count++] = (uint32_t)i;
        else
            s->rows_hidden++;
    }
}

static void find_columns(struct plumb_diverge_sheet *s)
{
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = s->d->sides[PLUMB_DIVERGE_B].t;
    for (size_t i = 0; i < s->row_count; i++) {
        uint32_t a = s->rows[i];
        uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[a];
        s->calls |= ta->call && ta->call[a] > 0;
        s->names |= strcmp(plumb_activations_text(ta, ta->module[a]),
                           plumb_activations_text(tb, tb->module[b])) != 0;
    }
}

int plumb_diverge_render(struct plumb_buf *out, struct plumb_diverge_sheet *s, plumb_error *err)
{
    const char *format = s->view->format ? s->view->format : "text";
    size_t i = 0;
    while (i < FORMATS && strcmp(formats[i].name, format) != 0)
        i++;
    if (i == FORMATS)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "no format '%s': there are text, json, csv, md and svg", format);
    s->rows = malloc(s->d->sides[PLUMB_DIVERGE_A].t->count * sizeof *s->rows);
    s->row_count = s->rows_hidden = 0;
    s->top = s->view->top > 0 ? s->view->top : TOP;
    /* A table for programs has every row, unless an option limits them. */
    if (s->view->top == 0 && strcmp(format, "csv") == 0)
        s->top = SIZE_MAX;
    if (s->rows) {
        choose_rows(s);
        find_columns(s);
        formats[i].render(s, out);
    }
    bool failed = !s->rows || out->failed;
    free(s->rows);
    s->rows = NULL;
    return failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the report") : PLUMB_OK;
}
