/* diverge_sentence.c: the first divergence in words: one sentence, what must be known besides, and
 * what to record next. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "report/diverge_view.h"
#include "report/summary_table.h"

enum { MOST_NAMED = 5 };

static const struct plumb_activations *table(const struct plumb_diverge_sheet *s, int side)
{
    return s->d->sides[side].t;
}

static const char *text_of(const struct plumb_activations *t, uint32_t id)
{
    return plumb_activations_text(t, id);
}

static void put_name(struct plumb_buf *out, const char *name)
{
    plumb_put_left(out, name[0] ? name : "(no name)", 0);
}

static void put_percent(struct plumb_buf *out, double part)
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
    put_name(out, text_of(t, t->module[record]));
    plumb_buf_char(out, ' ');
    put_name(out, text_of(t, t->tensor[record]));
    if (plumb_activations_has(t, record, PLUMB_ACT_STEP))
        plumb_buf_printf(out, " step %" PRId64, t->step ? t->step[record] : 0);
    if (t->call && t->call[record] > 0)
        plumb_buf_printf(out, " call %" PRIu32, t->call[record]);
    if (t->rank && plumb_activations_has(t, record, PLUMB_ACT_RANK) && t->rank[record] > 0)
        plumb_buf_printf(out, " rank %" PRId32, t->rank[record]);
}

static bool same_module(const struct plumb_diverge_sheet *s, uint32_t a, uint32_t b)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    return strcmp(text_of(ta, ta->module[a]), text_of(tb, tb->module[b])) == 0;
}

/* A's name for it, and B's where that is another. */
static void put_pair(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[a];
    plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_A), a);
    if (b != PLUMB_DIVERGE_NONE && !same_module(s, a, b)) {
        plumb_buf_str(out, " (in B: ");
        put_name(out, text_of(tb, tb->module[b]));
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

static void put_birth(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                      uint32_t b, bool nan)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    plumb_buf_printf(out, "%s is born here: ", nan ? "NaN" : "Inf");
    put_count(out, ta, a, nan);
    plumb_buf_str(out, " in A, ");
    put_count(out, tb, b, nan);
    plumb_buf_str(out, " in B");
    if (plumb_activations_has(tb, b, PLUMB_ACT_SHAPE) && tb->shape)
        plumb_buf_printf(out, " of %" PRIu64 " values",
                         plumb_activations_elements(tb, tb->shape[b]));
}

/* The figure that people know is told where it is beyond tolerance as well. */
static enum plumb_activation_field field_to_tell(const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_diverge_cell *cell = &s->d->cells[a];
    double relative = plumb_diverge_relative(s, a);
    struct plumb_tolerance t =
        plumb_diverge_tolerance(s->d, a, s->d->sides[PLUMB_DIVERGE_A].partner[a]);
    return relative > t.relative ? PLUMB_ACT_ABS_MEAN : (enum plumb_activation_field)cell->field;
}

/* The statistics agree, the values that they are of do not. */
static void put_values(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_tensor_diff *diff = &plumb_diverge_tensor_of(s->d, a)->diff;
    plumb_buf_str(out, "the values differ by ");
    put_percent(out, diff->relative);
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

static void put_figures(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a,
                        uint32_t b)
{
    const struct plumb_diverge_cell *cell = &s->d->cells[a];
    enum plumb_activation_field field = field_to_tell(s, a);
    double factor = plumb_diverge_scale(s->d, a, b);
    if (cell->field == PLUMB_DIVERGE_BY_VALUES) {
        put_values(out, s, a);
        return;
    }
    if (cell->field >= PLUMB_ACT_REALS) {
        plumb_buf_str(out, "the hashes differ");
        return;
    }
    double x = plumb_activations_stat(table(s, PLUMB_DIVERGE_A), a, field);
    double y = plumb_activations_stat(table(s, PLUMB_DIVERGE_B), b, field);
    plumb_buf_printf(out, "%s ", plumb_activation_field_name(field));
    plumb_put_figure(out, x);
    plumb_buf_str(out, " against ");
    plumb_put_figure(out, y);
    plumb_buf_str(out, " (");
    put_percent(out,
                field == PLUMB_ACT_ABS_MEAN ? plumb_diverge_relative(s, a) : (double)cell->drift);
    if (field == PLUMB_ACT_SUM || field == PLUMB_ACT_MEAN)
        plumb_buf_str(out, " of the mean magnitude");
    plumb_buf_char(out, ')');
    if (factor > 0) {
        plumb_buf_str(out, ", B is A times ");
        plumb_put_figure(out, factor);
        plumb_buf_str(out, " throughout");
    }
}

static void put_difference(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
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
        plumb_buf_str(out, "the same values in another order, and what consumed them went wrong");
        break;
    default:
        put_figures(out, s, a, b);
    }
}

