/* diverge_inputs.c: what a record consumed, as far as it was recorded. Asked for a few records
 * only, so each question walks over the sites or records it needs. */
#include <math.h>

#include "analyze/diverge.h"

static bool is_input(uint8_t io)
{
    return io == PLUMB_ACT_IN || io == PLUMB_ACT_PARAM;
}

static int64_t step_of(const struct plumb_activations *t, uint32_t record)
{
    if (!plumb_activations_has(t, record, PLUMB_ACT_STEP))
        return INT64_MIN;
    return t->step ? t->step[record] : 0;
}

static uint32_t call_of(const struct plumb_activations *t, uint32_t record)
{
    return t->call ? t->call[record] : 0;
}

/* Verdicts are ordered from good to bad; of two alike the one that is farther off. */
static bool is_worse(const struct plumb_diverge_cell *x, const struct plumb_diverge_cell *y)
{
    return x->verdict != y->verdict ? x->verdict > y->verdict : x->excess > y->excess;
}

/* What was joined consumes what its parts do. */
static bool is_module_of(const struct plumb_diverge *d, uint32_t module,
                         const struct plumb_diverge_site *own)
{
    if (own->join == 0 || own->is_part)
        return module == own->module;
    const struct plumb_diverge_join *join = &d->joins[own->join - 1];
    for (uint32_t i = 0; i < join->count; i++)
        if (join->parts[i].module == module)
            return true;
    return false;
}

/* Whether `site` takes what the module of `own` consumes. */
static bool feeds(const struct plumb_diverge *d, const struct plumb_diverge_site *site,
                  const struct plumb_diverge_site *own)
{
    return is_input(site->io) && site->phase == own->phase && site->rank == own->rank &&
           is_module_of(d, site->module, own);
}

static bool same_call(const struct plumb_activations *t, uint32_t x, uint32_t y)
{
    return step_of(t, x) == step_of(t, y) && call_of(t, x) == call_of(t, y);
}

uint8_t plumb_diverge_inputs_of(const struct plumb_diverge *d, uint32_t a, uint32_t *worst)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *own = &side->sites[side->site_of[a]];
    *worst = PLUMB_DIVERGE_NONE;
    for (uint32_t s = 0; s < side->site_count; s++) {
        const struct plumb_diverge_site *site = &side->sites[s];
        for (uint32_t i = 0; feeds(d, site, own) && i < site->count; i++) {
            uint32_t record = side->records[site->begin + i];
            if (d->cells[record].verdict != PLUMB_SAID_NOTHING && same_call(side->t, record, a) &&
                (*worst == PLUMB_DIVERGE_NONE || is_worse(&d->cells[record], &d->cells[*worst])))
                *worst = record;
        }
    }
    return *worst == PLUMB_DIVERGE_NONE ? PLUMB_SAID_NOTHING : d->cells[*worst].verdict;
}

/* Whether both records of A hold the same contents: by their hashes, or where there are none by at
 * least two statistics and the shape. */
static bool same_contents(const struct plumb_activations *t, uint32_t x, uint32_t y)
{
    uint32_t both = t->has[x] & t->has[y];
    int figures = 0;
    if (both >> PLUMB_ACT_HASH & 1)
        return plumb_activations_whole(t, x, PLUMB_ACT_HASH) ==
               plumb_activations_whole(t, y, PLUMB_ACT_HASH);
    if (!(both >> PLUMB_ACT_SHAPE & 1) || (t->shape && t->shape[x] != t->shape[y]))
        return false;
    for (enum plumb_activation_field f = PLUMB_ACT_ABS_MEAN; f < PLUMB_ACT_REALS; f++) {
        if (!(both >> f & 1) || !t->stat[f])
            continue;
        if (t->stat[f][x] != t->stat[f][y] && !(isnan(t->stat[f][x]) && isnan(t->stat[f][y])))
            return false;
        figures += t->stat[f][x] != 0;
    }
    return figures >= 2;
}

uint32_t plumb_diverge_producer(const struct plumb_diverge *d, uint32_t input)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    for (uint32_t i = input; i-- > 0;)
        if (!(side->t->io && is_input(side->t->io[i])) && same_contents(side->t, i, input))
            return i;
    return PLUMB_DIVERGE_NONE;
}

uint32_t plumb_diverge_producers_of(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *own = &side->sites[side->site_of[a]];
    uint32_t worst = PLUMB_DIVERGE_NONE;
    for (uint32_t s = 0; s < side->site_count; s++) {
        const struct plumb_diverge_site *site = &side->sites[s];
        for (uint32_t i = 0; feeds(d, site, own) && i < site->count; i++) {
            uint32_t record = side->records[site->begin + i];
            uint32_t producer = same_call(side->t, record, a) ? plumb_diverge_producer(d, record)
                                                              : PLUMB_DIVERGE_NONE;
            if (producer != PLUMB_DIVERGE_NONE &&
                d->cells[producer].verdict != PLUMB_SAID_NOTHING &&
                (worst == PLUMB_DIVERGE_NONE || is_worse(&d->cells[producer], &d->cells[worst])))
                worst = producer;
        }
    }
    return worst;
}
