/* compare.c: compares one pair of records.
 *
 * Every figure has its own scale. A mean magnitude, a root mean square and a deviation are measured
 * against themselves. A mean and a sum are measured against the mean magnitude, because values of
 * both signs cancel and the rest may be anything. A minimum and a maximum are measured against the
 * largest value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"

enum { SORTED_DIMS = 64 };
/* How far a figure may be from the common factor of all figures, in parts of its change. Added to
 * that are the rounding of its type and half of the whole change. */
static const double SCALE_SLACK = 0.1;

/* A column of zeros is not there. */
static double figure(const struct plumb_activations *t, enum plumb_activation_field f,
                     uint32_t record)
{
    return t->stat[f] ? t->stat[f][record] : 0;
}

static uint32_t shape_of(const struct plumb_activations *t, uint32_t record)
{
    return t->shape ? t->shape[record] : 0;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x;
    int64_t b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* The sizes that are not 1, sorted; SIZE_MAX of too many. */
static size_t sorted_sizes(const struct plumb_activations *t, uint32_t shape, int64_t *out)
{
    size_t ndim;
    size_t n = 0;
    const int64_t *sizes = plumb_activations_shape(t, shape, &ndim);
    if (ndim > SORTED_DIMS)
        return SIZE_MAX;
    for (size_t i = 0; i < ndim; i++)
        if (sizes[i] != 1)
            out[n++] = sizes[i];
    qsort(out, n, sizeof *out, by_size);
    return n;
}

static bool same_sizes(const struct plumb_activations *a, uint32_t shape_a,
                       const struct plumb_activations *b, uint32_t shape_b)
{
    size_t na;
    size_t nb;
    const int64_t *sa = plumb_activations_shape(a, shape_a, &na);
    const int64_t *sb = plumb_activations_shape(b, shape_b, &nb);
    return na == nb && (na == 0 || memcmp(sa, sb, na * sizeof *sa) == 0);
}

static enum plumb_shape_relation relation_of(const struct plumb_activations *a, uint32_t shape_a,
                                             const struct plumb_activations *b, uint32_t shape_b)
{
    int64_t sa[SORTED_DIMS];
    int64_t sb[SORTED_DIMS];
    if (same_sizes(a, shape_a, b, shape_b))
        return PLUMB_SHAPES_SAME;
    if (plumb_activations_elements(a, shape_a) != plumb_activations_elements(b, shape_b))
        return PLUMB_SHAPES_DIFFERENT;
    size_t na = sorted_sizes(a, shape_a, sa);
    size_t nb = sorted_sizes(b, shape_b, sb);
    return na == nb && na <= SORTED_DIMS && memcmp(sa, sb, na * sizeof *sa) == 0
               ? PLUMB_SHAPES_PERMUTED
               : PLUMB_SHAPES_RESHAPED;
}

enum plumb_shape_relation plumb_diverge_shapes(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    if (!plumb_activations_has(ta, a, PLUMB_ACT_SHAPE) ||
        !plumb_activations_has(tb, b, PLUMB_ACT_SHAPE))
        return PLUMB_SHAPES_UNKNOWN;
    uint64_t key = ((uint64_t)shape_of(ta, a) << 32 | shape_of(tb, b)) + 1;
    if (key == d->last_shapes)
        return d->last_relation;
    uint64_t relation = plumb_map_get(&d->shapes, key);
    if (relation == 0) {
        relation = relation_of(ta, shape_of(ta, a), tb, shape_of(tb, b));
        (void)plumb_map_put(&d->shapes, key, relation); /* without memory: found again each time */
    }
    d->last_shapes = key;
    d->last_relation = (uint8_t)relation;
    return relation;
}

/* ---- Tolerances ------------------------------------------------------------------------------ */

static uint32_t type_of(const struct plumb_activations *t, uint32_t record)
{
    return t->dtype ? t->dtype[record] : 0;
}

static struct plumb_tolerance tolerance_of_types(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    enum { TYPES = sizeof d->types / sizeof *d->types };
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    uint32_t type_a = type_of(ta, a);
    uint32_t type_b = type_of(tb, b);
    for (uint32_t i = 0; i < d->type_count; i++) {
        uint32_t k = (d->last_type + i) % d->type_count;
        if (d->types[k].a == type_a && d->types[k].b == type_b) {
            d->last_type = k;
            return d->types[k].tolerance;
        }
    }
    struct plumb_tolerance t =
        plumb_tolerance_of(plumb_rounding_of(plumb_activations_text(ta, type_a)),
                           plumb_rounding_of(plumb_activations_text(tb, type_b)),
                           d->options.relative, d->options.absolute);
    uint32_t k = d->type_count < TYPES ? d->type_count++ : TYPES - 1;
    d->types[k].a = type_a;
    d->types[k].b = type_b;
    d->types[k].tolerance = t;
    d->last_type = k;
    return t;
}

struct plumb_tolerance plumb_diverge_tolerance(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    struct plumb_tolerance t = tolerance_of_types(d, a, b);
    if (ta->io && ta->io[a] == PLUMB_ACT_GRAD && d->options.relative < 0) {
        t.relative *= PLUMB_TOLERANCE_GRADIENT;
        t.absolute *= PLUMB_TOLERANCE_GRADIENT;
    }
    return t;
}

bool plumb_diverge_retyped(const struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    const struct plumb_activations *ta = d->sides[PLUMB_DIVERGE_A].t;
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    uint32_t type_a = type_of(ta, a), type_b = type_of(tb, b);
    return type_a && type_b &&
           strcmp(plumb_activations_text(ta, type_a), plumb_activations_text(tb, type_b)) != 0;
}

/* ---- NaN and infinities ---------------------------------------------------------------------- */

static bool some(const struct plumb_activations *t, uint32_t record, enum plumb_activation_field f)
{
    return plumb_activations_whole(t, record, f) > 0;
}

/* Figures that one such value swallows in other recorders. A deviation is NaN of one value too. */
static bool figure_is(const struct plumb_activations *t, uint32_t record, bool nan)
{
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
        double value = plumb_activations_stat(t, record, f);
        if (f != PLUMB_ACT_STD && plumb_activations_has(t, record, f) &&
            (nan ? isnan(value) : isinf(value)))
            return true;
    }
    return false;
}

