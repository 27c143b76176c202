/* activations_view.c: see activations_view.h. A layer is a (module, tensor, direction); its line
 * stands where its first record stood, so that a table reads in order of execution. */
#include "report/activations_view.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <plumb/trace.h>

#include "analyze/suspects.h"
#include "base/error.h"
#include "base/json_write.h"
#include "report/escape.h"
#include "report/page.h"

enum { SUSPECTS_SHOWN = 10, CELL_BYTES = 160 };

/* Records of a layer, or of one of its steps, added up. */
struct line {
    uint32_t first, last; /* records */
    uint64_t records;
    uint64_t steps; /* different ones in a row */
    double abs_mean, std, l2;
    uint64_t abs_means, stds, l2s; /* that were known */
    double min, max;
    uint64_t nan, inf;
    double before; /* size_of() the step before, NaN: none */
};

struct view {
    const struct plumb_activations *t;
    const struct plumb_activations_view *o;
    struct plumb_suspects suspects;
    struct line *lines;
    size_t line_count;
    bool *taken;         /* by text: a module of that name is shown */
    uint64_t seen_steps; /* different ones */
    uint64_t modules;
};

/* ---- Adding up ------------------------------------------------------------------------------- */

static void begin_line(struct line *l, uint32_t i)
{
    *l = (struct line){.first = i, .min = NAN, .max = NAN, .before = NAN};
}

static void add_record(struct line *l, const struct plumb_activations *t, size_t i)
{
    double abs_mean = plumb_activations_stat(t, i, PLUMB_ACT_ABS_MEAN);
    double std = plumb_activations_stat(t, i, PLUMB_ACT_STD);
    l->steps += l->records == 0 || (t->step && t->step[i] != t->step[l->last]);
    l->last = (uint32_t)i;
    l->records++;
    if (plumb_activations_has(t, i, PLUMB_ACT_ABS_MEAN)) {
        l->abs_mean += abs_mean;
        l->abs_means++;
    }
    if (plumb_activations_has(t, i, PLUMB_ACT_STD)) {
        l->std += std;
        l->stds++;
    }
    if (plumb_activations_has(t, i, PLUMB_ACT_L2)) {
        l->l2 += plumb_activations_stat(t, i, PLUMB_ACT_L2);
        l->l2s++;
    }
    l->min = fmin(l->min, plumb_activations_stat(t, i, PLUMB_ACT_MIN));
    l->max = fmax(l->max, plumb_activations_stat(t, i, PLUMB_ACT_MAX));
    l->nan += plumb_activations_whole(t, i, PLUMB_ACT_NAN);
    l->inf += plumb_activations_whole(t, i, PLUMB_ACT_POS_INF) +
              plumb_activations_whole(t, i, PLUMB_ACT_NEG_INF);
}

static double mean_of(double sum, uint64_t n)
{
    return n ? sum / (double)n : (double)NAN;
}

/* What tells how a layer changes from step to step. */
static double size_of(const struct line *l)
{
    return l->abs_means ? mean_of(l->abs_mean, l->abs_means) : mean_of(l->l2, l->l2s);
}

static bool same_layer(const struct plumb_activations *t, size_t a, size_t b)
{
    return t->module[a] == t->module[b] && t->tensor[a] == t->tensor[b] &&
           (!t->io || t->io[a] == t->io[b]) && (!t->phase || t->phase[a] == t->phase[b]);
}

static bool same_step(const struct plumb_activations *t, size_t a, size_t b)
{
    return (!t->step || t->step[a] == t->step[b]) && (!t->rank || t->rank[a] == t->rank[b]);
}

