/* verdict.c: layer 3: where the runs diverge.
 *
 * Records are walked in A's order, in which each record comes after its inputs. The first record
 * with evidence that differs is one end of the frontier, and its input (layer 2) the other. Pairs
 * without evidence are neither end. If one pair differs while all around it agree, its two records
 * are taken for operations that each side has alone. A difference that grew little by little has no
 * culprit: a record is one only if it is far more wrong than the records before it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge/verdict.h"
#include "base/error.h"

enum {
    WHILE = 8,       /* records */
    RISE = 30,       /* times as far off as all before */
    ROUNDINGS = 16,  /* errors that one operation may add by rounding; a larger one has another
                      * cause */
    MOST_HOPS = 1000 /* from shuffled inputs to what made them */
};

static const char no_memory[] = "out of memory for the kinds of layers";

bool plumb_diverge_differs(const struct plumb_diverge *d, uint32_t a)
{
    return plumb_verdict_speaks(d, a) &&
           (d->held ? !d->cells[a].exact : plumb_verdict_is_wrong(d, a));
}

/* ---- The frontier ---------------------------------------------------------------------------- */

static bool is_shuffled(const struct plumb_diverge *d, uint32_t a)
{
    return a != PLUMB_DIVERGE_NONE && d->cells[a].verdict == PLUMB_SAID_SHUFFLED;
}

static void put_consumed(struct plumb_diverge_culprit *c, uint32_t a,
                         const struct plumb_consumed *from)
{
    c->a = a;
    c->inputs = from->how;
    c->input = from->input;
    c->within = from->within;
    c->inside = from->inside;
}

/* Walks back from `a` over inputs that differ. Values in another order are to blame if their
 * consumer went wrong. */
static uint32_t blame(const struct plumb_diverge *d, uint32_t a, struct plumb_diverge_culprit *c)
{
    for (int hop = 0; hop < MOST_HOPS; hop++) {
        struct plumb_consumed from = plumb_diverge_consumed(d, a);
        put_consumed(c, a, &from);
        bool known = from.input != PLUMB_DIVERGE_NONE && plumb_diverge_has_evidence(d, from.input);
        bool worse =
            known && from.how != PLUMB_INPUTS_UNKNOWN && plumb_diverge_differs(d, from.input);
        if (d->held || !(worse || (known && is_shuffled(d, from.input))))
            break;
        a = from.input;
    }
    return a;
}

/* Whether another input of the same call went in right: then this one came from elsewhere. */
static bool has_sound_sibling(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = plumb_verdict_table(d);
    for (uint32_t i = 0; i < plumb_verdict_count(d); i++)
        if (i != a && plumb_verdict_is_input(d, i) && t->module[i] == t->module[a] &&
            plumb_verdict_same_step(d, i, a) && plumb_verdict_same_rank(d, i, a) &&
            (!t->call || t->call[i] == t->call[a]) && plumb_diverge_has_evidence(d, i) &&
            !plumb_diverge_differs(d, i))
            return true;
    return false;
}

static enum plumb_diverge_kind kind_of(const struct plumb_diverge *d,
                                       const struct plumb_diverge_culprit *c)
{
    if (c->input == PLUMB_DIVERGE_NONE)
        return PLUMB_DIVERGE_START;
    if (!plumb_verdict_is_input(d, c->a))
        return PLUMB_DIVERGE_JUMP;
    if (c->inputs == PLUMB_INPUTS_IS_ONE)
        return plumb_verdict_speaks(d, c->input) ? PLUMB_DIVERGE_BETWEEN : PLUMB_DIVERGE_JUMP;
    return c->within == PLUMB_DIVERGE_NONE && has_sound_sibling(d, c->a) ? PLUMB_DIVERGE_OUTSIDE
                                                                         : PLUMB_DIVERGE_BETWEEN;
}

/* ---- Drift ----------------------------------------------------------------------------------- */

/* How far off, in tolerances, the runs were where `c->a` began. */
static float excess_before(const struct plumb_diverge *d, const struct plumb_diverge_culprit *c)
{
    return c->input != PLUMB_DIVERGE_NONE && c->inputs != PLUMB_INPUTS_UNKNOWN
               ? d->cells[c->input].excess
               : plumb_verdict_noise(d, c->a);
}

/* The first record whose figures differ at all. */
static uint32_t first_off(const struct plumb_diverge *d, uint32_t a)
{
    for (uint32_t i = 0; i < a; i++)
        if (d->cells[i].excess > 0 && plumb_diverge_has_evidence(d, i) &&
            plumb_verdict_same_rank(d, i, a))
            return i;
    return a;
}

/* The first record that is far above all before it, after the runs had agreed for a while: a jump
 * within a wide tolerance may be a fault all the same. */