/* Figures of no values, or of none but NaN and infinities, are NaN without any NaN in the
 * tensor. */
static bool is_empty(const struct plumb_activations *t, uint32_t record)
{
    return plumb_activations_has(t, record, PLUMB_ACT_SHAPE) &&
           plumb_activations_elements(t, shape_of(t, record)) == 0;
}

bool plumb_diverge_has_nan(const struct plumb_activations *t, uint32_t record)
{
    if (plumb_activations_has(t, record, PLUMB_ACT_NAN))
        return some(t, record, PLUMB_ACT_NAN);
    return figure_is(t, record, true) && !is_empty(t, record);
}

bool plumb_diverge_has_inf(const struct plumb_activations *t, uint32_t record)
{
    if (plumb_activations_has(t, record, PLUMB_ACT_POS_INF) ||
        plumb_activations_has(t, record, PLUMB_ACT_NEG_INF))
        return some(t, record, PLUMB_ACT_POS_INF) || some(t, record, PLUMB_ACT_NEG_INF);
    return figure_is(t, record, false);
}

/* ---- Figures --------------------------------------------------------------------------------- */

struct pair {
    struct plumb_diverge *d;
    const struct plumb_activations *ta, *tb;
    uint32_t a, b;
    uint32_t common;  /* fields that both have */
    double n;         /* elements; 0: unknown */
    double magnitude; /* the mean one, or the best stand-in; 0: unknown */
    double range;     /* the largest magnitude; 0: unknown */
    struct plumb_tolerance tolerance;
};

static bool both(const struct pair *p, enum plumb_activation_field f)
{
    return p->common >> f & 1;
}

static double larger_of(const struct pair *p, enum plumb_activation_field f)
{
    double a = fabs(figure(p->ta, f, p->a));
    double b = fabs(figure(p->tb, f, p->b));
    return isfinite(a) && (a > b || !isfinite(b)) ? a : isfinite(b) ? b : 0;
}

