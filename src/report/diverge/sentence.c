/* sentence.c: what differs between two records, in words. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec/decimal.h"
#include "report/diverge/words.h"
#include "summary/cells.h"

static const struct plumb_activations *table(const struct plumb_diverge_sheet *s, int side)
{
    return s->d->sides[side].t;
}

static const char *text_of(const struct plumb_activations *t, uint32_t id)
{
    return plumb_activations_text(t, id);
}

void plumb_diverge_put_name(struct plumb_buf *out, const char *name)
{
    plumb_put_left(out, name[0] ? name : "(no name)", 0);
}

void plumb_diverge_put_percent(struct plumb_buf *out, double part)
{
    double percent = 100 * part;
    if (percent > 0 && percent < 0.1) {
        char number[32];
        snprintf(number, sizeof number, "%.1e", percent);
        plumb_decimal_point(number);
        plumb_buf_str(out, number);
    } else
        plumb_put_fixed(out, percent, 1, 0);
    plumb_buf_str(out, " %");
}

void plumb_diverge_put_record(struct plumb_buf *out, const struct plumb_activations *t,
                              uint32_t record)
{
    plumb_diverge_put_name(out, text_of(t, t->module[record]));
    plumb_buf_char(out, ' ');
    plumb_diverge_put_name(out, text_of(t, t->tensor[record]));
    if (plumb_activations_has(t, record, PLUMB_ACT_STEP))
        plumb_buf_printf(out, " step %" PRId64, t->step ? t->step[record] : 0);
    if (t->call && t->call[record] > 0)
        plumb_buf_printf(out, " call %" PRIu32, t->call[record]);
    if (t->rank && plumb_activations_has(t, record, PLUMB_ACT_RANK) && t->rank[record] > 0)
        plumb_buf_printf(out, " rank %" PRId32, t->rank[record]);
}

bool plumb_diverge_same_module(const struct plumb_diverge_sheet *s, uint32_t a, uint32_t b)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    return strcmp(text_of(ta, ta->module[a]), text_of(tb, tb->module[b])) == 0;
}

void plumb_diverge_put_pair(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[a];
    plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_A), a);
    if (b != PLUMB_DIVERGE_NONE && !plumb_diverge_same_module(s, a, b)) {
        plumb_buf_str(out, " (in B: ");
        plumb_diverge_put_name(out, text_of(tb, tb->module[b]));
        plumb_buf_char(out, ')');
    }
}

/* ---- What differs ---------------------------------------------------------------------------- */

static void put_shape(struct plumb_buf *out, const struct plumb_activations *t, uint32_t record)
{
    size_t ndim;
    const int64_t *sizes = plumb_activations_shape(t, t->shape ? t->shape[record] : 0, &ndim);
    plumb_buf_char(out, '[');
    for (size_t i = 0; i < ndim; i++)
        plumb_buf_printf(out, "%s%" PRId64, i > 0 ? ", " : "", sizes[i]);
    plumb_buf_char(out, ']');
}

static void put_count(struct plumb_buf *out, const struct plumb_activations *t, uint32_t record,
                      bool nan)
{
    enum plumb_activation_field field = nan ? PLUMB_ACT_NAN : PLUMB_ACT_POS_INF;
    uint64_t n = plumb_activations_whole(t, record, field);
    if (!nan)
        n += plumb_activations_whole(t, record, PLUMB_ACT_NEG_INF);
    if (!plumb_activations_has(t, record, field)) {
        bool some = nan ? plumb_diverge_has_nan(t, record) : plumb_diverge_has_inf(t, record);
        plumb_buf_str(out, some ? "some" : "none");
    } else if (n == 0)
        plumb_buf_str(out, "none");
    else
        plumb_buf_printf(out, "%" PRIu64, n);
}

/* Where the counts are known: those of +Inf and of -Inf; otherwise the figures that show them. */
static void put_infinities(struct plumb_buf *out, const struct plumb_activations *t,
                           uint32_t record)
{
    bool first = true;
    if (plumb_activations_has(t, record, PLUMB_ACT_POS_INF) ||
        plumb_activations_has(t, record, PLUMB_ACT_NEG_INF)) {
        plumb_buf_printf(out, "%" PRIu64 " of +Inf and %" PRIu64 " of -Inf",
                         plumb_activations_whole(t, record, PLUMB_ACT_POS_INF),
                         plumb_activations_whole(t, record, PLUMB_ACT_NEG_INF));
        return;
    }
    for (enum plumb_activation_field f = PLUMB_ACT_SUM; f < PLUMB_ACT_STD; f++) {
        double value = plumb_activations_stat(t, record, f);
        if (!plumb_activations_has(t, record, f) || !isinf(value))
            continue;
        plumb_buf_printf(out, "%s%s %s", first ? "" : ", ", plumb_activation_field_name(f),
                         value > 0 ? "Inf" : "-Inf");
        first = false;
    }
    plumb_buf_str(out, first ? "some" : "");
}