static uint32_t first_rise(const struct plumb_diverge *d, uint32_t end)
{
    float most = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < end; i++) {
        if (!plumb_diverge_has_evidence(d, i) || !plumb_verdict_same_rank(d, i, end))
            continue;
        if (n >= WHILE && most > 0 && d->cells[i].excess > RISE * most)
            return i;
        most = d->cells[i].excess > most ? d->cells[i].excess : most;
        n++;
    }
    return PLUMB_DIVERGE_NONE;
}

static void tell_drift(struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    const struct plumb_diverge_cell *cell = &d->cells[c->a];
    if (c->kind != PLUMB_DIVERGE_JUMP || cell->verdict != PLUMB_SAID_DIFFERENT || d->held ||
        cell->excess >= PLUMB_VERDICT_JUMP * excess_before(d, c))
        return;
    uint32_t origin = first_off(d, c->a);
    if (origin == c->a)
        return;
    uint32_t rise = first_rise(d, c->a);
    if (rise != PLUMB_DIVERGE_NONE) {
        (void)blame(d, rise, c);
        c->kind = kind_of(d, c);
        return;
    }
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[origin];
    struct plumb_tolerance t = plumb_diverge_tolerance(d, origin, b);
    bool rounding = (double)d->cells[origin].drift <= ROUNDINGS * t.rounding;
    if (!rounding && !plumb_verdict_is_input(d, origin)) {
        /* All records up to there are equal to the last bit, and rounding does not explain the
         * difference. */
        (void)blame(d, origin, c);
        return;
    }
    c->kind = PLUMB_DIVERGE_DRIFT;
    c->beyond = c->a;
    c->a = origin;
    c->inputs = PLUMB_INPUTS_UNKNOWN;
    c->input = c->within = c->inside = PLUMB_DIVERGE_NONE;
}

/* ---- Further facts --------------------------------------------------------------------------- */

static bool is_no_number(const struct plumb_activations *t, uint32_t record)
{
    return plumb_diverge_has_nan(t, record) || plumb_diverge_has_inf(t, record);
}

static uint32_t first_unmatched_birth(const struct plumb_diverge_side *side)
{
    for (uint32_t i = 0; i < side->t->count; i++)
        if (side->partner[i] == PLUMB_DIVERGE_NONE && !side->sites[side->site_of[i]].is_part &&
            is_no_number(side->t, i))
            return i;
    return PLUMB_DIVERGE_NONE;
}

/* Where NaN and Inf first stand on one side only, when that is not the culprit. */
static void find_births(const struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_side *b = &d->sides[PLUMB_DIVERGE_B];
    uint32_t first = 0;
    while (first < a->t->count && d->cells[first].verdict < PLUMB_SAID_NAN)
        first++;
    bool paired = first < a->t->count;
    uint32_t alone_a = first_unmatched_birth(a);
    uint32_t alone_b = first_unmatched_birth(b);
    /* In A too these values would be nothing new. */
    if (alone_b != PLUMB_DIVERGE_NONE && alone_a == PLUMB_DIVERGE_NONE &&
        (!paired || alone_b < a->partner[first]))
        c->born_b = alone_b;
    else if (alone_a != PLUMB_DIVERGE_NONE && alone_b == PLUMB_DIVERGE_NONE &&
             (!paired || alone_a < first))
        c->born_a = alone_a;
    else if (paired && first != c->a)
        c->born_a = first;
}

/* The verdict on a module's inputs in its latest call. */
struct taken {
    int64_t step;
    uint32_t call, record;
    bool known, wrong;
};

/* Whether `a` is of a module around the culprit: such a module went wrong because of it. */
static bool holds_culprit(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = plumb_verdict_table(d);
    const char *outer = plumb_activations_text(t, t->module[a]);
    const char *inner = plumb_activations_text(t, t->module[d->culprit.a]);
    return (plumb_diverge_holds(outer, inner) || !*outer) &&
           plumb_verdict_same_step(d, a, d->culprit.a);
}

/* Counts further faults after the culprit: outputs that are wrong although the inputs of their
 * module matched. A module whose inputs come before the culprit and whose output comes after it
 * contains it, whatever its name, and does not count. Gradients do not count either: they are made
 * from gradients, not from the inputs of the forward pass. */
