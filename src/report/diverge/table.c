/* table.c: the side-by-side table, a row a pair of records, and that of full tensors. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/diverge/view.h"
#include "summary/cells.h"

/* The limit from which FastVideo's comparison marks a difference, in parts of the mean magnitude.
 */
static const double FLAGGED = 0.005;

static const struct plumb_grid_column columns[] = {
    {"step", "Step", PLUMB_GRID_FIGURE, NULL},
    {"call", "Call", PLUMB_GRID_COUNT, NULL},
    {"module", "Layer", PLUMB_GRID_TEXT, NULL},
    {"module_b", "Layer in B", PLUMB_GRID_TEXT, NULL},
    {"tensor", "Tensor", PLUMB_GRID_TEXT, NULL},
    {"abs_mean_a", "A abs_mean", PLUMB_GRID_FIGURE, NULL},
    {"abs_mean_b", "B abs_mean", PLUMB_GRID_FIGURE, NULL},
    {"abs_diff", "Diff", PLUMB_GRID_FIGURE, NULL},
    {"relative_percent", "%", PLUMB_GRID_FIGURE, NULL},
    {"sum_a", "A sum", PLUMB_GRID_FIGURE, NULL},
    {"sum_b", "B sum", PLUMB_GRID_FIGURE, NULL},
    {"sum_diff", "Sum diff", PLUMB_GRID_FIGURE, NULL},
    {"statistic", "By", PLUMB_GRID_TEXT, NULL},
    {"a", "A", PLUMB_GRID_FIGURE, NULL},
    {"b", "B", PLUMB_GRID_FIGURE, NULL},
    {"moved_percent", "Moved %", PLUMB_GRID_FIGURE, NULL},
    {"tolerances", "Tolerances", PLUMB_GRID_FIGURE, NULL},
    {"verdict", "Verdict", PLUMB_GRID_TEXT, NULL},
    {"flag", "", PLUMB_GRID_TEXT, NULL},
    {"dtype_a", "A type", PLUMB_GRID_TEXT, NULL},
    {"dtype_b", "B type", PLUMB_GRID_TEXT, NULL},
};

static const struct plumb_grid_column tensor_columns[] = {
    {"step", "Step", PLUMB_GRID_FIGURE, NULL},
    {"call", "Call", PLUMB_GRID_COUNT, NULL},
    {"module", "Layer", PLUMB_GRID_TEXT, NULL},
    {"tensor", "Tensor", PLUMB_GRID_TEXT, NULL},
    {"max", "Max diff", PLUMB_GRID_FIGURE, NULL},
    {"mean", "Mean diff", PLUMB_GRID_FIGURE, NULL},
    {"median", "Median diff", PLUMB_GRID_FIGURE, NULL},
    {"cosine", "Cosine", PLUMB_GRID_FIGURE, NULL},
    {"beyond", "Beyond", PLUMB_GRID_COUNT, NULL},
    {"count", "Values", PLUMB_GRID_COUNT, NULL},
    {"first", "First index", PLUMB_GRID_TEXT, NULL},
    {"note", "Note", PLUMB_GRID_TEXT, NULL},
};

const char *plumb_diverge_verdict_name(uint8_t verdict)
{
    static const char *const names[PLUMB_SAID_COUNT] = {
        "not compared", "equal", "close", "layout", "shuffled", "differs", "shape", "nan", "inf"};
    return names[verdict];
}

const char *plumb_diverge_how_name(uint8_t how)
{
    static const char *const names[PLUMB_HOW_COUNT] = {
        "none", "name", "map", "evidence", "kind", "order", "moved", "joined", "inputs"};
    return names[how];
}

const char *plumb_diverge_kind_name(enum plumb_diverge_kind kind)
{
    static const char *const names[] = {"same",    "jump",    "drift", "start",
                                        "outside", "between", "lost",  "missing"};
    return names[kind];
}

const char *plumb_diverge_inputs_name(enum plumb_diverge_inputs inputs)
{
    static const char *const names[] = {"unknown", "recorded", "by contents", "is an input"};
    return names[inputs];
}

static uint32_t partner_of(const struct plumb_diverge_sheet *s, uint32_t a)
{
    return s->d->sides[PLUMB_DIVERGE_A].partner[a];
}

static double stat_of(const struct plumb_diverge_sheet *s, int side, uint32_t record,
                      enum plumb_activation_field field)
{
    return plumb_activations_stat(s->d->sides[side].t, record, field);
}

