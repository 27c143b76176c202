/* diverge_culprit.c: who was first.
 *
 * The records are walked in A's order. The first that is wrong has, in that order, nothing wrong
 * before it; what it consumed then says whether it is to blame. An input that came in wrong is
 * followed to who gave it out; a record of values in another order is to blame only when what
 * consumed it went wrong. What grew little by little has no culprit: a record is one when it is far
 * more wrong than what came before it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge.h"
#include "analyze/diverge_evidence.h"
#include "base/error.h"

enum {
    BEFORE = 8,       /* records that tell how far the runs had drifted */
    JUMP = 3,         /* times as far off as those */
    AHEAD = 3,        /* records that refute a guess */
    ROUNDINGS = 16,   /* what one operation may lose; beyond that it did something else */
    MOST_HOPS = 10000 /* from inputs to producers */
};

static const struct plumb_activations *table_a(const struct plumb_diverge *d)
{
    return d->sides[PLUMB_DIVERGE_A].t;
}

static bool is_input(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = table_a(d);
    return t->io && (t->io[a] == PLUMB_ACT_IN || t->io[a] == PLUMB_ACT_PARAM);
}

static bool is_wrong(const struct plumb_diverge *d, uint32_t a)
{
    return plumb_diverge_is_wrong(d->cells[a].verdict);
}

static bool said_something(const struct plumb_diverge *d, uint32_t a)
{
    return d->cells[a].verdict != PLUMB_SAID_NOTHING;
}

static bool same_rank(const struct plumb_diverge *d, uint32_t x, uint32_t y)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    return a->sites[a->site_of[x]].rank == a->sites[a->site_of[y]].rank;
}

static bool same_step(const struct plumb_diverge *d, uint32_t x, uint32_t y)
{
    const struct plumb_activations *t = table_a(d);
    return !t->step || t->step[x] == t->step[y];
}

/* The output of A before `a` that was compared; NONE. */
static uint32_t output_before(const struct plumb_diverge *d, uint32_t a)
{
    for (uint32_t i = a; i-- > 0;)
        if (said_something(d, i) && !is_input(d, i) && same_rank(d, i, a))
            return i;
    return PLUMB_DIVERGE_NONE;
}

static bool is_first(const struct plumb_diverge *d, uint32_t a)
{
    for (uint32_t i = 0; i < a; i++)
        if (said_something(d, i) && same_rank(d, i, a))
            return false;
    return true;
}

/* ---- Guesses --------------------------------------------------------------------------------- */

/* A pair that order alone suggested is no pair when what comes after it in its step (after the last
 * of a step: in the next one) agrees: all of it, or the next few and the two have nothing in
 * common. */
static bool is_refuted(struct plumb_diverge *d, uint32_t a)
{
    uint32_t agreed = 0;
    uint32_t last = a; /* of the step that is looked at */
    if (d->cells[a].how != PLUMB_HOW_ORDER)
        return false;
    bool unlike = plumb_evidence_closeness(d, a, d->sides[PLUMB_DIVERGE_A].partner[a]) < 0.5F;
    for (uint32_t i = a + 1; i < table_a(d)->count; i++) {
        if (!said_something(d, i) || is_input(d, i) || !same_rank(d, i, a))
            continue;
        if (!same_step(d, i, last) && last != a)
            break;
        last = i;
        if (is_wrong(d, i))
            return false;
        agreed += d->cells[i].how != PLUMB_HOW_ORDER;
        if (agreed >= AHEAD && unlike)
            return true;
    }
    return agreed > 0;
}

static uint32_t first_wrong(struct plumb_diverge *d)
{
    for (uint32_t i = 0; i < table_a(d)->count; i++) {
        if (!is_wrong(d, i))
            continue;
        if (!is_refuted(d, i))
            return i;
        plumb_diverge_part(d, i);
    }
    return PLUMB_DIVERGE_NONE;
}

/* ---- Who is to blame ------------------------------------------------------------------------- */

