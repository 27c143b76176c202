/* weak.c: pairs that may be wrong. Statistics that agree in few places may do so by chance, or
 * because an operation does nothing there (a rotation at the first position). Such a pair is
 * refuted if the records after it agree. A pair that order alone suggests has no evidence at all,
 * and counts only where nothing else is left. */
#include "analyze/diverge/order.h"
#include "analyze/diverge/verdict.h"
#include "base/error.h"

enum {
    BEFORE = 8,    /* records that show how far the runs had drifted */
    RIPPLES = 10,  /* times as far off as before, where only order suggests a fault */
    AHEAD = 3,     /* records that refute a pair */
    DOUBTFUL = 2,  /* of a group of three: q, k and v */
    CONSUMERS = 2, /* of the records after it that are not its siblings */
    FAR = 6,       /* more than any fault passes by: q, k, v and what follows each */
    LOOKS = 64,    /* records of a site */
    LOST = 3,      /* pairs by order alone, all of which differ */
};

/* In tolerances: a difference that engines with other rounding reach within one operation, and one
 * that they do not reach. */
static const float QUIET = 0.01F;
static const float RIPPLE = 0.2F;

/* How far off, in tolerances, the last records with evidence before `a` are. */
float plumb_verdict_noise(const struct plumb_diverge *d, uint32_t a)
{
    float most = 0;
    for (uint32_t i = a, n = 0; i-- > 0 && n < BEFORE;) {
        if (!plumb_diverge_has_evidence(d, i) || plumb_verdict_is_input(d, i) ||
            !plumb_verdict_same_rank(d, i, a) || plumb_diverge_differs(d, i))
            continue;
        most = d->cells[i].excess > most ? d->cells[i].excess : most;
        n++;
    }
    return most;
}

/* Whether `a` is not farther off than the records before it. A fault also leaves traces within
 * tolerance. */
static bool is_calm(const struct plumb_diverge *d, uint32_t a, float noise)
{
    return !plumb_diverge_differs(d, a) &&
           (d->cells[a].excess <= PLUMB_VERDICT_JUMP * noise || d->cells[a].excess <= QUIET);
}

/* Whether a pair of sites, unless matched by name, agrees in no more places than it differs in. */
static bool mostly_differs(const struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *site = &side->sites[side->site_of[a]];
    uint8_t how = d->cells[a].how;
    uint32_t differ = 0;
    uint32_t agree = 0;
    if (how == PLUMB_HOW_NAME || how == PLUMB_HOW_MAP)
        return false;
    for (uint32_t i = 0; i < site->count && i < LOOKS; i++) {
        uint32_t record = side->records[site->begin + i];
        if (!plumb_verdict_speaks(d, record))
            continue;
        differ += plumb_diverge_differs(d, record);
        agree += !plumb_diverge_differs(d, record);
    }
    return differ >= agree;
}

static bool is_output_of_step(const struct plumb_diverge *d, uint32_t i, uint32_t a)
{
    return plumb_diverge_has_evidence(d, i) && !plumb_verdict_is_input(d, i) &&
           plumb_verdict_same_rank(d, i, a);
}

/* Whether the last records with evidence of the step of `a` are calm: a real fault would reach
 * them. */
static bool step_ends_calm(const struct plumb_diverge *d, uint32_t a, float noise)
{
    uint32_t end = a;
    uint32_t calm = 0;
    while (end + 1 < plumb_verdict_count(d) && plumb_verdict_same_step(d, end + 1, a))
        end++;
    for (uint32_t i = end; i > a && calm < AHEAD; i--) {
        if (!is_output_of_step(d, i, a))
            continue;
        if (!is_calm(d, i, noise))
            return false;
        calm++;
    }
    return calm > 0;
}

