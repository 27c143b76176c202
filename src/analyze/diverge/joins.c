/* joins.c: one tensor on one side, its parts on the other. One engine gives out qkv, another q, k
 * and v.
 *
 * The search covers outputs that found no partner, whose partner was suggested by order alone, or
 * that agree with it in some of their records only. The last kind is needed because a rotation
 * changes nothing at the first position: q may be paired with its output there, and not with a part
 * of qkv. Parts are neighbours, lie between the partners of the whole's neighbours, and have as
 * many values together as the whole. All figures that add up over parts (counts, sums, bounds, the
 * hash without an order) must be the whole's. If a fault has made these useless, others of the same
 * kinds decide. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "analyze/diverge/evidence.h"
#include "analyze/diverge/order.h"
#include "analyze/diverge/parts.h"
#include "base/error.h"

enum { MOST_TRIES = 1 << 22, PARTS = PLUMB_DIVERGE_PARTS };

struct search {
    struct plumb_diverge *d;
    int side;                 /* with the parts */
    uint32_t *parts, *wholes; /* sites that may be, in order */
    uint32_t part_count, whole_count;
    bool *used[2]; /* by site */
    uint32_t tries;
    struct plumb_map kinds; /* of wholes and parts that agree */
    int64_t shift; /* of the numbers of layers of wholes and parts that agree, less the parts' */
};

static const struct plumb_diverge_site *site_of(const struct search *s, int side, uint32_t i)
{
    return &s->d->sides[side].sites[i];
}

static const struct plumb_activations *table_of(const struct search *s, int side)
{
    return s->d->sides[side].t;
}

static uint64_t elements_of(const struct search *s, int side, uint32_t i)
{
    const struct plumb_activations *t = table_of(s, side);
    uint32_t record = s->d->sides[side].records[site_of(s, side, i)->begin];
    return plumb_activations_elements(t, t->shape ? t->shape[record] : 0);
}

/* ---- Candidates ------------------------------------------------------------------------------ */

/* Whether the statistics that made the pair agree in a part of its records only. */
static bool agrees_in_part(const struct search *s, int side, uint32_t i)
{
    const struct plumb_diverge_site *x = site_of(s, side, i);
    const struct plumb_diverge_site *y = site_of(s, !side, x->partner);
    return (x->how == PLUMB_HOW_EVIDENCE || x->how == PLUMB_HOW_MOVED) &&
           plumb_evidence_share(s->d, side == PLUMB_DIVERGE_A ? x : y,
                                side == PLUMB_DIVERGE_A ? y : x) < 1;
}

static bool is_left(const struct search *s, int side, uint32_t i)
{
    const struct plumb_diverge_site *site = site_of(s, side, i);
    return (site->partner == PLUMB_DIVERGE_NONE || site->how == PLUMB_HOW_ORDER ||
            site->how == PLUMB_HOW_INPUTS || agrees_in_part(s, side, i)) &&
           (site->io == PLUMB_ACT_OUT || site->io == PLUMB_ACT_GRAD) &&
           plumb_activations_has(table_of(s, side), s->d->sides[side].records[site->begin],
                                 PLUMB_ACT_SHAPE);
}

