/* table.c: the grids of `plumb activations`. */
#include <math.h>

#include "codec/json_write.h"
#include "report/activation/parts.h"
#include "report/table/page.h"
#include <plumb/read/activation.h>

enum { SUSPECTS_SHOWN = 10 };

/* ---- Cells ----------------------------------------------------------------------------------- */

static void add_real(struct plumb_grid *g, double value, bool known)
{
    if (known && !isfinite(value))
        plumb_grid_text(g, plumb_json_special(value));
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

const char *plumb_act_io_name(const struct plumb_activations *t, size_t i)
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
    {"sample", "Sample", PLUMB_GRID_TEXT, "values at equal distances, of the first record"},
    {"magnitudes", "Magnitudes", PLUMB_GRID_TEXT,
     "share of the values that are zero, or whose magnitude lies from 2^n to 16 times that"},
};

/* Module, tensor, direction, phase. */
static void add_place(struct plumb_grid *g, const struct plumb_activations *t, uint32_t i)
{
    add_name(g, t, t->module, i);
    add_name(g, t, t->tensor, i);
    plumb_grid_text(g, plumb_act_io_name(t, i));
    add_name(g, t, t->phase, i);
}

static void add_text(struct plumb_grid *g, struct plumb_buf *text)
{
    if (text->len)
        plumb_grid_copy(g, text->data);
    else
        plumb_grid_none(g);
    g->failed |= text->failed;
    plumb_buf_fini(text);
}

/* "1.5 -2 3" */
static void add_sample(struct plumb_grid *g, const struct plumb_activations *t, size_t i)
{
    struct plumb_buf text = {0};
    size_t n;
    const double *numbers = plumb_activations_list(t, t->sample, i, &n);
    for (size_t k = 0; k < n; k++) {
        plumb_buf_str(&text, k ? " " : "");
        if (isfinite(numbers[k]))
            plumb_put_figure(&text, numbers[k]);
        else
            plumb_buf_str(&text, plumb_json_special(numbers[k]));
    }
    add_text(g, &text);
}

/* "zero 12 %, 2^-4 61 %, 2^0 27 %": those of half a percent and more. */
static void add_magnitudes(struct plumb_grid *g, const double *counts)
{
    struct plumb_buf text = {0};
    double total = 0;
    for (int k = 0; counts && k < PLUMB_ACT_BINS; k++)
        total += counts[k];
    for (int k = 0; counts && k < PLUMB_ACT_BINS; k++) {
        double percent = 100 * counts[k] / total;
        if (percent < 0.5)
            continue;
        plumb_buf_str(&text, text.len ? ", " : "");
        if (k == 0)
            plumb_buf_str(&text, "zero");
        else if (k == 1)
            plumb_buf_str(&text, "less");
        else
            plumb_buf_printf(&text, "2^%d", 4 * (k - 10));
        plumb_buf_printf(&text, " %.0f %%", percent);
    }
    add_text(g, &text);
}

/* The columns that follow the mean magnitude. */
static void add_figures(struct plumb_grid *g, const struct plumb_act_view *v,
                        const struct plumb_act_line *l)
{
    add_real(g, plumb_act_mean(l->std, l->stds), l->stds > 0);
    add_real(g, plumb_act_mean(l->l2, l->l2s), l->l2s > 0);
    plumb_grid_real(g, l->min);
    plumb_grid_real(g, l->max);
    add_count(g, l->nan);
    add_count(g, l->inf);
    add_sample(g, v->t, l->first);
    add_magnitudes(g, plumb_act_histogram(v, l));
}

size_t plumb_act_shown(const struct plumb_act_view *v, size_t rows)
{
    return v->o->top > 0 && v->o->top < rows ? (size_t)v->o->top : rows;
}

void plumb_act_fill_layers(struct plumb_grid *g, const struct plumb_act_view *v)
{
    const struct plumb_activations *t = v->t;
    plumb_grid_init(g, layer_columns, sizeof layer_columns / sizeof *layer_columns);
    for (size_t i = 0; i < plumb_act_shown(v, v->line_count); i++) {
        const struct plumb_act_line *l = &v->lines[i];
        add_place(g, t, l->first);
        plumb_grid_whole(g, l->records);
        if (plumb_activations_has(t, l->first, PLUMB_ACT_STEP))
            plumb_grid_whole(g, l->steps);
        else
            plumb_grid_none(g);
        add_name(g, t, t->dtype, l->first);
        add_shape(g, t, l->first);
        add_real(g, plumb_act_mean(l->abs_mean, l->abs_means), l->abs_means > 0);
        add_figures(g, v, l);
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
    {"sample", "Sample", PLUMB_GRID_TEXT, "values at equal distances, of the first record"},
    {"magnitudes", "Magnitudes", PLUMB_GRID_TEXT,
     "share of the values that are zero, or whose magnitude lies from 2^n to 16 times that"},
};

void plumb_act_fill_steps(struct plumb_grid *g, const struct plumb_act_view *v)
{
    const struct plumb_activations *t = v->t;
    plumb_grid_init(g, step_columns, sizeof step_columns / sizeof *step_columns);
    for (size_t i = 0; i < plumb_act_shown(v, v->line_count); i++) {
        const struct plumb_act_line *l = &v->lines[i];
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
        add_real(g, plumb_act_mean(l->abs_mean, l->abs_means), l->abs_means > 0);
        plumb_grid_real(g, plumb_act_change(l));
        add_figures(g, v, l);
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

void plumb_act_put_detail(struct plumb_buf *out, const struct plumb_activations *t,
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

size_t plumb_act_suspects_shown(const struct plumb_act_view *v)
{
    size_t top = v->o->top > 0                              ? (size_t)v->o->top
                 : v->o->kind == PLUMB_ACTIVATIONS_SUSPECTS ? v->suspects.count
                                                            : SUSPECTS_SHOWN;
    return top < v->suspects.count ? top : v->suspects.count;
}

void plumb_act_fill_suspects(struct plumb_grid *g, const struct plumb_act_view *v)
{
    const struct plumb_activations *t = v->t;
    plumb_grid_init(g, suspect_columns, sizeof suspect_columns / sizeof *suspect_columns);
    for (size_t i = 0; i < plumb_act_suspects_shown(v); i++) {
        const struct plumb_suspect *s = &v->suspects.at[i];
        struct plumb_buf detail = {0};
        plumb_grid_text(g, plumb_suspect_name(s->kind));
        add_name(g, t, t->module, s->first);
        add_name(g, t, t->tensor, s->first);
        plumb_grid_text(g, plumb_act_io_name(t, s->first));
        if (plumb_activations_has(t, s->first, PLUMB_ACT_STEP))
            plumb_grid_signed(g, t->step[s->first]);
        else
            plumb_grid_none(g);
        plumb_grid_signed(g, t->call ? (int64_t)t->call[s->first] : 0);
        plumb_grid_whole(g, s->records);
        plumb_grid_whole(g, s->of);
        plumb_act_put_detail(&detail, t, s);
        if (detail.len)
            plumb_grid_copy(g, detail.data);
        else
            plumb_grid_none(g);
        g->failed |= detail.failed;
        plumb_buf_fini(&detail);
    }
}