double plumb_diverge_relative(const struct plumb_diverge_sheet *s, uint32_t a)
{
    uint32_t b = partner_of(s, a);
    if (b == PLUMB_DIVERGE_NONE)
        return (double)NAN;
    double x = fabs(stat_of(s, PLUMB_DIVERGE_A, a, PLUMB_ACT_ABS_MEAN));
    double y = fabs(stat_of(s, PLUMB_DIVERGE_B, b, PLUMB_ACT_ABS_MEAN));
    double scale = x > 0 ? x : y;
    return x == y ? 0 : fabs(x - y) / scale;
}

bool plumb_diverge_flag(const struct plumb_diverge_sheet *s, uint32_t a)
{
    uint32_t b = partner_of(s, a);
    if (b == PLUMB_DIVERGE_NONE)
        return false;
    double allowed = plumb_diverge_tolerance(s->d, a, b).relative;
    double relative = plumb_diverge_relative(s, a);
    bool culprit = a == s->d->culprit.a && s->d->culprit.kind != PLUMB_DIVERGE_DRIFT;
    return plumb_diverge_is_wrong(s->d->cells[a].verdict) || culprit ||
           relative > (allowed > FLAGGED ? allowed : FLAGGED);
}

/* Shows NaN as a value: an empty cell would say that the figure was not recorded. */
static void put_figure(struct plumb_grid *g, const struct plumb_activations *t, uint32_t record,
                       enum plumb_activation_field field)
{
    double value = plumb_activations_stat(t, record, field);
    if (plumb_activations_has(t, record, field) && isnan(value))
        plumb_grid_text(g, "NaN");
    else
        plumb_grid_real(g, value);
}

/* Differences need three digits: only their size matters. */
static void put_rough(struct plumb_grid *g, double value)
{
    double power = value > 0 && isfinite(value) ? pow(10, 2 - floor(log10(value))) : 0;
    plumb_grid_real(g, power > 0 && isfinite(power) ? round(value * power) / power : value);
}

static void put_step(struct plumb_grid *g, const struct plumb_activations *t, uint32_t record)
{
    if (plumb_activations_has(t, record, PLUMB_ACT_STEP))
        plumb_grid_real(g, t->step ? (double)t->step[record] : 0);
    else
        plumb_grid_none(g);
}

static void put_call(struct plumb_grid *g, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    if (s->calls)
        plumb_grid_whole(g, ta->call ? ta->call[a] : 0);
    else
        plumb_grid_none(g);
}

static const char *shown(const char *name)
{
    return name[0] ? name : "(no name)";
}

static void put_names(struct plumb_grid *g, const struct plumb_diverge_sheet *s, uint32_t a,
                      uint32_t b)
{
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = s->d->sides[PLUMB_DIVERGE_B].t;
    plumb_grid_text(g, shown(plumb_activations_text(ta, ta->module[a])));
    if (s->names)
        plumb_grid_text(g, shown(plumb_activations_text(tb, tb->module[b])));
    else
        plumb_grid_none(g);
    plumb_grid_text(g, shown(plumb_activations_text(ta, ta->tensor[a])));
}

/* The field that decided, if the mean magnitude was not recorded on both sides. */
static void put_decisive(struct plumb_grid *g, const struct plumb_diverge_sheet *s, uint32_t a,
                         uint32_t b)
{
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = s->d->sides[PLUMB_DIVERGE_B].t;
    uint32_t common = ta->has[a] & tb->has[b];
    enum plumb_activation_field field = (enum plumb_activation_field)s->d->cells[a].field;
    if (common >> PLUMB_ACT_ABS_MEAN & 1) {
        plumb_grid_nones(g, 3);
        return;
    }
    for (enum plumb_activation_field f = PLUMB_ACT_REALS; f-- > 0 && field >= PLUMB_ACT_REALS;)
        if (common >> f & 1)
            field = f;
    if (field >= PLUMB_ACT_REALS) {
        plumb_grid_nones(g, 3);
        return;
    }
    plumb_grid_text(g, plumb_activation_field_name(field));
    put_figure(g, ta, a, field);
    put_figure(g, tb, b, field);
}