/* In both runs, because in a flat list of names all are siblings. */
static bool are_siblings(const struct plumb_diverge *d, uint32_t x, uint32_t y)
{
    const uint32_t *partner = d->sides[PLUMB_DIVERGE_A].partner;
    const uint32_t records[2][2] = {{x, y}, {partner[x], partner[y]}};
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        const struct plumb_activations *t = d->sides[side].t;
        if (!plumb_order_siblings(plumb_activations_text(t, t->module[records[side][0]]),
                                  plumb_activations_text(t, t->module[records[side][1]])))
            return false;
    }
    return true;
}

/* Whether the pair of `a` is refuted: it differs in as many places as it agrees in, or more, but
 * the records after it in its step agree. That is so for a rotation that is paired with its own
 * input: at the first position it turns nothing. Records that agree up to the end of the step
 * refute it, and so do several in a row if another fault comes later. A pair that a kind of names
 * or equal inputs suggested takes more of them. Later pairs that may be refuted themselves are
 * skipped. */
static bool is_refuted(const struct plumb_diverge *d, uint32_t a)
{
    bool guessed = d->cells[a].how == PLUMB_HOW_EVIDENCE || d->cells[a].how == PLUMB_HOW_MOVED;
    uint32_t agreed = 0;
    uint32_t consumers = 0; /* records after it that are not its siblings */
    uint32_t doubtful = 0;  /* that may be refuted themselves */
    float noise = plumb_verdict_noise(d, a);
    /* Later records do not refute a NaN or an infinity: a bounded function turns it into a
     * number. */
    if (!mostly_differs(d, a) || d->cells[a].verdict >= PLUMB_SAID_NAN)
        return false;
    for (uint32_t i = a + 1;
         i < plumb_verdict_count(d) && plumb_verdict_same_step(d, i, a) && agreed < FAR; i++) {
        if (!is_output_of_step(d, i, a))
            continue;
        uint8_t how = d->cells[i].how;
        bool calm = is_calm(d, i, noise);
        if (!calm && (how == PLUMB_HOW_EVIDENCE || how == PLUMB_HOW_MOVED) && doubtful < DOUBTFUL &&
            mostly_differs(d, i)) {
            doubtful++;
            continue;
        }
        if (!calm)
            break;
        agreed++;
        consumers += !are_siblings(d, a, i);
    }
    return (guessed && (agreed >= FAR || consumers >= CONSUMERS)) ||
           (agreed >= (guessed ? 1 : AHEAD) && step_ends_calm(d, a, noise));
}

/* Takes all pairs of a site apart. */
static void part_site(struct plumb_diverge *d, uint32_t a)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    const struct plumb_diverge_site *site = &side->sites[side->site_of[a]];
    for (uint32_t i = 0; i < site->count; i++)
        if (side->partner[side->records[site->begin + i]] != PLUMB_DIVERGE_NONE)
            plumb_diverge_part(d, side->records[site->begin + i]);
}

/* Whether any record of a site refutes its pair. */
static bool is_refuted_in(const struct plumb_diverge *d, const struct plumb_diverge_site *site)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    for (uint32_t i = 0; i < site->count && i < LOOKS; i++) {
        uint32_t record = side->records[site->begin + i];
        if (plumb_diverge_has_evidence(d, record) && plumb_diverge_differs(d, record) &&
            is_refuted(d, record))
            return true;
    }
    return false;
}

/* Finds the first pair that differs. A refuted pair also refutes pairs of its kinds in later
 * layers: after a fault no record is left that could refute them. */
int plumb_verdict_first(struct plumb_diverge *d, uint32_t *out)
{
    const struct plumb_diverge_side *side = &d->sides[PLUMB_DIVERGE_A];
    struct plumb_map kinds = {0};
    int rc = PLUMB_OK;
    *out = PLUMB_DIVERGE_NONE;
    for (uint32_t i = 0; i < plumb_verdict_count(d) && *out == PLUMB_DIVERGE_NONE && rc == PLUMB_OK;
         i++) {
        if (!plumb_diverge_has_evidence(d, i) || !plumb_diverge_differs(d, i))
            continue;
        uint64_t kind = plumb_order_kind_of(d, i);
        bool weak = mostly_differs(d, i);
        if (weak && is_refuted_in(d, &side->sites[side->site_of[i]]))
            rc = plumb_map_put(&kinds, kind, 1);
        else if (!weak || !plumb_map_get(&kinds, kind)) {
            *out = i;
            continue;
        }
        part_site(d, i);
    }
    plumb_map_fini(&kinds);
    return rc;
}