/* What came in wrong: who gave it out? Returns the next record to look at, or `a` when it ends. */
static uint32_t follow_input(const struct plumb_diverge *d, uint32_t a,
                             struct plumb_diverge_culprit *c)
{
    uint32_t producer = plumb_diverge_producer(d, a);
    c->inputs = PLUMB_INPUTS_IS_ONE;
    c->input = producer;
    if (producer == PLUMB_DIVERGE_NONE)
        c->kind = is_first(d, a) ? PLUMB_DIVERGE_START : PLUMB_DIVERGE_OUTSIDE;
    else if (!said_something(d, producer))
        c->kind = PLUMB_DIVERGE_JUMP;
    else if (is_wrong(d, producer) || d->cells[producer].verdict == PLUMB_SAID_SHUFFLED)
        return producer;
    else
        c->kind = PLUMB_DIVERGE_BETWEEN;
    return a;
}

/* What went out wrong: did everything come in right? */
static uint32_t follow_output(const struct plumb_diverge *d, uint32_t a,
                              struct plumb_diverge_culprit *c)
{
    uint32_t input;
    uint8_t verdict = plumb_diverge_inputs_of(d, a, &input);
    c->kind = PLUMB_DIVERGE_JUMP;
    c->inputs = PLUMB_INPUTS_RECORDED;
    if (verdict == PLUMB_SAID_NOTHING) {
        input = plumb_diverge_producers_of(d, a);
        verdict = input == PLUMB_DIVERGE_NONE ? PLUMB_SAID_NOTHING : d->cells[input].verdict;
        c->inputs = PLUMB_INPUTS_BY_HASH;
    }
    if (verdict == PLUMB_SAID_NOTHING) {
        input = output_before(d, a);
        verdict = input == PLUMB_DIVERGE_NONE ? PLUMB_SAID_NOTHING : d->cells[input].verdict;
        c->inputs = PLUMB_INPUTS_UNKNOWN;
        if (input == PLUMB_DIVERGE_NONE && is_first(d, a))
            c->kind = PLUMB_DIVERGE_START;
    }
    c->input = input;
    if (input == PLUMB_DIVERGE_NONE)
        return a;
    if (verdict == PLUMB_SAID_SHUFFLED)
        return input;
    return plumb_diverge_is_wrong(verdict) && c->inputs != PLUMB_INPUTS_UNKNOWN ? input : a;
}

static void blame(const struct plumb_diverge *d, uint32_t wrong, struct plumb_diverge_culprit *c)
{
    uint32_t a = wrong;
    for (int hop = 0; hop < MOST_HOPS; hop++) {
        uint32_t next = is_input(d, a) ? follow_input(d, a, c) : follow_output(d, a, c);
        if (next == a)
            break;
        a = next;
    }
    c->a = a;
    c->beyond = is_wrong(d, a) ? a : wrong;
}

/* ---- Drift ----------------------------------------------------------------------------------- */

/* How far off, in tolerances, the runs were where `c->a` began. */
static float excess_before(const struct plumb_diverge *d, const struct plumb_diverge_culprit *c)
{
    float most = 0;
    if (c->input != PLUMB_DIVERGE_NONE && c->inputs != PLUMB_INPUTS_UNKNOWN)
        return d->cells[c->input].excess;
    for (uint32_t i = c->a, n = 0; i-- > 0 && n < BEFORE;) {
        if (!said_something(d, i) || is_input(d, i) || !same_rank(d, i, c->a))
            continue;
        most = d->cells[i].excess > most ? d->cells[i].excess : most;
        n++;
    }
    return most;
}

/* The first record whose figures differ at all. */
static uint32_t first_off(const struct plumb_diverge *d, uint32_t a)
{
    for (uint32_t i = 0; i < a; i++)
        if (d->cells[i].excess > 0 && same_rank(d, i, a))
            return i;
    return a;
}