static int list_left(struct search *s, int side, uint32_t **out, uint32_t *count, plumb_error *err)
{
    uint32_t n = s->d->sides[side].site_count;
    *count = 0;
    if (!(*out = malloc(((size_t)n + 1) * sizeof **out)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites", n);
    for (uint32_t i = 0; i < n; i++)
        if (is_left(s, side, i))
            (*out)[(*count)++] = i;
    return PLUMB_OK;
}

/* The places between the partners of the whole's neighbours; all places, if these are not in
 * order. */
static void window_of(const struct search *s, uint32_t whole, uint32_t *low, uint32_t *high)
{
    const struct plumb_diverge_side *other = &s->d->sides[!s->side];
    *low = 0;
    *high = PLUMB_DIVERGE_NONE;
    for (uint32_t i = whole; i-- > 0 && *low == 0;)
        if (other->sites[i].partner != PLUMB_DIVERGE_NONE && !is_left(s, !s->side, i))
            *low = other->sites[i].partner + 1;
    for (uint32_t i = whole + 1; i < other->site_count && *high == PLUMB_DIVERGE_NONE; i++)
        if (other->sites[i].partner != PLUMB_DIVERGE_NONE && !is_left(s, !s->side, i))
            *high = other->sites[i].partner;
    if (*low >= *high) {
        *low = 0;
        *high = PLUMB_DIVERGE_NONE;
    }
}

static bool go_together(const struct plumb_diverge_site *a, const struct plumb_diverge_site *b)
{
    return a->io == b->io && a->rank == b->rank && a->count == b->count;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static uint64_t role_of(const struct search *s, int side, uint32_t i)
{
    const struct plumb_activations *t = table_of(s, side);
    const struct plumb_diverge_site *site = site_of(s, side, i);
    struct plumb_order_name name;
    plumb_order_describe(&name, plumb_activations_text(t, site->module),
                         plumb_activations_text(t, site->tensor));
    return name.role;
}

static uint64_t kind_of(const struct search *s, const struct plumb_parts *p)
{
    uint64_t h = role_of(s, !s->side, p->whole);
    for (uint32_t i = 0; i < p->count; i++)
        h = (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15) + role_of(s, s->side, p->parts[i]);
    return h | 1;
}

/* The number of the layer; -1: none. */
static int64_t layer_of(const struct search *s, int side, uint32_t i)
{
    const char *name = plumb_activations_text(table_of(s, side), site_of(s, side, i)->module);
    size_t begin;
    size_t end;
    return plumb_order_number(name, &begin, &end) ? strtoll(name + begin, NULL, 10) : -1;
}

/* For a join that kinds alone suggest: whether the numbers of the two layers are equal, or as far
 * apart as in joins that agree. */
static bool fits_layer(const struct search *s, const struct plumb_parts *p)
{
    int64_t whole = layer_of(s, !s->side, p->whole);
    int64_t part = layer_of(s, s->side, p->parts[0]);
    return whole < 0 || part < 0 || whole - part == s->shift;
}

/* ---- The search ------------------------------------------------------------------------------ */

/* The parts from place `at` of the list on that have as many values as the whole. */
static bool gather(const struct search *s, struct plumb_parts *p, uint32_t at, uint32_t high)
{
    uint64_t want = elements_of(s, !s->side, p->whole);
    uint64_t have = 0;
    p->count = 0;
    for (; at < s->part_count && p->count < PARTS && have < want; at++) {
        uint32_t site = s->parts[at];
        if (site >= high || s->used[s->side][site] ||
            !go_together(site_of(s, s->side, site), site_of(s, !s->side, p->whole)))
            return false;
        have += elements_of(s, s->side, site);
        p->parts[p->count++] = site;
    }
    return have == want && want > 0 && p->count > 1;
}

static bool is_proved(struct search *s, struct plumb_parts *p, bool by_kind)
{
    if (!plumb_parts_in_step(s->d, s->side, p))
        return false;
    return by_kind ? p->dimension >= 0 && fits_layer(s, p) &&
                         plumb_map_get(&s->kinds, kind_of(s, p)) != 0
                   : plumb_parts_agree(s->d, s->side, p);
}

static bool find_parts(struct search *s, struct plumb_parts *p, bool by_kind)
{
    uint32_t low;
    uint32_t high;
    window_of(s, p->whole, &low, &high);
    for (uint32_t at = 0; at < s->part_count && s->tries < MOST_TRIES; at++) {
        if (s->parts[at] < low)
            continue;
        if (s->parts[at] >= high)
            break;
        s->tries++;
        if (!gather(s, p, at, high))
            continue;
        plumb_parts_shape(s->d, s->side, p);
        if (is_proved(s, p, by_kind))
            return true;
    }
    return false;
}

static int keep(struct search *s, const struct plumb_parts *p, bool by_kind, plumb_error *err)
{
    struct plumb_diverge *d = s->d;
    struct plumb_diverge_join *joins = realloc(d->joins, (d->join_count + 1) * sizeof *d->joins);
    if (!joins)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for what was joined");
    d->joins = joins;
    struct plumb_diverge_join *join = &joins[d->join_count++];
    *join = (struct plumb_diverge_join){.side = s->side,
                                        .whole = *site_of(s, !s->side, p->whole),
                                        .count = p->count,
                                        .dimension = p->dimension,
                                        .stacked = p->stacked,
                                        .by_kind = by_kind};
    int64_t of_whole = layer_of(s, !s->side, p->whole);
    int64_t of_part = layer_of(s, s->side, p->parts[0]);
    if (!by_kind && of_whole >= 0 && of_part >= 0)
        s->shift = of_whole - of_part;
    s->used[!s->side][p->whole] = true;
    for (uint32_t i = 0; i < p->count; i++) {
        join->parts[i] = *site_of(s, s->side, p->parts[i]);
        s->used[s->side][p->parts[i]] = true;
    }
    return plumb_map_put(&s->kinds, kind_of(s, p), 1) < 0
               ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for what was joined")
               : PLUMB_OK;
}

static int search_side(struct search *s, plumb_error *err)
{
    int rc;
    if ((rc = list_left(s, s->side, &s->parts, &s->part_count, err)) < 0 ||
        (rc = list_left(s, !s->side, &s->wholes, &s->whole_count, err)) < 0)
        goto out;
    for (int by_kind = 0; by_kind < 2; by_kind++) {
        for (uint32_t i = 0; i < s->whole_count && rc == PLUMB_OK; i++) {
            struct plumb_parts p = {.whole = s->wholes[i]};
            if (!s->used[!s->side][p.whole] && find_parts(s, &p, by_kind))
                rc = keep(s, &p, by_kind, err);
        }
    }
out:
    free(s->parts);
    free(s->wholes);
    plumb_map_fini(&s->kinds);
    return rc;
}

int plumb_diverge_find_joins(struct plumb_diverge *d, plumb_error *err)
{
    bool *used[2];
    int rc = PLUMB_OK;
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B; i++)
        if (!(used[i] = calloc((size_t)d->sides[i].site_count + 1, sizeof *used[i])))
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u sites",
                            d->sides[i].site_count);
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B && rc == PLUMB_OK; i++) {
        struct search s = {.d = d, .side = i, .used = {used[0], used[1]}};
        size_t before = d->join_count;
        rc = search_side(&s, err);
        if (rc == PLUMB_OK && d->join_count > before)
            rc = plumb_parts_make(d, i, err);
    }
    free(used[0]);
    free(used[1]);
    return rc < 0 ? rc : d->join_count > 0;
}

