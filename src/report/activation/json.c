/* json.c: `plumb activations` for programs. */
#include "codec/json_fields.h"
#include "report/activation/parts.h"
#include <plumb/read/activation.h>

static void json_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_put_text(j, key, *text ? text : NULL);
}

static void json_place(struct plumb_json *j, const struct plumb_activations *t, size_t i)
{
    json_text(j, "module", plumb_activations_text(t, t->module[i]));
    json_text(j, "tensor", plumb_activations_text(t, t->tensor[i]));
    json_text(j, "io", plumb_act_io_name(t, i));
    json_text(j, "phase", t->phase ? plumb_activations_text(t, t->phase[i]) : "");
}

static void json_step(struct plumb_json *j, const struct plumb_activations *t, size_t i)
{
    plumb_json_key(j, "step");
    if (plumb_activations_has(t, i, PLUMB_ACT_STEP))
        plumb_json_i64(j, t->step[i]);
    else
        plumb_json_null(j);
}

static void json_shape(struct plumb_json *j, const struct plumb_activations *t, size_t i)
{
    size_t ndim;
    const int64_t *sizes = plumb_activations_shape(t, t->shape ? t->shape[i] : 0, &ndim);
    plumb_json_key(j, "shape");
    if (!plumb_activations_has(t, i, PLUMB_ACT_SHAPE)) {
        plumb_json_null(j);
        return;
    }
    plumb_json_i64s(j, sizes, ndim);
}

static void json_list(struct plumb_json *j, const char *key, const double *numbers, size_t n)
{
    if (!numbers || n == 0)
        return;
    plumb_json_key(j, key);
    plumb_json_f64s(j, numbers, n);
}

static void json_line(struct plumb_json *j, const struct plumb_act_view *v,
                      const struct plumb_act_line *l)
{
    const struct plumb_activations *t = v->t;
    bool steps = v->o->kind == PLUMB_ACTIVATIONS_STEPS;
    plumb_json_object_inline(j);
    json_place(j, t, l->first);
    if (steps)
        json_step(j, t, l->first);
    plumb_put_u64(j, "records", l->records);
    if (!steps) {
        plumb_put_u64(j, "steps",
                      plumb_activations_has(t, l->first, PLUMB_ACT_STEP) ? l->steps : 0);
        json_text(j, "dtype", t->dtype ? plumb_activations_text(t, t->dtype[l->first]) : "");
        json_shape(j, t, l->first);
    }
    plumb_put_f64(j, "abs_mean", plumb_act_mean(l->abs_mean, l->abs_means));
    if (steps)
        plumb_put_f64(j, "change_percent", plumb_act_change(l));
    plumb_put_f64(j, "std", plumb_act_mean(l->std, l->stds));
    plumb_put_f64(j, "l2", plumb_act_mean(l->l2, l->l2s));
    plumb_put_f64(j, "min", l->min);
    plumb_put_f64(j, "max", l->max);
    plumb_put_u64(j, "nan", l->nan);
    plumb_put_u64(j, "inf", l->inf);
    size_t n;
    const double *sample = plumb_activations_list(t, t->sample, l->first, &n);
    json_list(j, "sample", sample, n);
    json_list(j, "histogram", plumb_act_histogram(v, l), PLUMB_ACT_BINS);
    plumb_json_object_end(j);
}

static void json_suspect(struct plumb_json *j, const struct plumb_activations *t,
                         const struct plumb_suspect *s)
{
    struct plumb_buf detail = {0};
    plumb_json_object_inline(j);
    json_text(j, "suspect", plumb_suspect_name(s->kind));
    json_place(j, t, s->first);
    json_step(j, t, s->first);
    plumb_put_u64(j, "call", t->call ? t->call[s->first] : 0);
    plumb_put_u64(j, "records", s->records);
    plumb_put_u64(j, "of", s->of);
    plumb_put_f64(j, "worst", s->worst);
    plumb_act_put_detail(&detail, t, s);
    json_text(j, "detail", detail.data ? detail.data : "");
    plumb_json_object_end(j);
    plumb_buf_fini(&detail);
}

void plumb_act_json(const struct plumb_act_view *v, struct plumb_buf *out)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    json_text(&j, "path", v->t->path);
    json_text(&j, "kind", plumb_activation_format_name(v->t->format));
    plumb_put_u64(&j, "records", v->t->count);
    plumb_put_u64(&j, "modules", v->modules);
    plumb_put_u64(&j, "steps", v->seen_steps);
    plumb_put_u64(&j, "suspect_records", v->suspects.records);
    plumb_json_key(&j, "suspects");
    plumb_json_array(&j);
    for (size_t i = 0; i < (v->o->top ? plumb_act_suspects_shown(v) : v->suspects.count); i++)
        json_suspect(&j, v->t, &v->suspects.at[i]);
    plumb_json_array_end(&j);
    if (v->o->kind != PLUMB_ACTIVATIONS_SUSPECTS) {
        plumb_json_key(&j, v->o->kind == PLUMB_ACTIVATIONS_STEPS ? "layers_over_steps" : "layers");
        plumb_json_array(&j);
        for (size_t i = 0; i < plumb_act_shown(v, v->line_count); i++)
            json_line(&j, v, &v->lines[i]);
        plumb_json_array_end(&j);
    }
    plumb_json_object_end(&j);
}