/* ---- What it consumed ------------------------------------------------------------------------ */

static bool all_equal(const struct plumb_diverge_sheet *s, uint32_t input)
{
    uint8_t verdict = s->d->cells[input].verdict;
    return verdict == PLUMB_SAID_EQUAL || verdict == PLUMB_SAID_LAYOUT;
}

static void put_inputs(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    bool none = c->input == PLUMB_DIVERGE_NONE;
    const char *matched = !none && all_equal(s, c->input) ? "equal" : "within tolerance";
    switch (c->inputs) {
    case PLUMB_INPUTS_RECORDED:
        plumb_buf_printf(out, ", inputs %s", matched);
        break;
    case PLUMB_INPUTS_BY_HASH:
        plumb_buf_printf(out, ", inputs %s (found by their contents: ", matched);
        put_pair(out, s, c->input);
        plumb_buf_char(out, ')');
        break;
    case PLUMB_INPUTS_IS_ONE:
        if (none)
            break;
        plumb_buf_str(out, ", given out by ");
        put_pair(out, s, c->input);
        plumb_buf_str(out, s->d->cells[c->input].verdict == PLUMB_SAID_NOTHING
                               ? ", which only A has"
                               : ", where it was right");
        break;
    case PLUMB_INPUTS_UNKNOWN:
        plumb_buf_str(out, ", inputs unknown");
        if (none)
            break;
        plumb_buf_str(out, " (the record before it, ");
        put_pair(out, s, c->input);
        plumb_buf_printf(out, ", is %s)", matched);
        break;
    }
}

/* ---- The sentence ---------------------------------------------------------------------------- */

static void put_same(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    size_t said = d->pairs - d->by_verdict[PLUMB_SAID_NOTHING];
    plumb_buf_printf(out, "no divergence: %zu %s", said,
                     said == 1 ? "pair of records is " : "pairs of records are ");
    if (d->by_verdict[PLUMB_SAID_EQUAL] == said)
        plumb_buf_str(out, "equal in every statistic");
    else
        plumb_buf_str(out, "within tolerance");
    if (d->widest == PLUMB_DIVERGE_NONE || !((double)d->cells[d->widest].excess > 0))
        return;
    plumb_buf_str(out, ", the farthest off is ");
    put_pair(out, s, d->widest);
    plumb_buf_printf(
        out, ": %s by ",
        plumb_activation_field_name((enum plumb_activation_field)d->cells[d->widest].field));
    put_percent(out, (double)d->cells[d->widest].drift);
}

static void put_drift(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    const struct plumb_diverge_culprit *c = &d->culprit;
    plumb_buf_str(out, "slow drift, no single culprit: from ");
    put_percent(out, (double)d->cells[c->a].drift);
    plumb_buf_str(out, " at ");
    put_pair(out, s, c->a);
    plumb_buf_str(out, " to ");
    put_percent(out, (double)d->cells[c->beyond].drift);
    plumb_buf_str(out, " at ");
    put_pair(out, s, c->beyond);
    plumb_buf_str(out, ", the first beyond tolerance: ");
    put_difference(out, s, c->beyond);
}

