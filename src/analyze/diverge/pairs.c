/* pairs.c: the records of partner sites, by step and call.
 *
 * If both sides have the same number of calls in a step, these are paired in order. If one side
 * has more, its first ones are, provided they agree; otherwise the calls are aligned by their
 * outputs. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/diverge.h"
#include "analyze/diverge/evidence.h"
#include "analyze/diverge/sequence.h"
#include "base/error.h"

struct list {
    const struct plumb_activations *t;
    uint32_t *at; /* records in order of their steps; the caller's, or `own` */
    uint32_t *own;
    uint32_t count;
};

struct pairing {
    struct plumb_diverge *d;
    struct list lists[2];
    uint32_t *partner; /* partners in the sequence of one step, [partner_cap] */
    uint32_t partner_cap;
    uint8_t how; /* of the sites */
};

/* ---- Steps ----------------------------------------------------------------------------------- */

static int64_t step_of(const struct pairing *p, const struct list *list, uint32_t i)
{
    uint32_t record = list->at[i];
    if (p->d->any_step || !plumb_activations_has(list->t, record, PLUMB_ACT_STEP))
        return INT64_MIN;
    return list->t->step ? list->t->step[record] : 0;
}

struct keyed {
    int64_t step;
    uint32_t record, order;
};

static int by_step(const void *x, const void *y)
{
    const struct keyed *a = x;
    const struct keyed *b = y;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Runs count their steps upwards; a second request begins again at 0. */
static int sort_steps(struct pairing *p, struct list *list, plumb_error *err)
{
    bool rising = true;
    for (uint32_t i = 1; i < list->count && rising; i++)
        rising = step_of(p, list, i - 1) <= step_of(p, list, i);
    if (rising)
        return PLUMB_OK;
    struct keyed *keys = malloc(list->count * sizeof *keys);
    list->own = malloc(list->count * sizeof *list->own);
    if (!keys || !list->own) {
        free(keys);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u records", list->count);
    }
    for (uint32_t i = 0; i < list->count; i++)
        keys[i] = (struct keyed){step_of(p, list, i), list->at[i], i};
    qsort(keys, list->count, sizeof *keys, by_step);
    for (uint32_t i = 0; i < list->count; i++)
        list->own[i] = keys[i].record;
    list->at = list->own;
    free(keys);
    return PLUMB_OK;
}

static uint32_t end_of_step(const struct pairing *p, const struct list *list, uint32_t begin)
{
    uint32_t end = begin + 1;
    while (end < list->count && step_of(p, list, end) == step_of(p, list, begin))
        end++;
    return end;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void pair(struct pairing *p, uint32_t a, uint32_t b, uint8_t how)
{
    p->d->sides[PLUMB_DIVERGE_A].partner[a] = b;
    p->d->sides[PLUMB_DIVERGE_B].partner[b] = a;
    p->d->cells[a].how = how;
}

static bool agree(struct pairing *p, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (plumb_diverge_is_wrong(plumb_diverge_compare(p->d, a[i], b[i]).verdict))
            return false;
    return true;
}

static int pair_by_evidence(struct pairing *p, const uint32_t *a, uint32_t a_count,
                            const uint32_t *b, uint32_t b_count, plumb_error *err)
{
    struct plumb_sequence s = {a, b, a_count, b_count, plumb_evidence_of_records, p->d, 1 << 20};
    if (a_count > p->partner_cap) {
        uint32_t *partner = realloc(p->partner, a_count * sizeof *partner);
        if (!partner)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %u calls", a_count);
        p->partner = partner;
        p->partner_cap = a_count;
    }
    int rc = plumb_sequence_align(p->partner, &s, err);
    if (rc < 0)
        return rc;
    p->d->approximate |= rc == 0;
    for (uint32_t i = 0; i < a_count; i++) {
        if (p->partner[i] == PLUMB_SEQUENCE_NONE)
            continue;
        uint32_t to = b[p->partner[i]];
        bool close = plumb_evidence_closeness(p->d, a[i], to) >= 1;
        pair(p, a[i], to, close ? PLUMB_HOW_EVIDENCE : PLUMB_HOW_ORDER);
    }
    return PLUMB_OK;
}

static int pair_calls(struct pairing *p, const uint32_t *a, uint32_t a_count, const uint32_t *b,
                      uint32_t b_count, plumb_error *err)
{
    uint32_t n = a_count < b_count ? a_count : b_count;
    if (a_count != b_count && !agree(p, a, b, n))
        return pair_by_evidence(p, a, a_count, b, b_count, err);
    for (uint32_t i = 0; i < n; i++)
        pair(p, a[i], b[i], p->how);
    return PLUMB_OK;
}

static int pair_steps(struct pairing *p, plumb_error *err)
{
    const struct list *a = &p->lists[PLUMB_DIVERGE_A];
    const struct list *b = &p->lists[PLUMB_DIVERGE_B];
    int rc = PLUMB_OK;
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count && rc == PLUMB_OK;) {
        int64_t step_a = step_of(p, a, i);
        int64_t step_b = step_of(p, b, j);
        uint32_t i_end = step_a <= step_b ? end_of_step(p, a, i) : i;
        uint32_t j_end = step_b <= step_a ? end_of_step(p, b, j) : j;
        if (step_a == step_b)
            rc = pair_calls(p, a->at + i, i_end - i, b->at + j, j_end - j, err);
        i = i_end;
        j = j_end;
    }
    return rc;
}

static int pair_sites(struct pairing *p, uint32_t site, plumb_error *err)
{
    struct plumb_diverge_side *sides = p->d->sides;
    const struct plumb_diverge_site *a = &sides[PLUMB_DIVERGE_A].sites[site];
    const struct plumb_diverge_site *b = &sides[PLUMB_DIVERGE_B].sites[a->partner];
    int rc = PLUMB_OK;
    p->how = a->how;
    p->lists[PLUMB_DIVERGE_A] = (struct list){
        sides[PLUMB_DIVERGE_A].t, sides[PLUMB_DIVERGE_A].records + a->begin, NULL, a->count};
    p->lists[PLUMB_DIVERGE_B] = (struct list){
        sides[PLUMB_DIVERGE_B].t, sides[PLUMB_DIVERGE_B].records + b->begin, NULL, b->count};
    for (int i = PLUMB_DIVERGE_A; i <= PLUMB_DIVERGE_B && rc == PLUMB_OK; i++)
        rc = sort_steps(p, &p->lists[i], err);
    if (rc == PLUMB_OK)
        rc = pair_steps(p, err);
    free(p->lists[PLUMB_DIVERGE_A].own);
    free(p->lists[PLUMB_DIVERGE_B].own);
    return rc;
}

void plumb_diverge_part(struct plumb_diverge *d, uint32_t a)
{
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[a];
    d->sides[PLUMB_DIVERGE_A].partner[a] = PLUMB_DIVERGE_NONE;
    d->sides[PLUMB_DIVERGE_B].partner[b] = PLUMB_DIVERGE_NONE;
    d->by_how[d->cells[a].how]--;
    d->by_verdict[d->cells[a].verdict]--;
    d->cells[a] = (struct plumb_diverge_cell){0};
    d->by_how[PLUMB_HOW_NONE]++;
    d->dropped++;
    d->pairs--;
}

int plumb_diverge_pair_records(struct plumb_diverge *d, plumb_error *err)
{
    struct pairing p = {.d = d};
    int rc = PLUMB_OK;
    size_t n = d->sides[PLUMB_DIVERGE_A].t->count;
    d->cells = calloc(n, sizeof *d->cells);
    if (!d->cells)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %zu pairs", n);
    for (uint32_t s = 0; s < d->sides[PLUMB_DIVERGE_A].site_count && rc == PLUMB_OK; s++)
        if (d->sides[PLUMB_DIVERGE_A].sites[s].partner != PLUMB_DIVERGE_NONE)
            rc = pair_sites(&p, s, err);
    free(p.partner);
    return rc;
}
