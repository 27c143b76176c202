/* diverge_verdict.c: layer 3: where the runs part.
 *
 * Records are walked in A's order, which is that of consumption: what is consumed was made before.
 * The first record with evidence that differs is one end of the frontier, what it consumed (layer
 * 2) the other. Pairs without evidence are neither end; one that differs while all round it agrees
 * is taken for two records that one side each has. What grew little by little has no culprit: a
 * record is one when it is far more wrong than what came before it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diverge.h"
#include "base/error.h"

enum {
    BEFORE = 8,      /* records that tell how far the runs had drifted */
    JUMP = 3,        /* times as far off as those */
    AHEAD = 3,       /* records that refute a pair */
    ROUNDINGS = 16,  /* what one operation may lose; beyond that it did something else */
    ONE_ENGINE = 5,  /* contents equal to the last bit: no second engine rounds like that */
    LOST = 3,        /* pairs by order alone, all of which differ */
    MOST_HOPS = 1000 /* from shuffled inputs to what made them */
};

/* In tolerances: what engines that round otherwise reach within one operation. */
static const float QUIET = 0.01F;

static const struct plumb_activations *table_a(const struct plumb_diverge *d)
{
    return d->sides[PLUMB_DIVERGE_A].t;
}

static uint32_t count_a(const struct plumb_diverge *d)
{
    return (uint32_t)table_a(d)->count;
}

static bool is_input(const struct plumb_diverge *d, uint32_t a)
{
    return plumb_diverge_is_input(table_a(d), a);
}

static bool is_wrong(const struct plumb_diverge *d, uint32_t a)
{
    return plumb_diverge_is_wrong(d->cells[a].verdict);
}

static bool said_something(const struct plumb_diverge *d, uint32_t a)
{
    return d->cells[a].verdict != PLUMB_SAID_NOTHING;
}