/* ---- Where nothing has evidence -------------------------------------------------------------- */

/* The records after the last one of a step that agrees. */
struct tail {
    uint32_t agreed;       /* the last record with evidence that agrees; NONE */
    uint32_t first;        /* the first pair by order after it that differs; NONE */
    uint32_t pairs, alike; /* such pairs; those of them whose names have a part in common */
    uint32_t alone;        /* outputs of A without a partner */
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

/* Whether so many pairs differ that operations of one side alone do not explain it: several pairs;
 * or at the end of a step all outputs of both sides, or of one side if some names are alike. */
static bool is_lost(const struct plumb_diverge *d, const struct tail *t, uint32_t end)
{
    uint32_t alone_b = t->pairs > 0 ? alone_in_b(d, t->agreed, end) : 0;
    bool whole = t->pairs > 0 && t->alone == 0 && alone_b == 0;
    bool half = t->pairs > 1 && (t->alone == 0 || alone_b == 0) && t->alike > 0;
    return end == PLUMB_DIVERGE_NONE ? t->pairs >= LOST || whole || half
                                     : t->pairs >= LOST && whole;
}

/* Whether a pair that agrees is followed by a pair by order that does not. */
static bool is_by_chance(const struct plumb_diverge *d, uint32_t a)
{
    if (!mostly_differs(d, a))
        return false;
    for (uint32_t i = a + 1; i < plumb_verdict_count(d) && plumb_verdict_same_step(d, i, a); i++)
        if (plumb_verdict_speaks(d, i) && !plumb_verdict_is_input(d, i))
            return d->cells[i].how == PLUMB_HOW_ORDER && plumb_diverge_differs(d, i);
    return false;
}

/* Before `end`, the first record with evidence that differs: finds the first place after which
 * nothing agrees to the end of its step. `first` is NONE if there is none. */
static struct tail find_lost(const struct plumb_diverge *d, uint32_t end)
{
    struct tail t = {PLUMB_DIVERGE_NONE, PLUMB_DIVERGE_NONE, 0, 0, 0};
    const uint32_t none = PLUMB_DIVERGE_NONE;
    bool found = false;
    uint32_t i = 0;
    for (; i < plumb_verdict_count(d) && i < end && !found; i++) {
        if (i > 0 && !plumb_verdict_same_step(d, i - 1, i)) {
            if ((found = is_lost(d, &t, none)))
                break;
            t.first = none;
            t.pairs = t.alike = t.alone = 0;
        }
        if (plumb_diverge_has_evidence(d, i) && !(t.pairs > 0 && is_by_chance(d, i)))
            t = (struct tail){i, none, 0, 0, 0};
        else if (plumb_verdict_speaks(d, i) && plumb_diverge_differs(d, i) &&
                 !plumb_verdict_is_input(d, i)) {
            t.first = t.first == none ? i : t.first;
            t.pairs++;
            t.alike += plumb_order_alike(d, i);
        } else
            t.alone += is_alone_output(&d->sides[PLUMB_DIVERGE_A], i);
    }
    if (!found && i == end && i > 0 && !plumb_verdict_same_step(d, i - 1, i))
        found = is_lost(d, &t, none);
    else if (!found)
        found = is_lost(d, &t, i == end ? end : none);
    t.first = found ? t.first : none;
    return t;
}

/* Finds a pair by order alone that differs, after which records with evidence are farther off than
 * before; `agreed` is the last record with evidence before it. */
static struct tail find_ripple(const struct plumb_diverge *d, uint32_t end)
{
    struct tail t = {PLUMB_DIVERGE_NONE, PLUMB_DIVERGE_NONE, 0, 0, 0};
    for (uint32_t i = 0; i < plumb_verdict_count(d) && i < end; i++) {
        bool evidence = plumb_diverge_has_evidence(d, i);
        if (i > 0 && !plumb_verdict_same_step(d, i - 1, i))
            t.first = PLUMB_DIVERGE_NONE;
        if (evidence && t.first != PLUMB_DIVERGE_NONE && !plumb_verdict_is_input(d, i)) {
            if (d->cells[i].excess > RIPPLE &&
                d->cells[i].excess > RIPPLES * plumb_verdict_noise(d, t.first))
                return t;
            t.first = PLUMB_DIVERGE_NONE;
        }
        if (evidence)
            t.agreed = i;
        else if (t.first == PLUMB_DIVERGE_NONE && plumb_verdict_speaks(d, i) &&
                 !plumb_verdict_is_input(d, i) && plumb_diverge_differs(d, i))
            t.first = i;
    }
    t.first = PLUMB_DIVERGE_NONE;
    return t;
}

/* Undoes the pairs by order alone that differ, up to `end`. */
void plumb_verdict_drop_guesses(struct plumb_diverge *d, uint32_t end)
{
    for (uint32_t i = 0; i < end && i < plumb_verdict_count(d); i++)
        if (d->cells[i].how == PLUMB_HOW_ORDER && plumb_verdict_speaks(d, i) &&
            plumb_diverge_differs(d, i))
            plumb_diverge_part(d, i);
}

/* A record without a sure partner, of a sibling of the module of `record`, going from it in
 * direction `way`; NONE. */
static uint32_t lone_sibling(const struct plumb_diverge *d, int side, uint32_t record, int way)
{
    const struct plumb_diverge_side *x = &d->sides[side];
    const char *name = plumb_activations_text(x->t, x->t->module[record]);
    for (int64_t i = (int64_t)record + way; i >= 0 && i < (int64_t)x->t->count; i += way) {
        if ((x->t->step && x->t->step[i] != x->t->step[record]) ||
            !plumb_order_siblings(name, plumb_activations_text(x->t, x->t->module[i])))
            break;
        uint32_t a = side == PLUMB_DIVERGE_A ? (uint32_t)i : x->partner[i];
        bool guessed = a != PLUMB_DIVERGE_NONE && d->cells[a].how == PLUMB_HOW_ORDER &&
                       plumb_diverge_differs(d, a);
        if (guessed || is_alone_output(x, (uint32_t)i))
            return (uint32_t)i;
    }
    return PLUMB_DIVERGE_NONE;
}

/* If the last record that agrees has a sibling without a sure partner on either side, that sibling
 * may be the fault: q next to k and v. Then the frontier ends at the input of these. */
void plumb_verdict_step_back(const struct plumb_diverge *d, struct plumb_diverge_culprit *c)
{
    if (c->inputs != PLUMB_INPUTS_UNKNOWN || c->input == PLUMB_DIVERGE_NONE)
        return;
    uint32_t alone = lone_sibling(d, PLUMB_DIVERGE_A, c->input, -1);
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[c->input];
    if (alone == PLUMB_DIVERGE_NONE ||
        (d->cells[alone].how != PLUMB_HOW_ORDER &&
         lone_sibling(d, PLUMB_DIVERGE_B, b, -1) == PLUMB_DIVERGE_NONE &&
         lone_sibling(d, PLUMB_DIVERGE_B, b, 1) == PLUMB_DIVERGE_NONE))
        return;
    struct plumb_consumed from = plumb_diverge_consumed(d, alone);
    if (from.input != PLUMB_DIVERGE_NONE && from.input < alone)
        c->input = from.input;
}

uint32_t plumb_verdict_lost(const struct plumb_diverge *d, uint32_t end, uint32_t *agreed)
{
    struct tail t = find_lost(d, end);
    if (t.first == PLUMB_DIVERGE_NONE)
        t = find_ripple(d, end);
    *agreed = t.agreed;
    return t.first;
}