static void tell_drift(struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    const struct plumb_diverge_cell *cell = &d->cells[c->a];
    if (c->kind != PLUMB_DIVERGE_JUMP || cell->verdict != PLUMB_SAID_DIFFERENT ||
        cell->excess >= JUMP * excess_before(d, c))
        return;
    uint32_t origin = first_off(d, c->a);
    if (origin == c->a)
        return;
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[origin];
    struct plumb_tolerance t = plumb_diverge_tolerance(d, origin, b);
    bool rounding = (double)d->cells[origin].drift <= ROUNDINGS * t.rounding;
    uint32_t beyond = c->a;
    if (!rounding && !is_input(d, origin)) {
        /* Up to there all was the same to the last bit, and no rounding explains what it did. */
        blame(d, origin, c);
        c->beyond = beyond;
        return;
    }
    *c = (struct plumb_diverge_culprit){.kind = PLUMB_DIVERGE_DRIFT,
                                        .a = origin,
                                        .beyond = beyond,
                                        .input = PLUMB_DIVERGE_NONE,
                                        .born_a = c->born_a,
                                        .born_b = c->born_b,
                                        .next_root = PLUMB_DIVERGE_NONE};
}

/* ---- What else ------------------------------------------------------------------------------- */

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

/* What a module's inputs said in its latest call. */
struct taken {
    int64_t step;
    uint32_t call;
    bool known, wrong;
};

/* What the culprit lies in went wrong because of it. */
static bool holds_culprit(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_activations *t = table_a(d);
    const char *outer = plumb_activations_text(t, t->module[a]);
    const char *inner = plumb_activations_text(t, t->module[d->culprit.a]);
    size_t n = strlen(outer);
    return strncmp(outer, inner, n) == 0 && (inner[n] == '.' || n == 0) &&
           same_step(d, a, d->culprit.a);
}

/* Further outputs that are wrong though what their module was given matched. */
static int find_roots(const struct plumb_diverge *d, struct plumb_diverge_culprit *c,
                      plumb_error *err)
{
    const struct plumb_activations *t = table_a(d);
    struct taken *taken;
    if (!t->io || c->a == PLUMB_DIVERGE_NONE)
        return PLUMB_OK;
    if (!(taken = calloc(t->text_count, sizeof *taken)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the inputs of a run");
    for (uint32_t i = 0; i < t->count; i++) {
        struct taken *m = &taken[t->module[i]];
        int64_t step = t->step ? t->step[i] : 0;
        uint32_t call = t->call ? t->call[i] : 0;
        bool same = m->known && m->step == step && m->call == call;
        if (!said_something(d, i))
            continue;
        if (is_input(d, i))
            *m = (struct taken){step, call, true, is_wrong(d, i) || (same && m->wrong)};
        else if (t->io[i] != PLUMB_ACT_GRAD && is_wrong(d, i) && same && !m->wrong && i > c->a &&
                 !holds_culprit(d, i)) {
            if (c->roots++ == 0)
                c->next_root = i;
        }
    }
    free(taken);
    return PLUMB_OK;
}

int plumb_diverge_find_culprit(struct plumb_diverge *d, plumb_error *err)
{
    struct plumb_diverge_culprit *c = &d->culprit;
    *c = (struct plumb_diverge_culprit){.kind = PLUMB_DIVERGE_SAME,
                                        .a = PLUMB_DIVERGE_NONE,
                                        .b = PLUMB_DIVERGE_NONE,
                                        .input = PLUMB_DIVERGE_NONE,
                                        .beyond = PLUMB_DIVERGE_NONE,
                                        .born_a = PLUMB_DIVERGE_NONE,
                                        .born_b = PLUMB_DIVERGE_NONE,
                                        .next_root = PLUMB_DIVERGE_NONE};
    uint32_t wrong = first_wrong(d);
    if (wrong == PLUMB_DIVERGE_NONE)
        return PLUMB_OK;
    blame(d, wrong, c);
    tell_drift(d, c);
    find_births(d, c);
    c->b = d->sides[PLUMB_DIVERGE_A].partner[c->a];
    return find_roots(d, c, err);
}