static int find_roots(const struct plumb_diverge *d, struct plumb_diverge_culprit *c,
                      plumb_error *err)
{
    const struct plumb_activations *t = plumb_verdict_table(d);
    struct taken *taken;
    if (!t->io || c->a == PLUMB_DIVERGE_NONE)
        return PLUMB_OK;
    if (!(taken = calloc(t->text_count, sizeof *taken)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the inputs of a run");
    for (uint32_t i = 0; i < plumb_verdict_count(d); i++) {
        struct taken *m = &taken[t->module[i]];
        int64_t step = t->step ? t->step[i] : 0;
        uint32_t call = t->call ? t->call[i] : 0;
        bool same = m->known && m->step == step && m->call == call;
        if (!plumb_diverge_has_evidence(d, i))
            continue;
        if (plumb_verdict_is_input(d, i))
            *m = (struct taken){step, call, i, true,
                                plumb_diverge_differs(d, i) || (same && m->wrong)};
        else if (t->io[i] != PLUMB_ACT_GRAD && plumb_diverge_differs(d, i) && same && !m->wrong &&
                 m->record > c->a && i > c->a && !holds_culprit(d, i)) {
            if (c->roots++ == 0)
                c->next_root = i;
        }
    }
    free(taken);
    return PLUMB_OK;
}

static uint32_t first_beyond(const struct plumb_diverge *d, uint32_t from)
{
    for (uint32_t i = from; i < plumb_verdict_count(d); i++)
        if (plumb_diverge_has_evidence(d, i) && plumb_verdict_is_wrong(d, i))
            return i;
    return PLUMB_DIVERGE_NONE;
}

/* ---- All together ---------------------------------------------------------------------------- */

static uint32_t first_alone(const struct plumb_diverge_side *side)
{
    for (uint32_t i = 0; i < side->t->count; i++)
        if (side->partner[i] == PLUMB_DIVERGE_NONE && !side->sites[side->site_of[i]].is_part)
            return i;
    return PLUMB_DIVERGE_NONE;
}

/* The user asks for equality in every bit and every record: a record that one side lacks is a
 * difference. */
static void find_alone(const struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    if (d->options.relative != 0 || d->options.absolute != 0 || d->options.only != PLUMB_ONLY_ALL)
        return;
    c->a = first_alone(&d->sides[PLUMB_DIVERGE_A]);
    c->b = first_alone(&d->sides[PLUMB_DIVERGE_B]);
    if (c->a != PLUMB_DIVERGE_NONE || c->b != PLUMB_DIVERGE_NONE)
        c->kind = PLUMB_DIVERGE_MISSING;
}

/* Finds a difference that order alone suggests, before the first one with evidence. */
static bool find_in_guesses(struct plumb_diverge *d, uint32_t sure, struct plumb_diverge_culprit *c,
                            int *rc)
{
    uint32_t agreed;
    uint32_t first = plumb_verdict_lost(d, sure, &agreed);
    if (first == PLUMB_DIVERGE_NONE)
        return false;
    c->a = first;
    c->b = d->sides[PLUMB_DIVERGE_A].partner[c->a];
    c->input = agreed;
    c->sure = sure;
    c->kind = agreed == PLUMB_DIVERGE_NONE ? PLUMB_DIVERGE_START : PLUMB_DIVERGE_LOST;
    c->beyond = first_beyond(d, 0);
    plumb_verdict_step_back(d, c);
    *rc = plumb_verdict_doubt(d, c);
    plumb_verdict_drop_guesses(d, first);
    find_births(d, c);
    return true;
}

int plumb_diverge_find_frontier(struct plumb_diverge *d, plumb_error *err)
{
    struct plumb_diverge_culprit *c = &d->culprit;
    const uint32_t none = PLUMB_DIVERGE_NONE;
    *c = (struct plumb_diverge_culprit){.kind = PLUMB_DIVERGE_SAME,
                                        .a = none,
                                        .b = none,
                                        .input = none,
                                        .within = none,
                                        .inside = none,
                                        .sure = none,
                                        .beyond = none,
                                        .born_a = none,
                                        .born_b = none,
                                        .next_root = none};
    plumb_verdict_choose(d);
    uint32_t first;
    if (plumb_verdict_first(d, &first) < 0)
        return plumb_fail(err, PLUMB_ERR_MEMORY, no_memory);
    (void)plumb_verdict_measure_equality(d); /* pairs may have been refuted */
    int rc = PLUMB_OK;
    if (find_in_guesses(d, first, c, &rc))
        return rc < 0 ? plumb_fail(err, rc, no_memory) : rc;
    if (first == none) {
        plumb_verdict_drop_guesses(d, plumb_verdict_count(d));
        find_alone(d, c);
        return PLUMB_OK;
    }
    (void)blame(d, first, c);
    plumb_verdict_step_back(d, c);
    c->kind = kind_of(d, c);
    tell_drift(d, c);
    if ((rc = plumb_verdict_doubt(d, c)) < 0)
        return plumb_fail(err, rc, no_memory);
    if (c->beyond == none)
        c->beyond = first_beyond(d, c->a);
    plumb_verdict_drop_guesses(d, c->a);
    find_births(d, c);
    c->b = d->sides[PLUMB_DIVERGE_A].partner[c->a];
    return find_roots(d, c, err);
}
