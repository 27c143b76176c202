/* doubt.c: whether the evidence for a pair carries an answer.
 *
 * Statistics of two tensors may agree by chance, or because one operation did nothing to the other:
 * at the first position a rotation gives out what it takes. So a pair that statistics suggested
 * carries an answer only where others of its kind agree as well: in another layer of the step, or
 * in two steps. Names and the user's map need no second. */
#include <math.h>
#include <stdlib.h>

#include "analyze/diverge/order.h"
#include "analyze/diverge/verdict.h"
#include "base/map.h"

enum {
    ROUNDINGS = 16, /* what one operation may lose */
    RIPPLES = 10,   /* times as far off as most */
    SAMPLE = 512    /* records */
};
static const float RIPPLE = 0.1F;            /* tolerances: less is not looked into */
static const double FLOAT32_ROUNDING = 6e-8; /* for an unknown type: the finest that is likely */

/* Which kinds of pairs agree, and in which steps. */
struct support {
    const struct plumb_diverge *d;
    uint64_t *kinds;          /* by site of A; 0: not computed yet */
    struct plumb_map in_step; /* kind and step: how many records */
    struct plumb_map steps;   /* kind: in how many steps, up to 2 */
};

static bool agrees(const struct plumb_diverge *d, uint32_t i)
{
    return plumb_diverge_has_evidence(d, i) && !plumb_diverge_differs(d, i);
}

static uint64_t kind_of(struct support *s, uint32_t a)
{
    uint64_t *kind = &s->kinds[s->d->sides[PLUMB_DIVERGE_A].site_of[a]];
    if (*kind == 0)
        *kind = plumb_order_kind_of(s->d, a);
    return *kind;
}

static uint64_t key_of(struct support *s, uint32_t a)
{
    const struct plumb_activations *t = plumb_verdict_table(s->d);
    uint64_t step = t->step ? (uint64_t)t->step[a] : 0;
    uint64_t key = (kind_of(s, a) + step) * UINT64_C(0x9e3779b97f4a7c15);
    return (key ^ key >> 31) | 1;
}

/* Among all pairs of sites some agree by chance, so a pair that was found out of order supports no
 * other. */
static bool supports(const struct plumb_diverge *d, uint32_t i)
{
    return agrees(d, i) && d->cells[i].how != PLUMB_HOW_MOVED;
}

static int open_support(struct support *s, const struct plumb_diverge *d)
{
    int rc = PLUMB_OK;
    *s = (struct support){.d = d};
    s->kinds = calloc(d->sides[PLUMB_DIVERGE_A].site_count, sizeof *s->kinds);
    if (!s->kinds)
        return PLUMB_ERR_MEMORY;
    for (uint32_t i = 0; i < plumb_verdict_count(d) && rc == PLUMB_OK; i++) {
        if (!supports(d, i))
            continue;
        uint64_t n = plumb_map_get(&s->in_step, key_of(s, i));
        uint64_t steps = plumb_map_get(&s->steps, kind_of(s, i));
        rc = plumb_map_put(&s->in_step, key_of(s, i), n + 1);
        if (rc == PLUMB_OK && n == 0 && steps < 2)
            rc = plumb_map_put(&s->steps, kind_of(s, i), steps + 1);
    }
    return rc;
}

static void close_support(struct support *s)
{
    plumb_map_fini(&s->in_step);
    plumb_map_fini(&s->steps);
    free(s->kinds);
}

/* Whether the evidence for the pair of `a` is more than one agreement that may be chance. */
static bool carries(struct support *s, uint32_t a)
{
    const struct plumb_diverge *d = s->d;
    const struct plumb_diverge_cell *cell = &d->cells[a];
    if (cell->how == PLUMB_HOW_NAME || cell->how == PLUMB_HOW_MAP || cell->how == PLUMB_HOW_JOINED)
        return true;
    if (!plumb_diverge_has_evidence(d, a))
        return false;
    if (cell->exact && plumb_activations_stat(plumb_verdict_table(d), a, PLUMB_ACT_ABS_MEAN) != 0)
        return true; /* several figures to the last bit */
    uint64_t own = supports(d, a);
    return plumb_map_get(&s->in_step, key_of(s, a)) > own ||
           plumb_map_get(&s->steps, kind_of(s, a)) > 1;
}

static int by_size(const void *x, const void *y)
{
    const float *a = x;
    const float *b = y;
    return (*a > *b) - (*a < *b);
}

/* The median excess, in tolerances, of a sample of the pairs that agree. */
static float middle_excess(const struct plumb_diverge *d)
{
    float sample[SAMPLE];
    uint32_t stride = plumb_verdict_count(d) / SAMPLE + 1;
    size_t n = 0;
    for (uint32_t i = 0; i < plumb_verdict_count(d); i += stride)
        if (agrees(d, i) && !plumb_verdict_is_input(d, i))
            sample[n++] = d->cells[i].excess;
    qsort(sample, n, sizeof *sample, by_size);
    return n > 0 ? sample[n / 2] : 0;
}