static const char *lead_of(enum plumb_diverge_kind kind)
{
    switch (kind) {
    case PLUMB_DIVERGE_START:
        return "different from the first record on: ";
    case PLUMB_DIVERGE_OUTSIDE:
        return "different input: ";
    default:
        return "first divergence: ";
    }
}

void plumb_diverge_put_sentence(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->kind == PLUMB_DIVERGE_SAME) {
        put_same(out, s);
        return;
    }
    if (c->kind == PLUMB_DIVERGE_DRIFT) {
        put_drift(out, s);
        return;
    }
    plumb_buf_str(out, lead_of(c->kind));
    put_pair(out, s, c->a);
    plumb_buf_str(out, ": ");
    put_difference(out, s, c->a);
    if (c->kind == PLUMB_DIVERGE_START)
        plumb_buf_str(out, ": the inputs or the seeds of the runs differ, or what comes before the "
                           "first record");
    else if (c->kind == PLUMB_DIVERGE_OUTSIDE)
        plumb_buf_str(out, ", and no record gave it out: another input, seed or weight");
    else
        put_inputs(out, s);
}

/* ---- Notes ----------------------------------------------------------------------------------- */

static void note_beyond(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->kind == PLUMB_DIVERGE_SAME || c->kind == PLUMB_DIVERGE_DRIFT || c->beyond == c->a)
        return;
    plumb_buf_str(out, "beyond tolerance it is first at ");
    put_pair(out, s, c->beyond);
    plumb_buf_str(out, ": ");
    put_difference(out, s, c->beyond);
    plumb_buf_char(out, '\n');
}

static void note_births(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->born_b != PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, "NaN or Inf stands first in a record that only B has: ");
        plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_B), c->born_b);
        plumb_buf_char(out, '\n');
    } else if (c->born_a != PLUMB_DIVERGE_NONE &&
               s->d->sides[PLUMB_DIVERGE_A].partner[c->born_a] == PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, "NaN or Inf stands first in a record that only A has: ");
        plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_A), c->born_a);
        plumb_buf_char(out, '\n');
    } else if (c->born_a != PLUMB_DIVERGE_NONE) {
        put_pair(out, s, c->born_a);
        plumb_buf_str(out, ": ");
        put_difference(out, s, c->born_a);
        plumb_buf_char(out, '\n');
    }
}

static void note_roots(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->roots == 0)
        return;
    plumb_buf_printf(out, "%" PRIu32 " more %s with inputs that match, first ", c->roots,
                     c->roots == 1 ? "record differs" : "records differ");
    put_pair(out, s, c->next_root);
    plumb_buf_char(out, '\n');
}

/* "180 by name, 40 by order and statistics" */
static void note_alignment(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    static const char *const words[PLUMB_HOW_COUNT] = {
        [PLUMB_HOW_NAME] = "by name",
        [PLUMB_HOW_MAP] = "by the map",
        [PLUMB_HOW_EVIDENCE] = "by order and statistics",
        [PLUMB_HOW_KIND] = "by order and kind of layer",
        [PLUMB_HOW_ORDER] = "by order and shape alone",
        [PLUMB_HOW_MOVED] = "by statistics, out of order",
        [PLUMB_HOW_JOINED] = "as a whole and its parts",
    };
    const struct plumb_diverge *d = s->d;
    bool first = true;
    plumb_buf_printf(out, "A has %zu records, B %zu; matched ", d->given[PLUMB_DIVERGE_A],
                     d->given[PLUMB_DIVERGE_B]);
    for (int how = PLUMB_HOW_NAME; how < PLUMB_HOW_COUNT; how++) {
        if (d->by_how[how] == 0)
            continue;
        plumb_buf_printf(out, "%s%zu %s", first ? "" : ", ", d->by_how[how], words[how]);
        first = false;
    }
    plumb_buf_char(out, '\n');
}

