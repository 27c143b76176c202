/* consume.c: layer 2: the inputs of a record, as far as they were recorded.
 *
 * In this order: the recorded inputs of its module; records that gave out the contents of these;
 * for an input, the record that gave it out. If none of these is known, the last record before it
 * bounds its input. The nearest module that holds both says where to look: code between two modules
 * of PyTorch leaves no record of its own. A gradient consumes gradients. This is asked for a few
 * records only, so each question walks over the sites or records that it needs. */
#include <math.h>
#include <string.h>

#include "analyze/diverge/diverge.h"

bool plumb_diverge_is_input(const struct plumb_activations *t, uint32_t record)
{
    return t->io && (t->io[record] == PLUMB_ACT_IN || t->io[record] == PLUMB_ACT_PARAM);
}

static bool takes(uint8_t io)
{
    return io == PLUMB_ACT_IN || io == PLUMB_ACT_PARAM;
}

static bool is_gradient(const struct plumb_activations *t, uint32_t record)
{
    return t->io && t->io[record] == PLUMB_ACT_GRAD;
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

bool plumb_diverge_has_evidence(const struct plumb_diverge *d, uint32_t a)
{
    return d->cells[a].verdict != PLUMB_SAID_NOTHING && d->cells[a].how != PLUMB_HOW_ORDER &&
           d->cells[a].how != PLUMB_HOW_NONE;
}

bool plumb_diverge_holds(const char *outer, const char *inner)
{
    size_t n = strlen(outer);
    return n > 0 && strncmp(outer, inner, n) == 0 && inner[n] == '.';
}

static bool same_rank(const struct plumb_diverge *d, uint32_t x, uint32_t y)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    return a->sites[a->site_of[x]].rank == a->sites[a->site_of[y]].rank;
}

/* ---- Recorded inputs ------------------------------------------------------------------------- */

/* Verdicts are ordered from good to bad; of two equal verdicts the larger difference is worse. */
static bool is_worse(const struct plumb_diverge_cell *x, const struct plumb_diverge_cell *y)
{
    if (x->verdict != y->verdict)
        return x->verdict > y->verdict;
    return x->exact != y->exact ? y->exact : x->excess > y->excess;
}

/* A record joined from parts consumes the inputs of its parts. */
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
    return takes(site->io) && site->phase == own->phase && site->rank == own->rank &&
           is_module_of(d, site->module, own);
}

static bool same_call(const struct plumb_activations *t, uint32_t x, uint32_t y)
{
    return step_of(t, x) == step_of(t, y) && call_of(t, x) == call_of(t, y);
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

/* The last record of A before `input` that gave out the same contents. */
static uint32_t producer_of(const struct plumb_diverge *d, uint32_t input)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    for (uint32_t i = input; i-- > 0;)
        if (!plumb_diverge_is_input(side->t, i) && same_contents(side->t, i, input))
            return i;
    return PLUMB_DIVERGE_NONE;
}

static void keep_worse(const struct plumb_diverge *d, uint32_t *worst, uint32_t record)
{
    if (record != PLUMB_DIVERGE_NONE && plumb_diverge_has_evidence(d, record) &&
        (*worst == PLUMB_DIVERGE_NONE || is_worse(&d->cells[record], &d->cells[*worst])))
        *worst = record;
}

/* The evidence in the recorded inputs of a record. */
struct inputs {
    uint32_t own;      /* the worst of those with evidence; NONE */
    uint32_t producer; /* the worst of the records that gave the inputs out; NONE */
    uint32_t open;     /* the first input without evidence, of its own or of its producer; NONE */
};

/* The producer of an input counts even if the input itself has no partner. */
static void look_at_inputs(const struct plumb_diverge *d, uint32_t a, struct inputs *out)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *site_a = &side->sites[side->site_of[a]];
    const uint32_t none = PLUMB_DIVERGE_NONE;
    *out = (struct inputs){none, none, none};
    for (uint32_t s = 0; s < side->site_count; s++) {
        const struct plumb_diverge_site *site = &side->sites[s];
        for (uint32_t i = 0; feeds(d, site, site_a) && i < site->count; i++) {
            uint32_t record = side->records[site->begin + i];
            if (!same_call(side->t, record, a))
                continue;
            uint32_t from = producer_of(d, record);
            bool known = plumb_diverge_has_evidence(d, record) ||
                         (from != none && plumb_diverge_has_evidence(d, from));
            uint32_t open = from != none ? from : record;
            keep_worse(d, &out->own, record);
            keep_worse(d, &out->producer, from);
            if (!known && (out->open == none || open < out->open))
                out->open = open;
        }
    }
}