bool plumb_diverge_differs(const struct plumb_diverge *d, uint32_t a)
{
    return said_something(d, a) && (d->held ? !d->cells[a].exact : is_wrong(d, a));
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

/* ---- What the runs are held to --------------------------------------------------------------- */

static double mean_of(const struct plumb_diverge *d, uint32_t a)
{
    double value = plumb_activations_stat(table_a(d), a, PLUMB_ACT_ABS_MEAN);
    return isnan(value) ? plumb_activations_stat(table_a(d), a, PLUMB_ACT_SUM) : value;
}

/* The beginning that is equal to the last bit. Returns how many different contents it has: what is
 * passed on from one module to the next is one. */
static uint32_t measure_equality(struct plumb_diverge *d)
{
    uint32_t contents = 0;
    double last = 0;
    d->equal_count = 0;
    d->equal_last = d->first_unequal = PLUMB_DIVERGE_NONE;
    for (uint32_t i = 0; i < count_a(d) && d->first_unequal == PLUMB_DIVERGE_NONE; i++) {
        if (!plumb_diverge_has_evidence(d, i))
            continue;
        if (!d->cells[i].exact) {
            d->first_unequal = i;
            continue;
        }
        double mean = mean_of(d, i);
        d->equal_last = i;
        d->equal_count++;
        contents += isfinite(mean) && mean != 0 && mean != last;
        last = isfinite(mean) ? mean : last;
    }
    return contents;
}

/* The same program recorded by the same recorder: names, statistics and types are alike. */
static bool looks_like_one(const struct plumb_diverge *d)
{
    const struct plumb_activations *tb = d->sides[PLUMB_DIVERGE_B].t;
    const uint32_t *partner = d->sides[PLUMB_DIVERGE_A].partner;
    if (table_a(d)->format != tb->format || d->retyped_count > 0 ||
        d->by_how[PLUMB_HOW_NAME] * 10 < d->pairs * 9)
        return false;
    for (uint32_t i = 0; i <= d->first_unequal; i++)
        if (partner[i] != PLUMB_DIVERGE_NONE && table_a(d)->has[i] != tb->has[partner[i]])
            return false;
    return true;
}

/* More than rounding, of a type that is known. */
static bool is_beyond_rounding(struct plumb_diverge *d, uint32_t a)
{
    struct plumb_tolerance t = plumb_diverge_tolerance(d, a, d->sides[PLUMB_DIVERGE_A].partner[a]);
    return t.known && (double)d->cells[a].drift > ROUNDINGS * t.rounding;
}

static void choose(struct plumb_diverge *d)
{
    uint32_t contents = measure_equality(d);
    bool own = d->options.relative > 0 || d->options.absolute > 0;
    bool exact = d->options.relative == 0 && d->options.absolute == 0;
    d->held = exact || d->options.expect == PLUMB_EXPECT_SAME;
    d->guessed = false;
    if (d->held || own || d->options.expect == PLUMB_EXPECT_CLOSE ||
        d->first_unequal == PLUMB_DIVERGE_NONE)
        return;
    d->guessed =
        (contents >= ONE_ENGINE || (contents > 0 && is_beyond_rounding(d, d->first_unequal))) &&
        looks_like_one(d);
    d->held = d->guessed;
}

/* ---- The first that differs ------------------------------------------------------------------ */

/* Whether more records of the site of `a` differ than agree. */
static bool site_mostly_differs(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *site = &side->sites[side->site_of[a]];
    uint32_t differ = 0;
    uint32_t agree = 0;
    for (uint32_t i = 0; i < site->count; i++) {
        uint32_t record = side->records[site->begin + i];
        if (!said_something(d, record))
            continue;
        differ += plumb_diverge_differs(d, record);
        agree += !plumb_diverge_differs(d, record);
    }
    return differ >= agree;
}

/* How far off, in tolerances, the last records with evidence before `a` are. */
static float noise_before(const struct plumb_diverge *d, uint32_t a)
{
    float most = 0;
    for (uint32_t i = a, n = 0; i-- > 0 && n < BEFORE;) {
        if (!plumb_diverge_has_evidence(d, i) || is_input(d, i) || !same_rank(d, i, a) ||
            plumb_diverge_differs(d, i))
            continue;
        most = d->cells[i].excess > most ? d->cells[i].excess : most;
        n++;
    }
    return most;
}

/* Whether `a` is no farther off than what came before was: a fault leaves traces within tolerance
 * as well. */
static bool is_calm(const struct plumb_diverge *d, uint32_t a, float noise)
{
    return !plumb_diverge_differs(d, a) &&
           (d->cells[a].excess <= JUMP * noise || d->cells[a].excess <= QUIET);
}

/* A pair that statistics suggested is none when what comes after it in its step (after the last of
 * a step: in the next one) agrees, and it agrees itself in few places only. What names of a kind
 * or equal inputs suggested takes several that agree. */
static bool is_refuted(const struct plumb_diverge *d, uint32_t a)
{
    uint8_t how = d->cells[a].how;
    uint32_t agreed = 0;
    uint32_t last = a; /* of the step that is looked at */
    float noise = noise_before(d, a);
    if (how == PLUMB_HOW_NAME || how == PLUMB_HOW_MAP || !site_mostly_differs(d, a))
        return false;
    for (uint32_t i = a + 1; i < count_a(d) && agreed < AHEAD; i++) {
        if (!plumb_diverge_has_evidence(d, i) || is_input(d, i) || !same_rank(d, i, a))
            continue;
        if (!same_step(d, i, last) && last != a)
            break;
        last = i;
        if (!is_calm(d, i, noise))
            return false;
        agreed++;
    }
    return agreed >= (how == PLUMB_HOW_EVIDENCE || how == PLUMB_HOW_MOVED ? 1 : AHEAD);
}

static uint32_t first_with_evidence(struct plumb_diverge *d)
{
    for (uint32_t i = 0; i < count_a(d); i++) {
        if (!plumb_diverge_has_evidence(d, i) || !plumb_diverge_differs(d, i))
            continue;
        if (!is_refuted(d, i))
            return i;
        plumb_diverge_part(d, i);
    }
    return PLUMB_DIVERGE_NONE;
}

/* ---- Where nothing has evidence -------------------------------------------------------------- */

/* What follows the last agreement of a step. */
struct tail {
    uint32_t agreed;       /* the last record with evidence that agrees; NONE */
    uint32_t first;        /* the first pair by order after it that differs; NONE */
    uint32_t pairs, alone; /* such pairs; outputs of A without a partner */
};

static bool is_alone_output(const struct plumb_diverge_side *side, uint32_t i)
{
    return side->partner[i] == PLUMB_DIVERGE_NONE && !plumb_diverge_is_input(side->t, i) &&
           !side->sites[side->site_of[i]].is_part;
}

/* Outputs that B alone has after the partner of `agreed`, up to that of `end` or the end of the
 * step. */
static uint32_t alone_in_b(const struct plumb_diverge *d, uint32_t agreed, uint32_t end)
{
    const struct plumb_diverge_side *b = &d->sides[PLUMB_DIVERGE_B];
    const uint32_t *partner = d->sides[PLUMB_DIVERGE_A].partner;
    uint32_t begin = agreed == PLUMB_DIVERGE_NONE ? 0 : partner[agreed] + 1;
    uint32_t stop = end == PLUMB_DIVERGE_NONE ? (uint32_t)b->t->count : partner[end];
    uint32_t n = 0;
    for (uint32_t i = begin; i < stop; i++) {
        if (b->t->step && i > begin && b->t->step[i] != b->t->step[begin])
            break;
        n += is_alone_output(b, i);
    }
    return n;
}

/* Several pairs, or at the end of a step all that there is on both sides: more than operations of
 * one side only. */
static bool is_lost(const struct plumb_diverge *d, const struct tail *t, uint32_t end)
{
    bool whole = t->pairs > 0 && t->alone == 0 && alone_in_b(d, t->agreed, end) == 0;
    return end == PLUMB_DIVERGE_NONE ? t->pairs >= LOST || whole : t->pairs >= LOST && whole;
}

/* Before `end`, the first with evidence that differs: the first place after which nothing agrees to
 * the end of its step. `first` is NONE where there is none. */
static struct tail find_lost(const struct plumb_diverge *d, uint32_t end)
{
    struct tail t = {PLUMB_DIVERGE_NONE, PLUMB_DIVERGE_NONE, 0, 0};
    const uint32_t none = PLUMB_DIVERGE_NONE;
    bool found = false;
    uint32_t i = 0;
    for (; i < count_a(d) && i < end && !found; i++) {
        if (i > 0 && !same_step(d, i - 1, i)) {
            if ((found = is_lost(d, &t, none)))
                break;
            t.first = none;
            t.pairs = t.alone = 0;
        }
        if (plumb_diverge_has_evidence(d, i))
            t = (struct tail){i, none, 0, 0};
        else if (said_something(d, i) && plumb_diverge_differs(d, i) && !is_input(d, i)) {
            t.first = t.first == none ? i : t.first;
            t.pairs++;
        } else
            t.alone += is_alone_output(&d->sides[PLUMB_DIVERGE_A], i);
    }
    if (!found && i == end && i > 0 && !same_step(d, i - 1, i))
        found = is_lost(d, &t, none);
    else if (!found)
        found = is_lost(d, &t, i == end ? end : none);
    t.first = found ? t.first : none;
    return t;
}

/* A pair by order alone that differs, after which what has evidence is farther off than before; in
 * `agreed` what has evidence before it. */
static struct tail find_ripple(const struct plumb_diverge *d, uint32_t end)
{
    struct tail t = {PLUMB_DIVERGE_NONE, PLUMB_DIVERGE_NONE, 0, 0};
    for (uint32_t i = 0; i < count_a(d) && i < end; i++) {
        bool evidence = plumb_diverge_has_evidence(d, i);
        if (i > 0 && !same_step(d, i - 1, i))
            t.first = PLUMB_DIVERGE_NONE;
        if (evidence && t.first != PLUMB_DIVERGE_NONE && !is_input(d, i)) {
            if (!is_calm(d, i, noise_before(d, t.first)))
                return t;
            t.first = PLUMB_DIVERGE_NONE;
        }
        if (evidence)
            t.agreed = i;
        else if (t.first == PLUMB_DIVERGE_NONE && said_something(d, i) && !is_input(d, i) &&
                 plumb_diverge_differs(d, i))
            t.first = i;
    }
    t.first = PLUMB_DIVERGE_NONE;
    return t;
}

/* Up to `end` pairs by order alone that differ are none. */
static void drop_guesses(struct plumb_diverge *d, uint32_t end)
{
    for (uint32_t i = 0; i < end && i < count_a(d); i++)
        if (d->cells[i].how == PLUMB_HOW_ORDER && said_something(d, i) &&
            plumb_diverge_differs(d, i))
            plumb_diverge_part(d, i);
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

/* Values in another order are to blame when what consumed them went wrong. */
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
    const struct plumb_activations *t = table_a(d);
    for (uint32_t i = 0; i < count_a(d); i++)
        if (i != a && is_input(d, i) && t->module[i] == t->module[a] && same_step(d, i, a) &&
            same_rank(d, i, a) && (!t->call || t->call[i] == t->call[a]) &&
            plumb_diverge_has_evidence(d, i) && !plumb_diverge_differs(d, i))
            return true;
    return false;
}

static enum plumb_diverge_kind kind_of(const struct plumb_diverge *d,
                                       const struct plumb_diverge_culprit *c)
{
    if (c->input == PLUMB_DIVERGE_NONE)
        return PLUMB_DIVERGE_START;
    if (!is_input(d, c->a))
        return PLUMB_DIVERGE_JUMP;
    if (c->inputs == PLUMB_INPUTS_IS_ONE)
        return said_something(d, c->input) ? PLUMB_DIVERGE_BETWEEN : PLUMB_DIVERGE_JUMP;
    return c->within == PLUMB_DIVERGE_NONE && has_sound_sibling(d, c->a) ? PLUMB_DIVERGE_OUTSIDE
                                                                         : PLUMB_DIVERGE_BETWEEN;
}

/* ---- Drift ----------------------------------------------------------------------------------- */

/* How far off, in tolerances, the runs were where `c->a` began. */
static float excess_before(const struct plumb_diverge *d, const struct plumb_diverge_culprit *c)
{
    return c->input != PLUMB_DIVERGE_NONE && c->inputs != PLUMB_INPUTS_UNKNOWN
               ? d->cells[c->input].excess
               : noise_before(d, c->a);
}

/* The first record whose figures differ at all. */
static uint32_t first_off(const struct plumb_diverge *d, uint32_t a)
{
    for (uint32_t i = 0; i < a; i++)
        if (d->cells[i].excess > 0 && plumb_diverge_has_evidence(d, i) && same_rank(d, i, a))
            return i;
    return a;
}

static void tell_drift(struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    const struct plumb_diverge_cell *cell = &d->cells[c->a];
    if (c->kind != PLUMB_DIVERGE_JUMP || cell->verdict != PLUMB_SAID_DIFFERENT || d->held ||
        cell->excess >= JUMP * excess_before(d, c))
        return;
    uint32_t origin = first_off(d, c->a);
    if (origin == c->a)
        return;
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[origin];
    struct plumb_tolerance t = plumb_diverge_tolerance(d, origin, b);
    bool rounding = (double)d->cells[origin].drift <= ROUNDINGS * t.rounding;
    if (!rounding && !is_input(d, origin)) {
        /* Up to there all was the same to the last bit, and no rounding explains what it did. */
        (void)blame(d, origin, c);
        return;
    }
    c->kind = PLUMB_DIVERGE_DRIFT;
    c->beyond = c->a;
    c->a = origin;
    c->inputs = PLUMB_INPUTS_UNKNOWN;
    c->input = c->within = c->inside = PLUMB_DIVERGE_NONE;
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
    return (plumb_diverge_holds(outer, inner) || !*outer || strcmp(outer, inner) == 0) &&
           same_step(d, a, d->culprit.a);
}

/* Further outputs that are wrong though what their module was given matched. Gradients are made
 * from gradients, whatever went forward. */
static int find_roots(const struct plumb_diverge *d, struct plumb_diverge_culprit *c,
                      plumb_error *err)
{
    const struct plumb_activations *t = table_a(d);
    struct taken *taken;
    if (!t->io || c->a == PLUMB_DIVERGE_NONE)
        return PLUMB_OK;
    if (!(taken = calloc(t->text_count, sizeof *taken)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the inputs of a run");
    for (uint32_t i = 0; i < count_a(d); i++) {
        struct taken *m = &taken[t->module[i]];
        int64_t step = t->step ? t->step[i] : 0;
        uint32_t call = t->call ? t->call[i] : 0;
        bool same = m->known && m->step == step && m->call == call;
        if (!plumb_diverge_has_evidence(d, i))
            continue;
        if (is_input(d, i))
            *m =
                (struct taken){step, call, true, plumb_diverge_differs(d, i) || (same && m->wrong)};
        else if (t->io[i] != PLUMB_ACT_GRAD && plumb_diverge_differs(d, i) && same && !m->wrong &&
                 i > c->a && !holds_culprit(d, i)) {
            if (c->roots++ == 0)
                c->next_root = i;
        }
    }
    free(taken);
    return PLUMB_OK;
}

static uint32_t first_beyond(const struct plumb_diverge *d, uint32_t from)
{
    for (uint32_t i = from; i < count_a(d); i++)
        if (plumb_diverge_has_evidence(d, i) && is_wrong(d, i))
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

/* Equality in every bit and every record: what one side lacks is a difference. */
static void find_alone(const struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    if (d->options.relative != 0 || d->options.absolute != 0 || d->options.only != PLUMB_ONLY_ALL)
        return;
    c->a = first_alone(&d->sides[PLUMB_DIVERGE_A]);
    c->b = first_alone(&d->sides[PLUMB_DIVERGE_B]);
    if (c->a != PLUMB_DIVERGE_NONE || c->b != PLUMB_DIVERGE_NONE)
        c->kind = PLUMB_DIVERGE_MISSING;
}

/* Where order alone tells of a difference, before the first with evidence. */
static bool find_in_guesses(struct plumb_diverge *d, uint32_t sure, struct plumb_diverge_culprit *c)
{
    struct tail tail = find_lost(d, sure);
    if (tail.first == PLUMB_DIVERGE_NONE)
        tail = find_ripple(d, sure);
    if (tail.first == PLUMB_DIVERGE_NONE)
        return false;
    drop_guesses(d, tail.first);
    c->a = tail.first;
    c->b = d->sides[PLUMB_DIVERGE_A].partner[c->a];
    c->input = tail.agreed;
    c->sure = sure;
    c->kind = tail.agreed == PLUMB_DIVERGE_NONE ? PLUMB_DIVERGE_START : PLUMB_DIVERGE_LOST;
    c->beyond = first_beyond(d, 0);
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
    choose(d);
    uint32_t first = first_with_evidence(d);
    (void)measure_equality(d); /* pairs may have been refuted */
    if (find_in_guesses(d, first, c))
        return PLUMB_OK;
    if (first == none) {
        drop_guesses(d, count_a(d));
        find_alone(d, c);
        return PLUMB_OK;
    }
    (void)blame(d, first, c);
    c->kind = kind_of(d, c);
    tell_drift(d, c);
    if (c->beyond == none)
        c->beyond = first_beyond(d, c->a);
    drop_guesses(d, c->a);
    find_births(d, c);
    c->b = d->sides[PLUMB_DIVERGE_A].partner[c->a];
    return find_roots(d, c, err);
}
