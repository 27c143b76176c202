/* left.c: sites that found no partner in their place. A site has moved if only one site of the
 * other side has its statistics. Otherwise its partner is the next site without one whose kind goes
 * with its kind elsewhere. Last, two sites are paired if each is nearest to the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/evidence.h"
#include "analyze/diverge/order.h"
#include "base/error.h"

/* At most 250 tolerances apart; and how many pairs are looked at, about half a second. */
static const float NEAR = 0.4F;
enum { MOST_NEAREST = 1 << 20 };

/* ---- Moved ----------------------------------------------------------------------------------- */

struct figure {
    double value;
    uint32_t site;
};

struct figures {
    struct figure *at;
    uint32_t count;
};

static int by_value(const void *x, const void *y)
{
    const struct figure *a = x;
    const struct figure *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

/* The figure by which sites are looked up; NaN: no usable one. */
static double figure_of(const struct plumb_order *o, int side, uint32_t s)
{
    static const enum plumb_activation_field fields[] = {
        PLUMB_ACT_ABS_MEAN, PLUMB_ACT_L2, PLUMB_ACT_RMS, PLUMB_ACT_STD, PLUMB_ACT_MAX};
    const struct plumb_activations *t = o->d->sides[side].t;
    uint32_t record = o->d->sides[side].records[plumb_order_site(o, side, s)->begin];
    uint32_t common = o->d->sides[PLUMB_DIVERGE_A].t->seen & o->d->sides[PLUMB_DIVERGE_B].t->seen;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (common >> fields[i] & 1) {
            double value = plumb_activations_stat(t, record, fields[i]);
            return isfinite(value) && value != 0 ? value : (double)NAN;
        }
    return (double)NAN;
}

static int sort_figures(struct figures *out, const struct plumb_order *o, int side,
                        plumb_error *err)
{
    const struct plumb_diverge_side *s = &o->d->sides[side];
    out->count = 0;
    if (!(out->at = malloc((size_t)s->site_count * sizeof *out->at)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", s->site_count);
    for (uint32_t i = 0; i < o->counts[side]; i++) {
        uint32_t site = o->lists[side][i];
        double value = figure_of(o, side, site);
        if (s->sites[site].partner == PLUMB_DIVERGE_NONE && !isnan(value))
            out->at[out->count++] = (struct figure){value, site};
    }
    qsort(out->at, out->count, sizeof *out->at, by_value);
    return PLUMB_OK;
}

/* Of the types met so far. */
static double widest_tolerance(const struct plumb_diverge *d)
{
    double widest = 0;
    for (uint32_t i = 0; i < d->type_count; i++)
        if (d->types[i].tolerance.relative > widest)
            widest = d->types[i].tolerance.relative;
    return widest;
}

static bool same_number(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    const struct plumb_order_layers *l = &o->layers;
    return l->key[PLUMB_DIVERGE_A][a] && l->key[PLUMB_DIVERGE_B][b] &&
           l->number[PLUMB_DIVERGE_A][a] == l->number[PLUMB_DIVERGE_B][b];
}

/* One record of many may agree by chance. */
static bool mostly_agrees(const struct plumb_order *o, uint32_t a, uint32_t b)
{
    return 2 * plumb_evidence_share(o->d, plumb_order_site(o, PLUMB_DIVERGE_A, a),
                                    plumb_order_site(o, PLUMB_DIVERGE_B, b)) >=
           1;
}

/* The only site of `in` whose statistics agree with those of `figure`; NONE: none, or several. */
static uint32_t only_one(struct plumb_order *o, const struct figure *figure, int side,
                         const struct figures *in)
{
    enum { MOST = 64 }; /* more that look alike are not told apart */
    double slack = fabs(figure->value) * 2 * PLUMB_TOLERANCE_EXTREME * widest_tolerance(o->d);
    uint32_t low = 0;
    uint32_t high = in->count;
    uint32_t found = PLUMB_DIVERGE_NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (in->at[middle].value < figure->value - slack)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t n = 0; low < in->count && in->at[low].value <= figure->value + slack; low++) {
        uint32_t a = side == PLUMB_DIVERGE_A ? figure->site : in->at[low].site;
        uint32_t b = side == PLUMB_DIVERGE_A ? in->at[low].site : figure->site;
        if (++n > MOST)
            return PLUMB_DIVERGE_NONE;
        if (!plumb_order_layers_fit(o, a, b, false) || !plumb_order_agrees(o, a, b) ||
            (!same_number(o, a, b) && !mostly_agrees(o, a, b)))
            continue;
        if (found != PLUMB_DIVERGE_NONE)
            return PLUMB_DIVERGE_NONE;
        found = in->at[low].site;
    }
    return found;
}

int plumb_order_match_moved(struct plumb_order *o, plumb_error *err)
{
    struct figures figures[2] = {{0}};
    int rc;
    if ((rc = sort_figures(&figures[PLUMB_DIVERGE_A], o, PLUMB_DIVERGE_A, err)) < 0 ||
        (rc = sort_figures(&figures[PLUMB_DIVERGE_B], o, PLUMB_DIVERGE_B, err)) < 0)
        goto out;
    for (uint32_t i = 0; i < figures[PLUMB_DIVERGE_A].count; i++) {
        struct figure a = figures[PLUMB_DIVERGE_A].at[i];
        uint32_t b = only_one(o, &a, PLUMB_DIVERGE_A, &figures[PLUMB_DIVERGE_B]);
        if (b == PLUMB_DIVERGE_NONE)
            continue;
        struct figure back = {figure_of(o, PLUMB_DIVERGE_B, b), b};
        if (only_one(o, &back, PLUMB_DIVERGE_B, &figures[PLUMB_DIVERGE_A]) == a.site &&
            plumb_order_site(o, PLUMB_DIVERGE_B, b)->partner == PLUMB_DIVERGE_NONE)
            plumb_order_join(o, a.site, b, PLUMB_HOW_MOVED);
        if (plumb_order_site(o, PLUMB_DIVERGE_A, a.site)->partner == b &&
            (rc = plumb_order_teach(o, a.site, b)) < 0) {
            plumb_fail(err, rc, "out of memory for roles of sites");
            goto out;
        }
    }
out:
    free(figures[PLUMB_DIVERGE_A].at);
    free(figures[PLUMB_DIVERGE_B].at);
    return rc;
}

/* ---- By kind --------------------------------------------------------------------------------- */

/* Numbers the modules of each role: ordinal[place in the list], from 1. */
static int count_roles(const struct plumb_order *o, int side, struct plumb_map *counts,
                       uint32_t *ordinal)
{
    int rc = PLUMB_OK;
    for (uint32_t i = 0; i < o->counts[side]; i++) {
        uint64_t role = plumb_order_role(o, side, o->lists[side][i]);
        ordinal[i] = (uint32_t)plumb_map_get(counts, role) + 1;
        rc |= plumb_map_put(counts, role, ordinal[i]);
    }
    return rc;
}

/* "layers.3.v" without a partner is "blk.3.wv", if such go together elsewhere; without numbers of
 * layers the n-th is the n-th, if both sides have as many. */
int plumb_order_match_kinds(struct plumb_order *o, plumb_error *err)
{
    const uint32_t *counts = o->counts;
    struct plumb_map of_a = {0};
    struct plumb_map of_b = {0};
    uint32_t *ordinal = malloc(((size_t)counts[0] + counts[1]) * sizeof *ordinal);
    uint32_t *ordinal_b = ordinal ? ordinal + counts[PLUMB_DIVERGE_A] : NULL;
    int rc = PLUMB_ERR_MEMORY;
    if (!ordinal || count_roles(o, PLUMB_DIVERGE_A, &of_a, ordinal) < 0 ||
        count_roles(o, PLUMB_DIVERGE_B, &of_b, ordinal_b) < 0)
        goto out;
    rc = PLUMB_OK;
    for (uint32_t i = 0, left = 1 << 24; i < counts[PLUMB_DIVERGE_A]; i++) {
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint64_t role = plumb_order_role(o, PLUMB_DIVERGE_A, a);
        if (plumb_order_site(o, PLUMB_DIVERGE_A, a)->partner != PLUMB_DIVERGE_NONE ||
            !plumb_map_get(&o->taught[PLUMB_DIVERGE_A], role))
            continue;
        for (uint32_t j = 0; j < counts[PLUMB_DIVERGE_B] && left > 0; j++, left--) {
            uint32_t b = o->lists[PLUMB_DIVERGE_B][j];
            if (plumb_order_site(o, PLUMB_DIVERGE_B, b)->partner != PLUMB_DIVERGE_NONE ||
                !plumb_order_known(o, a, b) || !plumb_order_layers_fit(o, a, b, true))
                continue;
            bool numbered = o->layers.key[PLUMB_DIVERGE_A][a] && o->layers.key[PLUMB_DIVERGE_B][b];
            bool nth = ordinal[i] == ordinal_b[j] &&
                       plumb_map_get(&of_a, role) ==
                           plumb_map_get(&of_b, plumb_order_role(o, PLUMB_DIVERGE_B, b));
            if (!numbered && !nth)
                continue;
            plumb_order_join(o, a, b, PLUMB_HOW_KIND);
            break;
        }
    }
out:
    plumb_map_fini(&of_a);
    plumb_map_fini(&of_b);
    free(ordinal);
    return rc == PLUMB_OK ? rc : plumb_fail(err, rc, "out of memory for roles of sites");
}

/* ---- By inputs ------------------------------------------------------------------------------- */

static bool may_be_by_inputs(struct plumb_order *o, uint32_t a, uint32_t b)
{
    const struct plumb_diverge_site *sa = plumb_order_site(o, PLUMB_DIVERGE_A, a);
    const struct plumb_diverge_site *sb = plumb_order_site(o, PLUMB_DIVERGE_B, b);
    float shapes;
    return sa->partner == PLUMB_DIVERGE_NONE && sb->partner == PLUMB_DIVERGE_NONE &&
           plumb_order_layers_fit(o, a, b, true) &&
           plumb_evidence_of_sites(o->d, sa, sb, &shapes) >= 0 && plumb_order_inputs(o, a, b) >= 1;
}

/* The only site of the other side that consumed the same; NONE: none, or several. */
static uint32_t only_by_inputs(struct plumb_order *o, int side, uint32_t s)
{
    uint32_t found = PLUMB_DIVERGE_NONE;
    for (uint32_t j = 0; j < o->counts[!side]; j++) {
        uint32_t t = o->lists[!side][j];
        if (!may_be_by_inputs(o, side == PLUMB_DIVERGE_A ? s : t, side == PLUMB_DIVERGE_A ? t : s))
            continue;
        if (found != PLUMB_DIVERGE_NONE)
            return PLUMB_DIVERGE_NONE;
        found = t;
    }
    return found;
}

/* Pairs sites by equal inputs. Several may consume the same (q, k and v of a layer): only if one
 * alone is left on each side, these two are a pair. */
void plumb_order_match_inputs(struct plumb_order *o)
{
    if ((uint64_t)o->counts[PLUMB_DIVERGE_A] * o->counts[PLUMB_DIVERGE_B] > MOST_NEAREST)
        return;
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        uint32_t b = plumb_order_site(o, PLUMB_DIVERGE_A, a)->partner == PLUMB_DIVERGE_NONE
                         ? only_by_inputs(o, PLUMB_DIVERGE_A, a)
                         : PLUMB_DIVERGE_NONE;
        if (b != PLUMB_DIVERGE_NONE && only_by_inputs(o, PLUMB_DIVERGE_B, b) == a)
            plumb_order_join(o, a, b, PLUMB_HOW_INPUTS);
    }
}

/* ---- The nearest ----------------------------------------------------------------------------- */

struct nearest {
    uint32_t place;
    float score;
};

/* The place in the other list of the site without a partner that is most alike. */
static struct nearest nearest_of(struct plumb_order *o, int side, uint32_t i)
{
    int other = !side;
    struct nearest best = {PLUMB_DIVERGE_NONE, 0};
    uint32_t s = o->lists[side][i];
    for (uint32_t j = 0; j < o->counts[other]; j++) {
        uint32_t t = o->lists[other][j];
        float shapes;
        if (plumb_order_site(o, other, t)->partner != PLUMB_DIVERGE_NONE)
            continue;
        uint32_t a = side == PLUMB_DIVERGE_A ? s : t;
        uint32_t b = side == PLUMB_DIVERGE_A ? t : s;
        if (!plumb_order_layers_fit(o, a, b, true))
            continue;
        if (plumb_evidence_of_sites(o->d, plumb_order_site(o, PLUMB_DIVERGE_A, a),
                                    plumb_order_site(o, PLUMB_DIVERGE_B, b), &shapes) < NEAR)
            continue;
        float now = plumb_order_score(o, a, b);
        if (now > best.score)
            best = (struct nearest){j, now};
    }
    return best;
}

/* A site that both moved and went wrong equals no other, but two such sites may be nearest to each
 * other. */
void plumb_order_match_nearest(struct plumb_order *o)
{
    uint64_t left[2] = {0, 0};
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++)
        for (uint32_t i = 0; i < o->counts[side]; i++)
            left[side] +=
                plumb_order_site(o, side, o->lists[side][i])->partner == PLUMB_DIVERGE_NONE;
    if (left[PLUMB_DIVERGE_A] * left[PLUMB_DIVERGE_B] > MOST_NEAREST)
        return;
    for (uint32_t i = 0; i < o->counts[PLUMB_DIVERGE_A]; i++) {
        uint32_t a = o->lists[PLUMB_DIVERGE_A][i];
        if (plumb_order_site(o, PLUMB_DIVERGE_A, a)->partner != PLUMB_DIVERGE_NONE)
            continue;
        struct nearest to = nearest_of(o, PLUMB_DIVERGE_A, i);
        if (to.place != PLUMB_DIVERGE_NONE && nearest_of(o, PLUMB_DIVERGE_B, to.place).place == i)
            plumb_order_join(o, a, o->lists[PLUMB_DIVERGE_B][to.place], PLUMB_HOW_ORDER);
    }
}