/* Both sides have such values, not the same ones. */
static void put_other_kinds(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                            uint32_t b, bool nan)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    plumb_buf_printf(out, "%s on both sides, but not the same: ", nan ? "NaN" : "Inf");
    if (nan) {
        put_count(out, ta, a, nan);
        plumb_buf_str(out, " in A, ");
        put_count(out, tb, b, nan);
    } else {
        put_infinities(out, ta, a);
        plumb_buf_str(out, " in A, ");
        put_infinities(out, tb, b);
    }
    plumb_buf_str(out, " in B");
}

static void put_birth(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                      uint32_t b, bool nan)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    bool born = nan ? plumb_diverge_has_nan(ta, a) != plumb_diverge_has_nan(tb, b)
                    : plumb_diverge_has_inf(ta, a) != plumb_diverge_has_inf(tb, b);
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    bool before = c->born_b != PLUMB_DIVERGE_NONE || c->born_a < a;
    if (born) {
        plumb_buf_printf(out, "%s %s: ", nan ? "NaN" : "Inf",
                         before ? "on one side only" : "is born here");
        put_count(out, ta, a, nan);
        plumb_buf_str(out, " in A, ");
        put_count(out, tb, b, nan);
        plumb_buf_str(out, " in B");
    } else {
        put_other_kinds(out, s, a, b, nan);
    }
    if (plumb_activations_has(tb, b, PLUMB_ACT_SHAPE) && tb->shape)
        plumb_buf_printf(out, " of %" PRIu64 " values",
                         plumb_activations_elements(tb, tb->shape[b]));
}

/* The figure that the sentence names: the mean magnitude, which people know, if it is beyond
 * tolerance as well; otherwise the one that decided. */
static enum plumb_activation_field field_to_tell(const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_diverge_cell *cell = &s->d->cells[a];
    double relative = plumb_diverge_relative(s, a);
    struct plumb_tolerance t =
        plumb_diverge_tolerance(s->d, a, s->d->sides[PLUMB_DIVERGE_A].partner[a]);
    return relative > t.relative ? PLUMB_ACT_ABS_MEAN : (enum plumb_activation_field)cell->field;
}

/* The statistics agree, but the values that they were made of differ. */
static void put_values(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_tensor_diff *diff = &plumb_diverge_tensor_of(s->d, a)->diff;
    if (diff->odd > 0) {
        plumb_buf_printf(out, "%" PRIu64 " %s NaN or Inf on one side only, first at ", diff->odd,
                         diff->odd == 1 ? "value is" : "values are");
        plumb_diverge_put_first(out, diff);
        plumb_buf_str(out, ", though their statistics agree");
        return;
    }
    plumb_buf_str(out, "the values differ by ");
    plumb_diverge_put_percent(out, diff->relative);
    plumb_buf_str(out, " of the mean magnitude");
    if (!isnan(diff->cosine)) {
        plumb_buf_str(out, " (cosine ");
        plumb_put_figure(out, diff->cosine);
        plumb_buf_char(out, ')');
    }
    plumb_buf_str(out, ", first at ");
    plumb_diverge_put_first(out, diff);
    plumb_buf_str(out, ", though their statistics agree");
}

/* "1.5 -2 3" */
static void put_numbers(struct plumb_buf *out, const struct plumb_activations *t, uint32_t record)
{
    size_t n;
    const double *numbers = plumb_activations_list(t, t->sample, record, &n);
    for (size_t i = 0; i < n; i++) {
        plumb_buf_str(out, i ? " " : "");
        plumb_put_figure(out, numbers[i]);
    }
}

static void put_sample(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                       uint32_t b)
{
    if (isinf(s->d->cells[a].drift)) {
        plumb_buf_str(out, "a sampled value is NaN or Inf on one side only (");
    } else {
        plumb_buf_str(out, "the sampled values differ by ");
        plumb_diverge_put_percent(out, (double)s->d->cells[a].drift);
        plumb_buf_str(out, " of the mean magnitude (");
    }
    put_numbers(out, table(s, PLUMB_DIVERGE_A), a);
    plumb_buf_str(out, " against ");
    put_numbers(out, table(s, PLUMB_DIVERGE_B), b);
    plumb_buf_str(out, "), though their statistics agree");
}

bool plumb_diverge_put_source(struct plumb_buf *out, const struct plumb_activations *t,
                              uint32_t record)
{
    if (!t->file || !t->file[record])
        return false;
    plumb_put_left(out, text_of(t, t->file[record]), 0);
    if (t->line && t->line[record])
        plumb_buf_printf(out, ":%" PRIu32, t->line[record]);
    return true;
}

void plumb_diverge_put_types(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[a];
    plumb_buf_str(out, "element type ");
    plumb_put_left(out, text_of(ta, ta->dtype ? ta->dtype[a] : 0), 0);
    plumb_buf_str(out, " against ");
    plumb_put_left(out, text_of(tb, tb->dtype ? tb->dtype[b] : 0), 0);
}

/* "0.03 tolerances" */
static void put_tolerances(struct plumb_buf *out, double excess)
{
    char number[32];
    snprintf(number, sizeof number, "%.1g", excess);
    plumb_decimal_point(number);
    plumb_buf_printf(out, "%s tolerances", number);
}