static void measure(struct pair *p)
{
    bool has_shape = plumb_activations_has(p->ta, p->a, PLUMB_ACT_SHAPE);
    p->n = has_shape ? (double)plumb_activations_elements(p->ta, shape_of(p->ta, p->a)) : 0;
    if (both(p, PLUMB_ACT_MIN))
        p->range = larger_of(p, PLUMB_ACT_MIN);
    if (both(p, PLUMB_ACT_MAX) && larger_of(p, PLUMB_ACT_MAX) > p->range)
        p->range = larger_of(p, PLUMB_ACT_MAX);
    if (both(p, PLUMB_ACT_ABS_MEAN))
        p->magnitude = larger_of(p, PLUMB_ACT_ABS_MEAN);
    else if (both(p, PLUMB_ACT_RMS))
        p->magnitude = larger_of(p, PLUMB_ACT_RMS);
    else if (both(p, PLUMB_ACT_L2) && p->n > 0)
        p->magnitude = larger_of(p, PLUMB_ACT_L2) / sqrt(p->n);
    else if (both(p, PLUMB_ACT_STD))
        p->magnitude = larger_of(p, PLUMB_ACT_STD);
    else
        p->magnitude = p->range;
}

/* The scale that a difference of the figure is measured against; 0: unknown. `count`: the absolute
 * tolerance is that of so many values. */
static double scale_of(const struct pair *p, enum plumb_activation_field f, double *count)
{
    *count = 1;
    switch (f) {
    case PLUMB_ACT_SUM:
        *count = p->n > 0 ? p->n : 1;
        if (p->n > 0 && p->magnitude > 0)
            return p->n * p->magnitude;
        return both(p, PLUMB_ACT_ABS_MEAN) ? 0 : larger_of(p, f);
    case PLUMB_ACT_MEAN:
        return p->magnitude > larger_of(p, f) ? p->magnitude : larger_of(p, f);
    case PLUMB_ACT_MIN:
    case PLUMB_ACT_MAX:
        return p->range;
    case PLUMB_ACT_STD: /* of nearly constant values it is what cancellation left over */
        return larger_of(p, f) + p->magnitude * p->tolerance.rounding;
    case PLUMB_ACT_L2:
        *count = p->n > 0 ? sqrt(p->n) : 1;
        return larger_of(p, f);
    default:
        return larger_of(p, f);
    }
}

static void weigh(const struct pair *p, enum plumb_activation_field f,
                  struct plumb_diverge_cell *cell)
{
    double count;
    double a = figure(p->ta, f, p->a);
    double b = figure(p->tb, f, p->b);
    if (!isfinite(a) || !isfinite(b) || a == b)
        return;
    double scale = scale_of(p, f, &count);
    if (!(scale > 0)) {
        p->d->stopped_short |= f == PLUMB_ACT_SUM;
        return;
    }
    bool extreme = f == PLUMB_ACT_MIN || f == PLUMB_ACT_MAX;
    double allowed = p->tolerance.relative * scale * (extreme ? PLUMB_TOLERANCE_EXTREME : 1) +
                     p->tolerance.absolute * count;
    double difference = fabs(a - b);
    double excess = allowed > 0 ? difference / allowed : INFINITY;
    if (excess > (double)cell->excess) {
        cell->excess = (float)excess;
        cell->drift = (float)(difference / scale);
        cell->field = (uint8_t)f;
    }
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

static bool same_bits(const struct pair *p)
{
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
        if (!both(p, f))
            continue;
        double a = figure(p->ta, f, p->a);
        double b = figure(p->tb, f, p->b);
        if (a != b && !(isnan(a) && isnan(b)))
            return false;
    }
    for (enum plumb_activation_field f = PLUMB_ACT_NAN; f <= PLUMB_ACT_ZEROS; f++)
        if (both(p, f) &&
            plumb_activations_whole(p->ta, p->a, f) != plumb_activations_whole(p->tb, p->b, f))
            return false;
    return true;
}