static size_t slot_of(const struct view *v, const uint32_t *slots, size_t mask, size_t i,
                      bool by_step)
{
    const struct plumb_activations *t = v->t;
    uint64_t h = t->module[i] * UINT64_C(0x9e3779b97f4a7c15) ^
                 t->tensor[i] * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                 (by_step && t->step ? (uint64_t)t->step[i] * UINT64_C(0xff51afd7ed558ccd) : 0);
    size_t at = (h ^ h >> 29) & mask;
    for (; slots[at]; at = (at + 1) & mask) {
        size_t known = v->lines[slots[at] - 1].first;
        if (same_layer(t, known, i) && (!by_step || same_step(t, known, i)))
            break;
    }
    return at;
}

/* The lines of layers, or of layers and steps. */
static bool make_lines(struct view *v, bool by_step)
{
    const struct plumb_activations *t = v->t;
    size_t slots_count = 64;
    while (slots_count < t->count * 2)
        slots_count *= 2;
    uint32_t *slots = calloc(slots_count, sizeof *slots);
    v->lines = calloc(t->count + 1, sizeof *v->lines);
    v->line_count = 0;
    if (!slots || !v->lines) {
        free(slots);
        return false;
    }
    for (size_t i = 0; i < t->count; i++) {
        if (!v->taken[t->module[i]])
            continue;
        size_t at = slot_of(v, slots, slots_count - 1, i, by_step);
        if (!slots[at]) {
            begin_line(&v->lines[v->line_count], (uint32_t)i);
            slots[at] = (uint32_t)++v->line_count;
        }
        add_record(&v->lines[slots[at] - 1], t, i);
    }
    free(slots);
    return true;
}