static void put_row(struct plumb_grid *g, const struct plumb_diverge_sheet *s, uint32_t a)
{
    uint32_t b = partner_of(s, a);
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = s->d->sides[PLUMB_DIVERGE_B].t;
    const struct plumb_diverge_cell *cell = &s->d->cells[a];
    put_step(g, ta, a);
    put_call(g, s, a);
    put_names(g, s, a, b);
    put_figure(g, ta, a, PLUMB_ACT_ABS_MEAN);
    put_figure(g, tb, b, PLUMB_ACT_ABS_MEAN);
    put_rough(g, fabs(stat_of(s, PLUMB_DIVERGE_A, a, PLUMB_ACT_ABS_MEAN) -
                      stat_of(s, PLUMB_DIVERGE_B, b, PLUMB_ACT_ABS_MEAN)));
    put_rough(g, 100 * plumb_diverge_relative(s, a));
    put_figure(g, ta, a, PLUMB_ACT_SUM);
    put_figure(g, tb, b, PLUMB_ACT_SUM);
    put_rough(g, fabs(stat_of(s, PLUMB_DIVERGE_A, a, PLUMB_ACT_SUM) -
                      stat_of(s, PLUMB_DIVERGE_B, b, PLUMB_ACT_SUM)));
    put_decisive(g, s, a, b);
    put_rough(g, 100 * plumb_diverge_moved(s->d, a, b, NULL, NULL));
    put_rough(g, (double)cell->excess);
    plumb_grid_text(g, plumb_diverge_verdict_name(cell->verdict));
    plumb_grid_text(g, plumb_diverge_flag(s, a) ? "<<< DIVERGE" : NULL);
    if (plumb_diverge_retyped(s->d, a, b)) {
        plumb_grid_text(g, plumb_activations_text(ta, ta->dtype[a]));
        plumb_grid_text(g, plumb_activations_text(tb, tb->dtype[b]));
    } else
        plumb_grid_nones(g, 2);
}

void plumb_diverge_rows(struct plumb_grid *g, const struct plumb_diverge_sheet *s)
{
    plumb_grid_init(g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->row_count; i++)
        put_row(g, s, s->rows[i]);
}

/* ---- Full tensors ---------------------------------------------------------------------------- */

void plumb_diverge_put_first(struct plumb_buf *out, const struct plumb_tensor_diff *diff)
{
    plumb_buf_char(out, '[');
    for (int i = 0; i < diff->ndim; i++)
        plumb_buf_printf(out, "%s%" PRId64, i > 0 ? ", " : "", diff->first[i]);
    plumb_buf_str(out, "]: ");
    plumb_put_figure(out, diff->first_a);
    plumb_buf_str(out, " against ");
    plumb_put_figure(out, diff->first_b);
}

static void put_index(struct plumb_grid *g, const struct plumb_tensor_diff *diff)
{
    struct plumb_buf text = {0};
    if (diff->unequal == 0) {
        plumb_grid_none(g);
        return;
    }
    plumb_diverge_put_first(&text, diff);
    g->failed |= text.failed;
    plumb_grid_copy(g, text.data ? text.data : "");
    plumb_buf_fini(&text);
}

static void put_tensor(struct plumb_grid *g, const struct plumb_diverge_sheet *s,
                       const struct plumb_diverge_tensor *tensor)
{
    const struct plumb_activations *ta = s->d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_tensor_diff *diff = &tensor->diff;
    put_step(g, ta, tensor->a);
    put_call(g, s, tensor->a);
    plumb_grid_text(g, shown(plumb_activations_text(ta, ta->module[tensor->a])));
    plumb_grid_text(g, shown(plumb_activations_text(ta, ta->tensor[tensor->a])));
    if (!tensor->compared) {
        plumb_grid_nones(g, 7);
        plumb_grid_text(g, tensor->why.message);
        return;
    }
    put_rough(g, diff->max);
    put_rough(g, diff->mean);
    put_rough(g, diff->median);
    plumb_grid_real(g, diff->cosine);
    plumb_grid_whole(g, diff->beyond);
    plumb_grid_whole(g, diff->count);
    put_index(g, diff);
    plumb_grid_text(g, diff->sampled ? "median of evenly spaced values" : NULL);
}

size_t plumb_diverge_tensors(struct plumb_grid *g, const struct plumb_diverge_sheet *s)
{
    size_t n = s->d->tensor_count;
    size_t most = s->view->all || n < s->top ? n : s->top;
    size_t begin = 0;
    while (begin < n - most && s->d->tensors[begin].a < s->rows[0]) /* those of the rows shown */
        begin++;
    plumb_grid_init(g, tensor_columns, sizeof tensor_columns / sizeof *tensor_columns);
    for (size_t i = 0; i < most; i++)
        put_tensor(g, s, &s->d->tensors[begin + i]);
    return n - most;
}