static bool same_whole(const struct pair *p, enum plumb_activation_field f)
{
    return plumb_activations_whole(p->ta, p->a, f) == plumb_activations_whole(p->tb, p->b, f);
}

static bool same_type(const struct pair *p)
{
    return strcmp(plumb_activations_text(p->ta, type_of(p->ta, p->a)),
                  plumb_activations_text(p->tb, type_of(p->tb, p->b))) == 0;
}

static bool count_apart(const struct pair *p, enum plumb_activation_field f)
{
    return both(p, f) && !same_whole(p, f);
}

static bool nan_apart(const struct pair *p)
{
    return plumb_diverge_has_nan(p->ta, p->a) != plumb_diverge_has_nan(p->tb, p->b) ||
           count_apart(p, PLUMB_ACT_NAN);
}

/* Without counts the figures say where an infinity is: a sum of Inf is not one of -Inf. A deviation
 * is NaN there, and a NaN swallows the rest. */
static bool inf_apart(const struct pair *p)
{
    if (plumb_diverge_has_inf(p->ta, p->a) != plumb_diverge_has_inf(p->tb, p->b) ||
        count_apart(p, PLUMB_ACT_POS_INF) || count_apart(p, PLUMB_ACT_NEG_INF))
        return true;
    if (both(p, PLUMB_ACT_POS_INF) && both(p, PLUMB_ACT_NEG_INF))
        return false;
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
        double a = figure(p->ta, f, p->a);
        double b = figure(p->tb, f, p->b);
        if (f != PLUMB_ACT_STD && both(p, f) && !isnan(a) && !isnan(b) && a != b &&
            (isinf(a) || isinf(b)))
            return true;
    }
    return false;
}

/* By the hashes that both have. */
static bool same_contents(const struct pair *p)
{
    return !count_apart(p, PLUMB_ACT_HASH) && !count_apart(p, PLUMB_ACT_HASH_ANY);
}

/* Both tolerances are 0: the user asks for equality. */
static bool is_exact(const struct pair *p)
{
    return p->d->options.relative == 0 && p->d->options.absolute == 0;
}

/* Completes the verdict of the figures with the hashes. These are made from bytes, so they are
 * compared only between tensors of one type. */
static uint8_t refine(const struct pair *p, enum plumb_shape_relation shapes, uint8_t verdict,
                      struct plumb_diverge_cell *cell)
{
    bool one_type = same_type(p);
    bool retyped = plumb_diverge_retyped(p->d, p->a, p->b);
    bool other_layout = shapes == PLUMB_SHAPES_PERMUTED || shapes == PLUMB_SHAPES_RESHAPED;
    bool any = both(p, PLUMB_ACT_HASH_ANY) && one_type;
    bool same_values = any && same_whole(p, PLUMB_ACT_HASH_ANY);
    bool hashes = !other_layout && both(p, PLUMB_ACT_HASH) && one_type;
    bool unequal = hashes && !same_whole(p, PLUMB_ACT_HASH);
    cell->exact = !retyped && !unequal && (!any || same_values) && cell->excess == 0;
    if (hashes && !unequal)
        return PLUMB_SAID_EQUAL;
    if (is_exact(p) && (unequal || (any && !same_values) || retyped)) {
        cell->field = retyped ? PLUMB_DIVERGE_BY_TYPE : PLUMB_ACT_STATISTICS;
        cell->excess = INFINITY;
        return PLUMB_SAID_DIFFERENT;
    }
    if (other_layout && (!any || same_values)) {
        cell->proven = same_values;
        return PLUMB_SAID_LAYOUT;
    }
    if (unequal && same_values)
        return PLUMB_SAID_SHUFFLED;
    return unequal || (any && !same_values) ? PLUMB_SAID_CLOSE : verdict;
}

static uint8_t compare_figures(struct pair *p, struct plumb_diverge_cell *cell)
{
    p->tolerance = plumb_diverge_tolerance(p->d, p->a, p->b);
    p->d->unknown_type |= !p->tolerance.known;
    measure(p);
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++)
        if (both(p, f))
            weigh(p, f, cell);
    return cell->excess > 1 ? PLUMB_SAID_DIFFERENT : PLUMB_SAID_CLOSE;
}