/* Six digits, or as many as it takes for the two to differ. */
static void put_two(struct plumb_buf *out, double x, double y)
{
    struct plumb_buf a = {0};
    struct plumb_buf b = {0};
    plumb_put_figure(&a, x);
    plumb_put_figure(&b, y);
    if (x != y && a.data && b.data && strcmp(a.data, b.data) == 0) {
        char text[2][40];
        for (int digits = 7; digits <= 17; digits++) {
            snprintf(text[0], sizeof text[0], "%.*g", digits, x);
            snprintf(text[1], sizeof text[1], "%.*g", digits, y);
            if (strcmp(text[0], text[1]) != 0)
                break;
        }
        plumb_decimal_point(text[0]);
        plumb_decimal_point(text[1]);
        plumb_buf_printf(out, "%s against %s", text[0], text[1]);
    } else
        plumb_buf_printf(out, "%s against %s", a.data ? a.data : "", b.data ? b.data : "");
    out->failed |= a.failed | b.failed;
    plumb_buf_fini(&a);
    plumb_buf_fini(&b);
}

/* Why a pair within tolerance is not equal. */
static bool put_unequal(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                        uint32_t b)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    const struct plumb_diverge_tensor *tensor = plumb_diverge_tensor_of(s->d, a);
    if (s->d->cells[a].exact || s->d->cells[a].excess > 0)
        return false;
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
        double x = plumb_activations_stat(ta, a, f);
        double y = plumb_activations_stat(tb, b, f);
        if (!(ta->has[a] & tb->has[b] & 1u << f) || x == y || isnan(x) || isnan(y))
            continue;
        plumb_buf_printf(out, "%s ", plumb_activation_field_name(f));
        put_two(out, x, y);
        return true;
    }
    if (plumb_diverge_retyped(s->d, a, b))
        plumb_diverge_put_types(out, s, a);
    else if (tensor && tensor->compared && tensor->diff.unequal > 0)
        put_values(out, s, a);
    else if (ta->has[a] & tb->has[b] & (1u << PLUMB_ACT_HASH | 1u << PLUMB_ACT_HASH_ANY))
        plumb_buf_str(out, "the hashes differ, the statistics do not");
    else
        plumb_buf_str(out, "the sampled values differ, the statistics do not");
    return true;
}

static void put_figures(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                        uint32_t b)
{
    const struct plumb_diverge_cell *cell = &s->d->cells[a];
    enum plumb_activation_field field = field_to_tell(s, a);
    double factor = plumb_diverge_scale(s->d, a, b);
    if (put_unequal(out, s, a, b))
        return;
    if (cell->field == PLUMB_DIVERGE_BY_VALUES) {
        put_values(out, s, a);
        return;
    }
    if (cell->field == PLUMB_DIVERGE_BY_SAMPLE) {
        put_sample(out, s, a, b);
        return;
    }
    if (cell->field == PLUMB_DIVERGE_BY_TYPE) {
        plumb_diverge_put_types(out, s, a);
        return;
    }
    if (cell->field >= PLUMB_ACT_REALS) {
        plumb_buf_str(out, "the hashes differ");
        return;
    }
    double x = plumb_activations_stat(table(s, PLUMB_DIVERGE_A), a, field);
    double y = plumb_activations_stat(table(s, PLUMB_DIVERGE_B), b, field);
    plumb_buf_printf(out, "%s ", plumb_activation_field_name(field));
    put_two(out, x, y);
    plumb_buf_str(out, " (");
    plumb_diverge_put_percent(out, field == PLUMB_ACT_ABS_MEAN ? plumb_diverge_relative(s, a)
                                                               : (double)cell->drift);
    if (field == PLUMB_ACT_SUM || field == PLUMB_ACT_MEAN)
        plumb_buf_str(out, " of the mean magnitude");
    if (!plumb_diverge_is_wrong(cell->verdict)) {
        plumb_buf_str(out, ", ");
        put_tolerances(out, (double)cell->excess);
    }
    plumb_buf_char(out, ')');
    if (factor > 0) {
        plumb_buf_str(out, ", B is A times ");
        plumb_put_figure(out, factor);
        plumb_buf_str(out, " throughout");
    }
}

void plumb_diverge_put_difference(struct plumb_buf *out, const struct plumb_diverge_sheet *s,
                                  uint32_t a)
{
    uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[a];
    switch (s->d->cells[a].verdict) {
    case PLUMB_SAID_NAN:
    case PLUMB_SAID_INF:
        put_birth(out, s, a, b, s->d->cells[a].verdict == PLUMB_SAID_NAN);
        break;
    case PLUMB_SAID_SHAPE:
        plumb_buf_str(out, "shape ");
        put_shape(out, table(s, PLUMB_DIVERGE_A), a);
        plumb_buf_str(out, " against ");
        put_shape(out, table(s, PLUMB_DIVERGE_B), b);
        break;
    case PLUMB_SAID_SHUFFLED:
        plumb_buf_str(out, s->d->held
                               ? "the same values in another order"
                               : "the same values in another order, and what consumed them went "
                                 "wrong");
        break;
    default:
        put_figures(out, s, a, b);
    }
}