/* ---- What came before ------------------------------------------------------------------------ */

static const char *module_of(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = d->sides[PLUMB_DIVERGE_A].t;
    return plumb_activations_text(t, t->module[a]);
}

/* A gradient comes from the gradient before it in its step, if there is one. */
static uint32_t gradient_before(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = d->sides[PLUMB_DIVERGE_A].t;
    for (uint32_t i = a; i-- > 0 && step_of(t, i) == step_of(t, a);)
        if (is_gradient(t, i) && plumb_diverge_has_evidence(d, i) && same_rank(d, i, a))
            return i;
    return PLUMB_DIVERGE_NONE;
}

static uint32_t record_before(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = d->sides[PLUMB_DIVERGE_A].t;
    uint32_t found = is_gradient(t, a) ? gradient_before(d, a) : PLUMB_DIVERGE_NONE;
    for (uint32_t i = a; i-- > 0 && found == PLUMB_DIVERGE_NONE;)
        if (plumb_diverge_has_evidence(d, i) && same_rank(d, i, a) &&
            !(t->io && t->io[i] == PLUMB_ACT_PARAM))
            found = i;
    return found;
}

/* The nearest module round that of `a` which was recorded and holds `before` as well. */
static uint32_t module_round(const struct plumb_diverge *d, uint32_t a, uint32_t before)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    uint32_t best = PLUMB_DIVERGE_NONE;
    size_t longest = 0;
    for (uint32_t s = 0; s < side->site_count; s++) {
        const char *name = plumb_activations_text(side->t, side->sites[s].module);
        size_t n = strlen(name);
        bool both = plumb_diverge_holds(name, module_of(d, a)) &&
                    (plumb_diverge_holds(name, module_of(d, before)) ||
                     strcmp(name, module_of(d, before)) == 0);
        if (both && n > longest && side->sites[s].rank == side->sites[side->site_of[a]].rank) {
            longest = n;
            best = side->records[side->sites[s].begin];
        }
    }
    return best;
}

/* The last record with evidence inside the module of `a` before it, in its step. */
static uint32_t last_inside(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = d->sides[PLUMB_DIVERGE_A].t;
    for (uint32_t i = a; i-- > 0 && step_of(t, i) == step_of(t, a);)
        if (plumb_diverge_has_evidence(d, i) && same_rank(d, i, a) &&
            plumb_diverge_holds(module_of(d, a), module_of(d, i)))
            return i;
    return PLUMB_DIVERGE_NONE;
}

struct plumb_consumed plumb_diverge_consumed(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = d->sides[PLUMB_DIVERGE_A].t;
    struct plumb_consumed c = {PLUMB_INPUTS_UNKNOWN, PLUMB_DIVERGE_NONE, PLUMB_DIVERGE_NONE,
                               PLUMB_DIVERGE_NONE};
    uint32_t bound = a; /* what agrees is looked for before it */
    if (plumb_diverge_is_input(t, a)) {
        c.how = PLUMB_INPUTS_IS_ONE;
        c.input = producer_of(d, a);
        if (c.input != PLUMB_DIVERGE_NONE && plumb_diverge_has_evidence(d, c.input))
            return c;
        bound = c.input != PLUMB_DIVERGE_NONE ? c.input : a;
    } else if (!is_gradient(t, a)) {
        struct inputs in;
        look_at_inputs(d, a, &in);
        bool own = in.own != PLUMB_DIVERGE_NONE;
        c.how = own ? PLUMB_INPUTS_RECORDED : PLUMB_INPUTS_BY_HASH;
        c.input = own ? in.own : in.producer;
        c.inside = last_inside(d, a);
        if (c.input != PLUMB_DIVERGE_NONE &&
            (in.open == PLUMB_DIVERGE_NONE || plumb_diverge_is_wrong(d->cells[c.input].verdict)))
            return c;
        bound = in.open != PLUMB_DIVERGE_NONE ? in.open : a;
    }
    c.how = PLUMB_INPUTS_UNKNOWN;
    c.input = record_before(d, bound);
    if (c.input != PLUMB_DIVERGE_NONE)
        c.within = module_round(d, a, c.input);
    return c;
}