static uint8_t verdict_of(struct pair *p, struct plumb_diverge_cell *cell)
{
    static const uint32_t statistics = (1u << PLUMB_ACT_STATISTICS) - 1;
    enum plumb_shape_relation shapes = plumb_diverge_shapes(p->d, p->a, p->b);
    cell->field = PLUMB_ACT_STATISTICS;
    if (shapes == PLUMB_SHAPES_DIFFERENT)
        return PLUMB_SAID_SHAPE;
    if (!(p->common & statistics))
        return PLUMB_SAID_NOTHING;
    if (nan_apart(p))
        return PLUMB_SAID_NAN;
    if (inf_apart(p))
        return PLUMB_SAID_INF;
    if (same_bits(p)) {
        bool figures = p->common & ((1u << PLUMB_ACT_REALS) - 1);
        uint8_t verdict = refine(p, shapes, figures ? PLUMB_SAID_EQUAL : PLUMB_SAID_NOTHING, cell);
        /* Hashes that differ, without other figures, do not say by how much. */
        return !figures && verdict == PLUMB_SAID_CLOSE ? PLUMB_SAID_DIFFERENT : verdict;
    }
    uint8_t verdict = compare_figures(p, cell);
    if (verdict == PLUMB_SAID_CLOSE)
        verdict = refine(p, shapes, verdict, cell);
    cell->exact = verdict == PLUMB_SAID_EQUAL; /* by its hash */
    return verdict;
}

static struct pair pair_of(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    struct pair p = {.d = d,
                     .ta = d->sides[PLUMB_DIVERGE_A].t,
                     .tb = d->sides[PLUMB_DIVERGE_B].t,
                     .a = a,
                     .b = b};
    p.common = p.ta->has[a] & p.tb->has[b];
    return p;
}

struct plumb_diverge_cell plumb_diverge_compare_finite(struct plumb_diverge *d, uint32_t a,
                                                       uint32_t b)
{
    struct plumb_diverge_cell cell = {.field = PLUMB_ACT_STATISTICS};
    struct pair p = pair_of(d, a, b);
    if (both(&p, PLUMB_ACT_NAN) && both(&p, PLUMB_ACT_ABS_MEAN) && !figure_is(p.ta, a, true) &&
        !figure_is(p.tb, b, true) && !figure_is(p.ta, a, false) && !figure_is(p.tb, b, false))
        cell.verdict = compare_figures(&p, &cell);
    return cell;
}

struct plumb_diverge_cell plumb_diverge_compare(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    struct plumb_diverge_cell cell = {0};
    struct pair p = pair_of(d, a, b);
    cell.verdict = verdict_of(&p, &cell);
    if (cell.verdict >= PLUMB_SAID_SHAPE)
        cell.drift = cell.excess = INFINITY;
    return cell;
}

/* Whether the figure grew by the factor. One that is zero, or a sum whose terms cancel, says
 * nothing of it, as long as it does not speak against it. */
enum { GROWN = 0, SILENT, AGAINST };
static int grew(const struct pair *p, enum plumb_activation_field f, double factor)
{
    double count;
    double a = figure(p->ta, f, p->a);
    double off = fabs(a * factor - figure(p->tb, f, p->b));
    double change = fabs(a * (factor - 1));
    double rounded = SCALE_SLACK * change + 2 * p->tolerance.rounding * fabs(a);
    bool cancels = f == PLUMB_ACT_SUM || f == PLUMB_ACT_MEAN;
    if (off <= (rounded < change / 2 ? rounded : change / 2))
        return a == 0 ? SILENT : GROWN;
    return cancels && off <= SCALE_SLACK * p->tolerance.relative * scale_of(p, f, &count) ? SILENT
                                                                                          : AGAINST;
}