void plumb_diverge_put_joined(struct plumb_buf *out, const struct plumb_diverge_sheet *s,
                              const struct plumb_diverge_join *j)
{
    const struct plumb_activations *t = table(s, j->side);
    const struct plumb_activations *tw = table(s, !j->side);
    plumb_buf_printf(out, "%c's ", j->side == PLUMB_DIVERGE_A ? 'B' : 'A');
    put_name(out, text_of(tw, j->whole.module));
    plumb_buf_char(out, ' ');
    put_name(out, text_of(tw, j->whole.tensor));
    plumb_buf_printf(out, " is %c's ", j->side == PLUMB_DIVERGE_A ? 'A' : 'B');
    put_name(out, text_of(t, j->module));
    plumb_buf_char(out, ' ');
    put_name(out, text_of(t, j->tensor));
    if (j->dimension < 0)
        plumb_buf_str(out, ", value for value");
    else
        plumb_buf_printf(out, ", %s dimension %d", j->stacked ? "stacked in a new" : "joined in",
                         j->dimension);
    plumb_buf_str(out, j->by_kind ? " (as others of their kinds; their statistics are apart)"
                                  : " (counts, sums and shapes agree)");
}

/* What was taken for a whole and its parts. */
static void note_joins(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    for (size_t i = 0; i < s->d->join_count && i < MOST_NAMED; i++) {
        plumb_diverge_put_joined(out, s, &s->d->joins[i]);
        plumb_buf_char(out, '\n');
    }
    if (s->d->join_count > MOST_NAMED)
        plumb_buf_printf(out, "and %zu more wholes with their parts\n",
                         s->d->join_count - MOST_NAMED);
}

static void note_unmatched(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    size_t named = 0;
    size_t records = 0;
    size_t sites = 0;
    struct plumb_buf names = {0};
    for (uint32_t k = 0; k < x->site_count; k++) {
        size_t alone = 0;
        for (uint32_t i = 0; i < x->sites[k].count && !x->sites[k].is_part; i++)
            alone += x->partner[x->records[x->sites[k].begin + i]] == PLUMB_DIVERGE_NONE;
        records += alone;
        sites += alone > 0;
        if (alone == 0 || named == MOST_NAMED)
            continue;
        plumb_buf_str(&names, named++ > 0 ? ", " : "");
        put_name(&names, text_of(x->t, x->sites[k].module));
        plumb_buf_char(&names, ' ');
        put_name(&names, text_of(x->t, x->sites[k].tensor));
        if (alone > 1)
            plumb_buf_printf(&names, " (%zu)", alone);
    }
    if (records > 0) {
        plumb_buf_printf(out, "only in %c: %zu %s: %s", side == PLUMB_DIVERGE_A ? 'A' : 'B',
                         records, records == 1 ? "record" : "records",
                         names.data ? names.data : "");
        if (sites > named)
            plumb_buf_printf(out, " and %zu more names", sites - named);
        plumb_buf_char(out, '\n');
    }
    out->failed |= names.failed;
    plumb_buf_fini(&names);
}

static void note_limits(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (d->dropped > 0)
        plumb_buf_printf(
            out,
            "%zu %s that order suggested agreed with nothing round them, and are taken "
            "for records that only one side has\n",
            d->dropped, d->dropped == 1 ? "pair" : "pairs");
    if (d->approximate)
        plumb_buf_str(out, "too many layers without a name in common to look at every pairing: a "
                           "--map makes the alignment sure\n");
    if (d->unknown_type)
        plumb_buf_str(out,
                      "a side does not say its element types: those of unknown type are held to "
                      "the tolerance of bfloat16, 0.5 %; --rtol sets another\n");
    if (d->stopped_short)
        plumb_buf_str(out, "without shapes a sum cannot be judged, only abs_mean is: record the "
                           "statistic shape\n");
    if (d->by_verdict[PLUMB_SAID_LAYOUT] > 0)
        plumb_buf_printf(out, "%zu %s in another layout with the same values\n",
                         d->by_verdict[PLUMB_SAID_LAYOUT],
                         d->by_verdict[PLUMB_SAID_LAYOUT] == 1 ? "tensor is" : "tensors are");
    if (d->by_verdict[PLUMB_SAID_NOTHING] > 0)
        plumb_buf_printf(out, "%zu %s no statistic in common and could not be compared\n",
                         d->by_verdict[PLUMB_SAID_NOTHING],
                         d->by_verdict[PLUMB_SAID_NOTHING] == 1 ? "pair has" : "pairs have");
}