/* ---- Once the sites are found again ---------------------------------------------------------- */

static uint32_t find_site(const struct plumb_diverge_side *side,
                          const struct plumb_diverge_site *like, uint32_t module, uint32_t tensor)
{
    for (uint32_t i = 0; i < side->site_count; i++) {
        const struct plumb_diverge_site *x = &side->sites[i];
        if (x->module == module && x->tensor == tensor && x->phase == like->phase &&
            x->rank == like->rank && x->io == like->io)
            return i;
    }
    return PLUMB_DIVERGE_NONE;
}

void plumb_diverge_apply_joins(struct plumb_diverge *d)
{
    for (uint32_t k = 0; k < d->join_count; k++) {
        const struct plumb_diverge_join *join = &d->joins[k];
        struct plumb_diverge_side *split = &d->sides[join->side];
        struct plumb_diverge_side *other = &d->sides[!join->side];
        uint32_t made = find_site(split, &join->parts[0], join->module, join->tensor);
        uint32_t whole = find_site(other, &join->whole, join->whole.module, join->whole.tensor);
        if (made == PLUMB_DIVERGE_NONE || whole == PLUMB_DIVERGE_NONE)
            continue;
        split->sites[made].partner = whole;
        other->sites[whole].partner = made;
        split->sites[made].how = other->sites[whole].how = PLUMB_HOW_JOINED;
        split->sites[made].join = k + 1;
        for (uint32_t i = 0; i < join->count; i++) {
            uint32_t part =
                find_site(split, &join->parts[i], join->parts[i].module, join->parts[i].tensor);
            if (part == PLUMB_DIVERGE_NONE)
                continue;
            split->sites[part].is_part = true;
            split->sites[part].join = k + 1;
        }
    }
}