bool plumb_diverge_looks_scaled(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    struct pair p = pair_of(d, a, b);
    int agreed = 0;
    if (!both(&p, PLUMB_ACT_ABS_MEAN))
        return false;
    p.tolerance = plumb_diverge_tolerance(d, a, b);
    measure(&p);
    double factor = figure(p.tb, PLUMB_ACT_ABS_MEAN, b) / figure(p.ta, PLUMB_ACT_ABS_MEAN, a);
    if (!isfinite(factor) || factor <= 0)
        return false;
    for (enum plumb_activation_field f = PLUMB_ACT_SUM; f < PLUMB_ACT_REALS; f++) {
        double count;
        if (!both(&p, f))
            continue;
        double off = fabs(figure(p.ta, f, a) * factor - figure(p.tb, f, b));
        double scale = scale_of(&p, f, &count);
        if (!(off <= p.tolerance.relative * scale * PLUMB_TOLERANCE_EXTREME))
            return false;
        agreed += scale > 0;
    }
    return agreed >= 3;
}

double plumb_diverge_scale(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    struct pair p = pair_of(d, a, b);
    int grown = 0;
    if (!both(&p, PLUMB_ACT_ABS_MEAN))
        return 0;
    p.tolerance = plumb_diverge_tolerance(d, a, b);
    measure(&p);
    double factor = figure(p.tb, PLUMB_ACT_ABS_MEAN, b) / figure(p.ta, PLUMB_ACT_ABS_MEAN, a);
    if (!isfinite(factor) || factor <= 0 || factor == 1)
        return 0;
    for (enum plumb_activation_field f = PLUMB_ACT_SUM; f < PLUMB_ACT_REALS; f++) {
        int said = both(&p, f) ? grew(&p, f, factor) : SILENT;
        if (said == AGAINST)
            return 0;
        grown += said == GROWN;
    }
    return grown >= 3 ? factor : 0;
}

static bool rehashed(struct plumb_diverge *d, uint32_t a, uint32_t b)
{
    struct pair p = pair_of(d, a, b);
    return same_bits(&p) && !same_contents(&p);
}

/* Counts what is reported of a pair whatever its verdict is. */
static void note_pair(struct plumb_diverge *d, uint32_t a, const struct plumb_diverge_cell *cell)
{
    if (plumb_diverge_retyped(d, a, d->sides[PLUMB_DIVERGE_A].partner[a]) &&
        d->retyped_count++ == 0)
        d->retyped = a;
    if (cell->verdict == PLUMB_SAID_SHUFFLED && d->shuffled == PLUMB_DIVERGE_NONE)
        d->shuffled = a;
    d->rehashed += cell->verdict == PLUMB_SAID_CLOSE && !cell->exact && cell->excess == 0 &&
                   rehashed(d, a, d->sides[PLUMB_DIVERGE_A].partner[a]);
    d->layouts_proven += cell->verdict == PLUMB_SAID_LAYOUT && cell->proven;
}

void plumb_diverge_judge(struct plumb_diverge *d)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    float widest = -1;
    memset(d->by_how, 0, sizeof d->by_how);
    memset(d->by_verdict, 0, sizeof d->by_verdict);
    d->widest = d->retyped = d->shuffled = PLUMB_DIVERGE_NONE;
    d->retyped_count = d->layouts_proven = d->rehashed = 0;
    for (uint32_t i = 0; i < a->t->count; i++) {
        uint8_t how = d->cells[i].how;
        if (a->partner[i] != PLUMB_DIVERGE_NONE) {
            d->cells[i] = plumb_diverge_compare(d, i, a->partner[i]);
            plumb_diverge_weigh_values(d, i, &d->cells[i]);
            note_pair(d, i, &d->cells[i]);
        }
        d->cells[i].how = how;
        d->by_how[how]++;
        d->by_verdict[d->cells[i].verdict] += a->partner[i] != PLUMB_DIVERGE_NONE;
        if (d->cells[i].verdict != PLUMB_SAID_NOTHING &&
            !plumb_diverge_is_wrong(d->cells[i].verdict) && d->cells[i].excess > widest) {
            widest = d->cells[i].excess;
            d->widest = i;
        }
    }
}