void plumb_diverge_put_notes(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    note_beyond(out, s);
    note_births(out, s);
    note_roots(out, s);
    note_alignment(out, s);
    note_joins(out, s);
    note_unmatched(out, s, PLUMB_DIVERGE_A);
    note_unmatched(out, s, PLUMB_DIVERGE_B);
    note_limits(out, s);
}

/* ---- What to record next --------------------------------------------------------------------- */

static void put_escaped(struct plumb_buf *out, const char *module)
{
    for (const char *p = module; *p; p++) {
        if (strchr(".[]()*+?{}|^$\\", *p))
            plumb_buf_char(out, '\\');
        plumb_buf_char(out, *p);
    }
}

void plumb_diverge_put_filter(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side,
                              uint32_t record)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    const struct plumb_diverge_site *site = &x->sites[x->site_of[record]];
    if (site->join == 0 || site->is_part) {
        plumb_buf_char(out, '^');
        put_escaped(out, text_of(x->t, site->module));
        plumb_buf_str(out, "(\\.|$)");
        return;
    }
    const struct plumb_diverge_join *join = &s->d->joins[site->join - 1];
    for (uint32_t i = 0; i < join->count; i++) {
        plumb_buf_str(out, i ? "|" : "^(");
        put_escaped(out, text_of(x->t, join->parts[i].module));
    }
    plumb_buf_str(out, ")(\\.|$)");
}

/* Whether something below the module was recorded already. */
static bool has_inside(const struct plumb_diverge_side *side, const char *module)
{
    size_t n = strlen(module);
    for (uint32_t k = 0; k < side->site_count; k++) {
        const char *name = text_of(side->t, side->sites[k].module);
        if (strncmp(name, module, n) == 0 && name[n] == '.')
            return true;
    }
    return false;
}

static void put_settings(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side,
                         uint32_t record, bool both)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    const char *module = text_of(x->t, x->t->module[record]);
    struct plumb_buf filter = {0};
    struct plumb_buf clean = {0};
    plumb_diverge_put_filter(&filter, s, side, record);
    plumb_put_left(&clean, filter.data ? filter.data : "", 0);
    plumb_buf_printf(out, "%s: PLUMB_ACTIVATIONS_LAYERS='%s'",
                     both                      ? "record both sides with"
                     : side == PLUMB_DIVERGE_A ? "record A with"
                                               : "record B with",
                     clean.data ? clean.data : "");
    if (plumb_activations_has(x->t, record, PLUMB_ACT_STEP))
        plumb_buf_printf(out, " PLUMB_ACTIVATIONS_STEPS=%" PRId64,
                         x->t->step ? x->t->step[record] : 0);
    /* What lies in it was recorded and was right: only its values can tell more. */
    if (has_inside(x, module))
        plumb_buf_printf(out, " PLUMB_ACTIVATIONS_DUMP='%s'", clean.data ? clean.data : "");
    plumb_buf_char(out, '\n');
    out->failed |= filter.failed | clean.failed;
    plumb_buf_fini(&filter);
    plumb_buf_fini(&clean);
}

void plumb_diverge_put_next(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->kind == PLUMB_DIVERGE_SAME)
        return;
    if (c->kind == PLUMB_DIVERGE_START || c->kind == PLUMB_DIVERGE_OUTSIDE) {
        plumb_buf_str(out,
                      "give both runs the same inputs, seed and weights, then compare again\n");
        return;
    }
    uint32_t b = s->d->sides[PLUMB_DIVERGE_A].partner[c->a];
    bool both = b == PLUMB_DIVERGE_NONE || same_module(s, c->a, b);
    put_settings(out, s, PLUMB_DIVERGE_A, c->a, both);
    if (!both)
        put_settings(out, s, PLUMB_DIVERGE_B, b, false);
}