static int by_layer(const void *a, const void *b, void *arg)
{
    const struct line *x = a;
    const struct line *y = b;
    const uint32_t *order = arg;
    if (order[x->first] != order[y->first])
        return order[x->first] < order[y->first] ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Steps of one layer come together, each with the abs_mean of the one before. */
static bool group_by_layer(struct view *v)
{
    const struct plumb_activations *t = v->t;
    struct line *steps = v->lines;
    size_t step_count = v->line_count;
    uint32_t *order = calloc(t->count + 1, sizeof *order);
    size_t slots_count = 64;
    while (slots_count < step_count * 2)
        slots_count *= 2;
    uint32_t *slots = calloc(slots_count, sizeof *slots);
    bool good = order && slots;
    for (size_t i = 0; good && i < step_count; i++) {
        size_t at = slot_of(v, slots, slots_count - 1, steps[i].first, false);
        if (!slots[at])
            slots[at] = (uint32_t)i + 1;
        order[steps[i].first] = slots[at];
    }
    if (good && step_count)
        qsort_r(steps, step_count, sizeof *steps, by_layer, order);
    for (size_t i = 1; good && i < step_count; i++)
        if (same_layer(t, steps[i].first, steps[i - 1].first))
            steps[i].before = size_of(&steps[i - 1]);
    free(order);
    free(slots);
    return good;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void add_real(struct plumb_grid *g, double value, bool known)
{
    if (known && !isfinite(value))
        plumb_grid_text(g, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    else
        plumb_grid_real(g, known ? value : (double)NAN);
}

static void put_shape(struct plumb_buf *out, const struct plumb_activations *t, size_t i)
{
    size_t ndim;
    const int64_t *sizes = plumb_activations_shape(t, t->shape ? t->shape[i] : 0, &ndim);
    plumb_buf_char(out, '[');
    for (size_t d = 0; d < ndim; d++)
        plumb_buf_printf(out, "%s%lld", d ? ", " : "", (long long)sizes[d]);
    plumb_buf_char(out, ']');
}

static void add_shape(struct plumb_grid *g, const struct plumb_activations *t, size_t i)
{
    struct plumb_buf text = {0};
    if (!plumb_activations_has(t, i, PLUMB_ACT_SHAPE)) {
        plumb_grid_none(g);
        return;
    }
    put_shape(&text, t, i);
    if (text.data)
        plumb_grid_copy(g, text.data);
    g->failed |= text.failed;
    plumb_buf_fini(&text);
}

static void add_name(struct plumb_grid *g, const struct plumb_activations *t,
                     const uint32_t *column, size_t i)
{
    const char *text = column ? plumb_activations_text(t, column[i]) : "";
    plumb_grid_text(g, *text ? text : NULL);
}

static const char *io_name(const struct plumb_activations *t, size_t i)
{
    return plumb_activation_io_name(t->io ? (enum plumb_activation_io)t->io[i] : PLUMB_ACT_OUT);
}

static void add_count(struct plumb_grid *g, uint64_t n)
{
    if (n)
        plumb_grid_whole(g, n);
    else
        plumb_grid_none(g);
}

/* ---- Layers and steps ------------------------------------------------------------------------ */

static const struct plumb_grid_column layer_columns[] = {
    {"module", "Module", PLUMB_GRID_TEXT, NULL},
    {"tensor", "Tensor", PLUMB_GRID_TEXT, NULL},
    {"io", "Dir", PLUMB_GRID_TEXT, "output, input, gradient or parameter of the module"},
    {"phase", "Phase", PLUMB_GRID_TEXT, NULL},
    {"records", "Records", PLUMB_GRID_COUNT, "tensors that were recorded under this name"},
    {"steps", "Steps", PLUMB_GRID_COUNT, "in which they were"},
    {"dtype", "Type", PLUMB_GRID_TEXT, "of the first record, as is the shape"},
    {"shape", "Shape", PLUMB_GRID_TEXT, NULL},
    {"abs_mean", "abs_mean", PLUMB_GRID_FIGURE, "mean magnitude, the mean over the records"},
    {"std", "std", PLUMB_GRID_FIGURE, "standard deviation, the mean over the records"},
    {"l2", "l2", PLUMB_GRID_FIGURE, "root of the sum of squares, the mean over the records"},
    {"min", "min", PLUMB_GRID_FIGURE, "the lowest of all records"},
    {"max", "max", PLUMB_GRID_FIGURE, "the highest of all records"},
    {"nan", "NaN", PLUMB_GRID_COUNT, "values that are NaN"},
    {"inf", "Inf", PLUMB_GRID_COUNT, "values that are infinite, with either sign"},
};

/* Module, tensor, direction, phase. */
static void add_place(struct plumb_grid *g, const struct plumb_activations *t, uint32_t i)
{
    add_name(g, t, t->module, i);
    add_name(g, t, t->tensor, i);
    plumb_grid_text(g, io_name(t, i));
    add_name(g, t, t->phase, i);
}

/* What stands behind the mean magnitude. */
static void add_figures(struct plumb_grid *g, const struct line *l)
{
    add_real(g, mean_of(l->std, l->stds), l->stds > 0);
    add_real(g, mean_of(l->l2, l->l2s), l->l2s > 0);
    plumb_grid_real(g, l->min);
    plumb_grid_real(g, l->max);
    add_count(g, l->nan);
    add_count(g, l->inf);
}

static size_t shown(const struct view *v, size_t rows)
{
    return v->o->top > 0 && v->o->top < rows ? (size_t)v->o->top : rows;
}

static void fill_layers(struct plumb_grid *g, const struct view *v)
{
    const struct plumb_activations *t = v->t;
    plumb_grid_init(g, layer_columns, sizeof layer_columns / sizeof *layer_columns);
    for (size_t i = 0; i < shown(v, v->line_count); i++) {
        const struct line *l = &v->lines[i];
        add_place(g, t, l->first);
        plumb_grid_whole(g, l->records);
        if (plumb_activations_has(t, l->first, PLUMB_ACT_STEP))
            plumb_grid_whole(g, l->steps);
        else
            plumb_grid_none(g);
        add_name(g, t, t->dtype, l->first);
        add_shape(g, t, l->first);
        add_real(g, mean_of(l->abs_mean, l->abs_means), l->abs_means > 0);
        add_figures(g, l);
    }
}

static const struct plumb_grid_column step_columns[] = {
    {"module", "Module", PLUMB_GRID_TEXT, NULL},
    {"tensor", "Tensor", PLUMB_GRID_TEXT, NULL},
    {"io", "Dir", PLUMB_GRID_TEXT, "output, input, gradient or parameter of the module"},
    {"phase", "Phase", PLUMB_GRID_TEXT, NULL},
    {"rank", "Rank", PLUMB_GRID_WHOLE, NULL},
    {"step", "Step", PLUMB_GRID_WHOLE, NULL},
    {"records", "Records", PLUMB_GRID_COUNT, "calls of the module in this step"},
    {"abs_mean", "abs_mean", PLUMB_GRID_FIGURE, "mean magnitude, the mean over the calls"},
    {"change_percent", "Change(%)", PLUMB_GRID_PERCENT,
     "of abs_mean since the step before, or where there is none of l2"},
    {"std", "std", PLUMB_GRID_FIGURE, "standard deviation, the mean over the calls"},
    {"l2", "l2", PLUMB_GRID_FIGURE, "root of the sum of squares, the mean over the calls"},
    {"min", "min", PLUMB_GRID_FIGURE, "the lowest of all calls"},
    {"max", "max", PLUMB_GRID_FIGURE, "the highest of all calls"},
    {"nan", "NaN", PLUMB_GRID_COUNT, "values that are NaN"},
    {"inf", "Inf", PLUMB_GRID_COUNT, "values that are infinite, with either sign"},
};

static double change_of(const struct line *l)
{
    double change = 100 * (size_of(l) - l->before) / l->before;
    return isfinite(change) ? change : (double)NAN;
}

static void fill_steps(struct plumb_grid *g, const struct view *v)
{
    const struct plumb_activations *t = v->t;
    plumb_grid_init(g, step_columns, sizeof step_columns / sizeof *step_columns);
    for (size_t i = 0; i < shown(v, v->line_count); i++) {
        const struct line *l = &v->lines[i];
        add_place(g, t, l->first);
        if (plumb_activations_has(t, l->first, PLUMB_ACT_RANK) && t->rank[l->first])
            plumb_grid_signed(g, t->rank[l->first]);
        else
            plumb_grid_none(g);
        if (plumb_activations_has(t, l->first, PLUMB_ACT_STEP))
            plumb_grid_signed(g, t->step[l->first]);
        else
            plumb_grid_none(g);
        plumb_grid_whole(g, l->records);
        add_real(g, mean_of(l->abs_mean, l->abs_means), l->abs_means > 0);
        plumb_grid_real(g, change_of(l));
        add_figures(g, l);
    }
}

/* ---- Suspects -------------------------------------------------------------------------------- */

static const struct plumb_grid_column suspect_columns[] = {
    {"suspect", "Suspect", PLUMB_GRID_TEXT,
     "what is odd: NaN or infinite values, values from 90 % of the largest of their type on, "
     "tensors that are all zero or all one value"},
    {"module", "Module", PLUMB_GRID_TEXT, NULL},
    {"tensor", "Tensor", PLUMB_GRID_TEXT, NULL},
    {"io", "Dir", PLUMB_GRID_TEXT, "output, input, gradient or parameter of the module"},
    {"step", "Step", PLUMB_GRID_WHOLE, "in which it was first seen"},
    {"call", "Call", PLUMB_GRID_WHOLE, "of the module in that step"},
    {"records", "Records", PLUMB_GRID_COUNT, "that show it"},
    {"of", "Of", PLUMB_GRID_COUNT, "records of this tensor"},
    {"detail", "Worst", PLUMB_GRID_TEXT, "of its records"},
};

/* "12 of 4096 values", "0.992 of the largest float16". */
static void put_detail(struct plumb_buf *out, const struct plumb_activations *t,
                       const struct plumb_suspect *s)
{
    switch (s->kind) {
    case PLUMB_SUSPECT_NAN:
    case PLUMB_SUSPECT_INF:
        if (isnan(s->worst)) {
            plumb_buf_str(out, "its statistics are");
            break;
        }
        plumb_buf_printf(out, "%.0f", s->worst);
        if (plumb_activations_has(t, s->first, PLUMB_ACT_SHAPE))
            plumb_buf_printf(out, " of %llu",
                             (unsigned long long)plumb_activations_elements(t, t->shape[s->first]));
        plumb_buf_str(out, " values");
        break;
    case PLUMB_SUSPECT_NEAR_MAX:
        plumb_buf_printf(out, "%.1f %% of the largest ", 100 * s->worst);
        plumb_buf_str(out, plumb_activations_text(t, t->dtype[s->first]));
        break;
    case PLUMB_SUSPECT_CONSTANT:
        plumb_buf_str(out, "all ");
        plumb_put_figure(out, s->worst);
        break;
    default:
        break;
    }
}

static size_t suspects_shown(const struct view *v)
{
    size_t top = v->o->top > 0                              ? (size_t)v->o->top
                 : v->o->kind == PLUMB_ACTIVATIONS_SUSPECTS ? v->suspects.count
                                                            : SUSPECTS_SHOWN;
    return top < v->suspects.count ? top : v->suspects.count;
}

static void fill_suspects(struct plumb_grid *g, const struct view *v)
{
    const struct plumb_activations *t = v->t;
    plumb_grid_init(g, suspect_columns, sizeof suspect_columns / sizeof *suspect_columns);
    for (size_t i = 0; i < suspects_shown(v); i++) {
        const struct plumb_suspect *s = &v->suspects.at[i];
        struct plumb_buf detail = {0};
        plumb_grid_text(g, plumb_suspect_name(s->kind));
        add_name(g, t, t->module, s->first);
        add_name(g, t, t->tensor, s->first);
        plumb_grid_text(g, io_name(t, s->first));
        if (plumb_activations_has(t, s->first, PLUMB_ACT_STEP))
            plumb_grid_signed(g, t->step[s->first]);
        else
            plumb_grid_none(g);
        plumb_grid_signed(g, t->call ? (int64_t)t->call[s->first] : 0);
        plumb_grid_whole(g, s->records);
        plumb_grid_whole(g, s->of);
        put_detail(&detail, t, s);
        if (detail.len)
            plumb_grid_copy(g, detail.data);
        else
            plumb_grid_none(g);
        g->failed |= detail.failed;
        plumb_buf_fini(&detail);
    }
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* "1,404 records of 313 tensors in 4 steps, plumb JSONL". */
static void put_headline(const struct view *v, struct plumb_buf *out, bool md)
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

static void put_page(const struct view *v, struct plumb_buf *out, bool md)
{
    struct plumb_render_options options = {.explain = v->o->explain};
    struct plumb_render_input in = {.options = &options};
    struct plumb_page p;
    struct plumb_grid g;
    plumb_page_begin(&p, &in, out, md);
    put_headline(v, out, md);
    if (v->o->kind != PLUMB_ACTIVATIONS_STEPS && v->suspects.count) {
        plumb_page_title(&p, "Suspects");
        fill_suspects(&g, v);
        plumb_page_grid(&p, &g);
        plumb_page_more(&p, v->suspects.count - suspects_shown(v));
    }
    if (v->o->kind != PLUMB_ACTIVATIONS_SUSPECTS) {
        bool steps = v->o->kind == PLUMB_ACTIVATIONS_STEPS;
        plumb_page_title(&p, steps ? "Layers over steps" : "Layers");
        if (steps)
            fill_steps(&g, v);
        else
            fill_layers(&g, v);
        plumb_page_grid(&p, &g);
        plumb_page_more(&p, v->line_count - shown(v, v->line_count));
    }
    plumb_page_end(&p);
}

static void put_text(const struct view *v, struct plumb_buf *out)
{
    put_page(v, out, false);
}

static void put_md(const struct view *v, struct plumb_buf *out)
{
    put_page(v, out, true);
}

static void put_csv(const struct view *v, struct plumb_buf *out)
{
    struct plumb_grid g;
    if (v->o->kind == PLUMB_ACTIVATIONS_SUSPECTS)
        fill_suspects(&g, v);
    else if (v->o->kind == PLUMB_ACTIVATIONS_STEPS)
        fill_steps(&g, v);
    else
        fill_layers(&g, v);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, *text ? text : NULL);
}

static void json_count(struct plumb_json *j, const char *key, uint64_t n)
{
    plumb_json_key(j, key);
    plumb_json_u64(j, n);
}

static void json_real(struct plumb_json *j, const char *key, double value)
{
    plumb_json_key(j, key);
    plumb_json_f64(j, value);
}

static void json_place(struct plumb_json *j, const struct plumb_activations *t, size_t i)
{
    json_text(j, "module", plumb_activations_text(t, t->module[i]));
    json_text(j, "tensor", plumb_activations_text(t, t->tensor[i]));
    json_text(j, "io", io_name(t, i));
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
    plumb_json_array_inline(j);
    for (size_t d = 0; d < ndim; d++)
        plumb_json_i64(j, sizes[d]);
    plumb_json_array_end(j);
}

static void json_line(struct plumb_json *j, const struct view *v, const struct line *l)
{
    const struct plumb_activations *t = v->t;
    bool steps = v->o->kind == PLUMB_ACTIVATIONS_STEPS;
    plumb_json_object_inline(j);
    json_place(j, t, l->first);
    if (steps)
        json_step(j, t, l->first);
    json_count(j, "records", l->records);
    if (!steps) {
        json_count(j, "steps", plumb_activations_has(t, l->first, PLUMB_ACT_STEP) ? l->steps : 0);
        json_text(j, "dtype", t->dtype ? plumb_activations_text(t, t->dtype[l->first]) : "");
        json_shape(j, t, l->first);
    }
    json_real(j, "abs_mean", mean_of(l->abs_mean, l->abs_means));
    if (steps)
        json_real(j, "change_percent", change_of(l));
    json_real(j, "std", mean_of(l->std, l->stds));
    json_real(j, "l2", mean_of(l->l2, l->l2s));
    json_real(j, "min", l->min);
    json_real(j, "max", l->max);
    json_count(j, "nan", l->nan);
    json_count(j, "inf", l->inf);
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
    json_count(j, "call", t->call ? t->call[s->first] : 0);
    json_count(j, "records", s->records);
    json_count(j, "of", s->of);
    json_real(j, "worst", s->worst);
    put_detail(&detail, t, s);
    json_text(j, "detail", detail.data ? detail.data : "");
    plumb_json_object_end(j);
    plumb_buf_fini(&detail);
}

static void put_json(const struct view *v, struct plumb_buf *out)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    json_text(&j, "path", v->t->path);
    json_text(&j, "kind", plumb_activation_format_name(v->t->format));
    json_count(&j, "records", v->t->count);
    json_count(&j, "modules", v->modules);
    json_count(&j, "steps", v->seen_steps);
    json_count(&j, "suspect_records", v->suspects.records);
    plumb_json_key(&j, "suspects");
    plumb_json_array(&j);
    for (size_t i = 0; i < (v->o->top ? suspects_shown(v) : v->suspects.count); i++)
        json_suspect(&j, v->t, &v->suspects.at[i]);
    plumb_json_array_end(&j);
    if (v->o->kind != PLUMB_ACTIVATIONS_SUSPECTS) {
        plumb_json_key(&j, v->o->kind == PLUMB_ACTIVATIONS_STEPS ? "layers_over_steps" : "layers");
        plumb_json_array(&j);
        for (size_t i = 0; i < shown(v, v->line_count); i++)
            json_line(&j, v, &v->lines[i]);
        plumb_json_array_end(&j);
    }
    plumb_json_object_end(&j);
}

/* ---- The view -------------------------------------------------------------------------------- */

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while showing activations");
}

/* Which modules are shown, and how many there are. */
static int take_modules(struct view *v, plumb_error *err)
{
    regex_t wanted;
    char why[128];
    bool any = false;
    const char *pattern = v->o->module;
    if (!(v->taken = calloc(v->t->text_count + 1, sizeof *v->taken)))
        return no_memory(err);
    int bad = pattern ? regcomp(&wanted, pattern, REG_EXTENDED | REG_NOSUB) : 0;
    if (bad) {
        regerror(bad, &wanted, why, sizeof why);
        return plumb_fail(err, PLUMB_ERR_ARG, "'%s' is no regular expression: %s", pattern, why);
    }
    bool *met = calloc(v->t->text_count + 1, sizeof *met);
    for (size_t i = 0; met && i < v->t->count; i++) {
        uint32_t id = v->t->module[i];
        if (met[id])
            continue;
        met[id] = true;
        v->modules++;
        v->taken[id] =
            !pattern || regexec(&wanted, plumb_activations_text(v->t, id), 0, NULL, 0) == 0;
        any |= v->taken[id];
    }
    if (pattern)
        regfree(&wanted);
    bool failed = !met;
    free(met);
    if (failed)
        return no_memory(err);
    if (!any)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no module of '%s' matches '%s'", v->t->path,
                          pattern);
    return PLUMB_OK;
}