/* The last record, up to `from`, that may bound a frontier before `a`: it agrees, as closely as
 * most do. An earlier fault may have left it within tolerance: a norm hides a factor. */
static uint32_t last_that_carries(struct support *s, uint32_t from, uint32_t a)
{
    const struct plumb_diverge *d = s->d;
    float calm = fmaxf(RIPPLE, RIPPLES * middle_excess(d));
    for (uint32_t i = from + 1; i-- > 0;)
        if (agrees(d, i) && plumb_verdict_same_rank(d, i, a) && d->cells[i].excess <= calm &&
            carries(s, i))
            return i;
    return PLUMB_DIVERGE_NONE;
}

static uint32_t first_that_carries(struct support *s, uint32_t a)
{
    const struct plumb_diverge *d = s->d;
    for (uint32_t i = a + 1; i < plumb_verdict_count(d); i++)
        if (plumb_diverge_has_evidence(d, i) && plumb_diverge_differs(d, i) &&
            !plumb_verdict_is_input(d, i) && plumb_verdict_same_rank(d, i, a) && carries(s, i))
            return i;
    return PLUMB_DIVERGE_NONE;
}

/* Returns `input`, the end of a frontier that agrees, or an earlier record. If `input` is within
 * tolerance but off by more than rounding, after records that are equal to the last bit, the fault
 * began before it. */
static uint32_t before_what_is_off(struct plumb_diverge *d, uint32_t input)
{
    while (input != PLUMB_DIVERGE_NONE && !d->cells[input].exact &&
           plumb_verdict_speaks(d, input) &&
           (d->equal_count > 0 ? input > d->equal_last : d->unknown_type) &&
           plumb_verdict_noise(d, input) == 0) {
        uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[input];
        struct plumb_tolerance t = plumb_diverge_tolerance(d, input, b);
        double rounding = t.known ? t.rounding : FLOAT32_ROUNDING;
        if ((double)d->cells[input].drift <= ROUNDINGS * rounding)
            break;
        input = d->equal_last;
    }
    return input;
}

/* The same pair of sites may have differed in an earlier step already. */
static void go_to_first_of_site(const struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *site = &side->sites[side->site_of[c->a]];
    for (uint32_t i = 0; i < site->count; i++) {
        uint32_t record = side->records[site->begin + i];
        if (record >= c->a || side->partner[record] == PLUMB_DIVERGE_NONE ||
            !plumb_diverge_differs(d, record))
            continue;
        c->a = record;
        c->b = side->partner[record];
        c->input = record > 0 && c->input != PLUMB_DIVERGE_NONE ? record - 1 : c->input;
        return;
    }
}

static void widen(struct plumb_diverge *d, struct plumb_diverge_culprit *c, struct support *s)
{
    bool weak = !carries(s, c->a);
    if (weak)
        go_to_first_of_site(d, c);
    if (c->input != PLUMB_DIVERGE_NONE && (weak || c->inputs == PLUMB_INPUTS_UNKNOWN) &&
        plumb_verdict_speaks(d, c->input))
        c->input = last_that_carries(s, c->input, c->a);
    uint32_t input = before_what_is_off(d, c->input);
    if (input != c->input) {
        c->input = input;
        c->inputs = PLUMB_INPUTS_UNKNOWN;
    }
    if (c->input == PLUMB_DIVERGE_NONE) {
        c->within = c->inside = PLUMB_DIVERGE_NONE;
        c->kind = c->kind == PLUMB_DIVERGE_BETWEEN ? PLUMB_DIVERGE_JUMP : c->kind;
    }
    if (!weak || (c->kind == PLUMB_DIVERGE_START && d->cells[c->a].how == PLUMB_HOW_ORDER))
        return;
    c->kind = PLUMB_DIVERGE_LOST;
    if (c->sure == PLUMB_DIVERGE_NONE || !carries(s, c->sure))
        c->sure = first_that_carries(s, c->a);
    c->inputs = PLUMB_INPUTS_UNKNOWN;
    c->within = c->inside = PLUMB_DIVERGE_NONE;
}

int plumb_verdict_doubt(struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    struct support s;
    bool told = c->kind == PLUMB_DIVERGE_JUMP || c->kind == PLUMB_DIVERGE_BETWEEN ||
                c->kind == PLUMB_DIVERGE_START || c->kind == PLUMB_DIVERGE_LOST;
    if (d->held || !told)
        return PLUMB_OK;
    int rc = open_support(&s, d);
    if (rc == PLUMB_OK)
        widen(d, c, &s);
    close_support(&s);
    return rc;
}