/* Those of other modules go. */
static void keep_suspects(struct view *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->suspects.count; i++)
        if (v->taken[v->t->module[v->suspects.at[i].first]])
            v->suspects.at[kept++] = v->suspects.at[i];
    v->suspects.count = kept;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int count_steps(struct view *v, plumb_error *err)
{
    const struct plumb_activations *t = v->t;
    int64_t *steps = malloc((t->count + 1) * sizeof *steps);
    size_t n = 0;
    if (!steps)
        return no_memory(err);
    for (size_t i = 0; i < t->count; i++)
        if (plumb_activations_has(t, i, PLUMB_ACT_STEP) && (n == 0 || steps[n - 1] != t->step[i]))
            steps[n++] = t->step[i];
    if (n)
        qsort(steps, n, sizeof *steps, by_number);
    for (size_t i = 0; i < n; i++)
        v->seen_steps += i == 0 || steps[i] != steps[i - 1];
    free(steps);
    return PLUMB_OK;
}

int plumb_activations_render(struct plumb_buf *out, const struct plumb_activations *t,
                             const struct plumb_activations_view *view, plumb_error *err)
{
    static const struct {
        const char *name;
        void (*put)(const struct view *v, struct plumb_buf *out);
    } formats[] = {{"text", put_text}, {"json", put_json}, {"csv", put_csv}, {"md", put_md}};
    struct view v = {.t = t, .o = view};
    void (*put)(const struct view *, struct plumb_buf *) = NULL;
    bool steps = view->kind == PLUMB_ACTIVATIONS_STEPS;
    int rc;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, view->format ? view->format : "text") == 0)
            put = formats[i].put;
    if (!put)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "activations have no format '%s': text, json, csv, md", view->format);
    if ((rc = take_modules(&v, err)) < 0 || (rc = count_steps(&v, err)) < 0 ||
        (rc = plumb_suspects_find(&v.suspects, t, err)) < 0)
        goto out;
    keep_suspects(&v);
    if (!make_lines(&v, steps) || (steps && !group_by_layer(&v))) {
        rc = no_memory(err);
        goto out;
    }
    put(&v, out);
    if (out->failed)
        rc = no_memory(err);
out:
    plumb_suspects_fini(&v.suspects);
    free(v.lines);
    free(v.taken);
    return rc;
}
