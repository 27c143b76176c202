/* frontier.c: the answer in one sentence: the first difference, what it was made from, and what
 * neither side recorded between the two. Also where equality ends. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec/decimal.h"
#include "report/diverge/words.h"
#include "summary/cells.h"

static const struct plumb_activations *table(const struct plumb_diverge_sheet *s, int side)
{
    return s->d->sides[side].t;
}

static const char *matched(const struct plumb_diverge_sheet *s, uint32_t a)
{
    return s->d->cells[a].exact ? "equal" : "within tolerance";
}

static void put_module(struct plumb_buf *out, const struct plumb_diverge_sheet *s, uint32_t a)
{
    const struct plumb_activations *t = table(s, PLUMB_DIVERGE_A);
    plumb_diverge_put_name(out, plumb_activations_text(t, t->module[a]));
}

/* ---- What it consumed ------------------------------------------------------------------------ */

/* The last output between the ends of the frontier that one side alone has, A's rather than B's.
 * Returns its side; less than 0: there is none. */
static int alone_between(const struct plumb_diverge_sheet *s, uint32_t *out)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    uint32_t from[] = {c->input, s->d->sides[PLUMB_DIVERGE_A].partner[c->input]};
    uint32_t to[] = {c->a, c->b};
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        const struct plumb_diverge_side *x = &s->d->sides[side];
        if (from[side] == PLUMB_DIVERGE_NONE || to[side] == PLUMB_DIVERGE_NONE)
            continue;
        for (uint32_t i = to[side]; i-- > from[side] + 1;)
            if (x->partner[i] == PLUMB_DIVERGE_NONE && !plumb_diverge_is_input(x->t, i) &&
                !x->sites[x->site_of[i]].is_part) {
                *out = i;
                return side;
            }
    }
    return -1;
}

/* "; only B has rope.k out step 1 between them"; whether there is such a record. */
static bool put_alone_between(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    uint32_t alone = PLUMB_DIVERGE_NONE;
    int side = alone_between(s, &alone);
    if (side < 0)
        return false;
    plumb_buf_printf(out, "; only %c has ", side == PLUMB_DIVERGE_A ? 'A' : 'B');
    plumb_diverge_put_record(out, table(s, side), alone);
    plumb_buf_str(out, " between them");
    return true;
}

static void put_before(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    uint32_t alone;
    bool any = alone_between(s, &alone) >= 0;
    plumb_buf_str(out,
                  any ? " (the last record before it on both sides, " : " (the record before it, ");
    plumb_diverge_put_pair(out, s, c->input);
    plumb_buf_printf(out, ", is %s", matched(s, c->input));
    (void)put_alone_between(out, s);
    plumb_buf_str(out, any ? "), and the records do not show which of them differs" : ")");
}

/* "inside blocks.3.attn, between blocks.3.attn.qkv out (equal) and " */
static void put_within(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    plumb_buf_str(out, c->within != PLUMB_DIVERGE_NONE ? "inside " : "");
    if (c->within != PLUMB_DIVERGE_NONE) {
        put_module(out, s, c->within);
        plumb_buf_str(out, ", ");
    }
    plumb_buf_str(out, "between ");
    plumb_diverge_put_pair(out, s, c->input);
    plumb_buf_printf(out, " (%s) and ", matched(s, c->input));
}

static void put_inputs(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    bool none = c->input == PLUMB_DIVERGE_NONE;
    switch (c->inputs) {
    case PLUMB_INPUTS_RECORDED:
        plumb_buf_printf(out, ", inputs %s", matched(s, c->input));
        break;
    case PLUMB_INPUTS_BY_HASH:
        plumb_buf_printf(out, ", inputs %s (found by their contents: ", matched(s, c->input));
        plumb_diverge_put_pair(out, s, c->input);
        plumb_buf_char(out, ')');
        break;
    case PLUMB_INPUTS_IS_ONE:
        if (none)
            break;
        plumb_buf_str(out, ", given out by ");
        plumb_diverge_put_pair(out, s, c->input);
        plumb_buf_str(out, s->d->cells[c->input].verdict == PLUMB_SAID_NOTHING
                               ? ", which only A has"
                               : ", where it was right");
        break;
    case PLUMB_INPUTS_UNKNOWN:
        plumb_buf_str(out, ", inputs unknown");
        if (none)
            break;
        if (c->within == PLUMB_DIVERGE_NONE || c->inside == c->input) {
            put_before(out, s);
            break;
        }
        plumb_buf_str(out, ": ");
        put_within(out, s);
        plumb_buf_str(out, "it");
        if (put_alone_between(out, s))
            plumb_buf_str(out, ", and the records do not show which of them differs");
        break;
    }
    if (c->inside != PLUMB_DIVERGE_NONE && c->inputs != PLUMB_INPUTS_IS_ONE) {
        plumb_buf_str(out, "; inside it, after ");
        plumb_diverge_put_pair(out, s, c->inside);
        plumb_buf_printf(out, " (%s)", matched(s, c->inside));
    }
}

/* ---- Nothing differs ------------------------------------------------------------------------- */

static void put_lacking(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_missing *m = &s->d->missing[side];
    const struct plumb_activations *other = table(s, !side);
    char who = side == PLUMB_DIVERGE_A ? 'A' : 'B';
    if (m->steps > 0) {
        plumb_buf_printf(out, "; %c %s step%s %" PRId64, who,
                         m->ends ? "ends early: it lacks" : "lacks", m->steps > 1 ? "s" : "",
                         m->first_step);
        if (m->steps > 1)
            plumb_buf_printf(out, " to %" PRId64 " (%zu)", m->last_step, m->steps);
    }
    if (m->ranks > 0) {
        plumb_buf_printf(out, "; %c lacks rank %" PRId32, who, m->rank);
        if (m->ranks > 1)
            plumb_buf_printf(out, " and %zu more", m->ranks - 1);
    }
    if (m->modules > 0) {
        plumb_buf_printf(out, "; %c lacks ", who);
        plumb_diverge_put_name(out, plumb_activations_text(other, other->module[m->module]));
        if (m->modules > 1)
            plumb_buf_printf(out, " and %zu more layers", m->modules - 1);
    }
    if (m->steps == 0 && m->after != PLUMB_DIVERGE_NONE) {
        plumb_buf_printf(out, "; %c ends early, after ", who);
        plumb_diverge_put_record(out, other, m->after);
    }
}

static void put_missing(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    size_t begin = out->len;
    put_lacking(out, s, PLUMB_DIVERGE_A);
    put_lacking(out, s, PLUMB_DIVERGE_B);
    size_t a = d->sides[PLUMB_DIVERGE_A].unmatched;
    size_t b = d->sides[PLUMB_DIVERGE_B].unmatched;
    if (out->len == begin && a + b > 0 && d->options.only == PLUMB_ONLY_ALL)
        plumb_buf_printf(out, "; %zu records are only in A, %zu only in B", a, b);
}

/* "within 0.5 %: element types unknown" */
static void put_tolerance(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (!d->unknown_type || d->options.relative >= 0) {
        plumb_buf_str(out, "within tolerance");
        return;
    }
    plumb_buf_str(out, "within ");
    plumb_diverge_put_percent(out, plumb_tolerance_of(-1, -1, -1, -1).relative);
    plumb_buf_str(out, ": element types unknown");
}

static void put_farthest(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (d->widest == PLUMB_DIVERGE_NONE || !((double)d->cells[d->widest].excess > 0))
        return;
    plumb_buf_str(out, ", the farthest off is ");
    plumb_diverge_put_pair(out, s, d->widest);
    plumb_buf_printf(
        out, ": %s by ",
        plumb_activation_field_name((enum plumb_activation_field)d->cells[d->widest].field));
    plumb_diverge_put_percent(out, (double)d->cells[d->widest].drift);
}

static void put_same(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    size_t said = d->pairs - d->by_verdict[PLUMB_SAID_NOTHING];
    size_t shuffled = d->by_verdict[PLUMB_SAID_SHUFFLED];
    bool equal = d->by_verdict[PLUMB_SAID_EQUAL] == said;
    plumb_buf_printf(out, "no divergence: %zu %s", said,
                     said == 1 ? "pair of records is " : "pairs of records are ");
    if (equal)
        plumb_buf_str(out, "equal in every statistic");
    else
        put_tolerance(out, s);
    if (d->retyped_count > 0)
        plumb_buf_printf(out, ", in %zu of them the element types differ", d->retyped_count);
    put_farthest(out, s);
    if (shuffled > 0)
        plumb_buf_printf(out, "; %zu %s the same values in another order", shuffled,
                         shuffled == 1 ? "has" : "have");
    if (d->rehashed > 0)
        plumb_buf_printf(out, "; of %zu the hashes differ and no statistic does", d->rehashed);
    put_missing(out, s);
}

/* ---- Something does -------------------------------------------------------------------------- */

static void put_drift(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    const struct plumb_diverge_culprit *c = &d->culprit;
    plumb_buf_str(out, d->unknown_type
                           ? "slow drift, or a fault within tolerance where it begins: from "
                           : "slow drift, no single culprit: from ");
    plumb_diverge_put_percent(out, (double)d->cells[c->a].drift);
    plumb_buf_str(out, " at ");
    plumb_diverge_put_pair(out, s, c->a);
    plumb_buf_str(out, " to ");
    plumb_diverge_put_percent(out, (double)d->cells[c->beyond].drift);
    plumb_buf_str(out, " at ");
    plumb_diverge_put_pair(out, s, c->beyond);
    plumb_buf_str(out, ", the first beyond tolerance: ");
    plumb_diverge_put_difference(out, s, c->beyond);
}

static void put_alone(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    const uint32_t first[] = {c->a, c->b};
    plumb_buf_str(out, "different records: ");
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        size_t n = s->d->sides[side].unmatched;
        if (first[side] == PLUMB_DIVERGE_NONE)
            continue;
        if (side == PLUMB_DIVERGE_B && c->a != PLUMB_DIVERGE_NONE)
            plumb_buf_str(out, ", ");
        plumb_buf_printf(out, "only %c has ", side == PLUMB_DIVERGE_A ? 'A' : 'B');
        plumb_diverge_put_record(out, table(s, side), first[side]);
        if (n > 1)
            plumb_buf_printf(out, " and %zu more", n - 1);
    }
    plumb_buf_str(out, ", and equality in every record was asked for");
}

static void put_lost(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    bool by_order = s->d->cells[c->a].how == PLUMB_HOW_ORDER;
    plumb_buf_str(out, "first divergence: ");
    if (c->input == PLUMB_DIVERGE_NONE)
        plumb_buf_str(out, "only a few figures pair what comes first, ");
    else {
        plumb_buf_str(out, "after ");
        plumb_diverge_put_pair(out, s, c->input);
        plumb_buf_printf(out, " (%s) %s", matched(s, c->input),
                         by_order ? "nothing agrees; by order and shape alone the next is "
                                  : "only a few figures pair what follows, ");
    }
    plumb_diverge_put_pair(out, s, c->a);
    plumb_buf_str(out, ": ");
    plumb_diverge_put_difference(out, s, c->a);
    if (c->sure != PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, ", the next with evidence ");
        plumb_diverge_put_pair(out, s, c->sure);
    }
}

/* An input that was made by code between two records. */
static void put_between(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    plumb_buf_str(out, "first divergence: ");
    put_within(out, s);
    plumb_diverge_put_pair(out, s, c->a);
    plumb_buf_str(out, ": ");
    plumb_diverge_put_difference(out, s, c->a);
    if (put_alone_between(out, s))
        plumb_buf_str(out, ", and the records do not show which of them differs");
}

/* Two runs of one engine are compared to the last bit. The first difference beyond tolerance may
 * come later. */
static void put_beyond(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (!s->d->held || c->beyond == PLUMB_DIVERGE_NONE || c->beyond <= c->a)
        return;
    plumb_buf_str(out, "; beyond tolerance first at ");
    plumb_diverge_put_pair(out, s, c->beyond);
}

static void put_culprit(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    plumb_buf_str(out, c->kind == PLUMB_DIVERGE_START     ? "different from the first record on: "
                       : c->kind == PLUMB_DIVERGE_OUTSIDE ? "different input: "
                                                          : "first divergence: ");
    if (s->d->cells[c->a].how == PLUMB_HOW_ORDER)
        plumb_buf_str(out, "nothing agrees, and only order and shape pair ");
    plumb_diverge_put_pair(out, s, c->a);
    plumb_buf_str(out, ": ");
    plumb_diverge_put_difference(out, s, c->a);
    if (c->kind == PLUMB_DIVERGE_START)
        plumb_buf_str(out, ": the inputs or the seeds of the runs differ, or what comes before the "
                           "first record");
    else if (c->kind == PLUMB_DIVERGE_OUTSIDE)
        plumb_buf_str(out, ", and no record gave it out: another input, seed or weight");
    else
        put_inputs(out, s);
}

void plumb_diverge_put_sentence(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    switch (c->kind) {
    case PLUMB_DIVERGE_SAME:
        put_same(out, s);
        return;
    case PLUMB_DIVERGE_DRIFT:
        put_drift(out, s);
        return;
    case PLUMB_DIVERGE_MISSING:
        put_alone(out, s);
        return;
    case PLUMB_DIVERGE_LOST:
        put_lost(out, s);
        break;
    default:
        if (c->kind == PLUMB_DIVERGE_BETWEEN && c->inputs == PLUMB_INPUTS_UNKNOWN)
            put_between(out, s);
        else
            put_culprit(out, s);
    }
    put_beyond(out, s);
}

void plumb_diverge_put_equality(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    uint32_t first = d->first_unequal;
    if (first == PLUMB_DIVERGE_NONE)
        return;
    if (d->equal_count == 0)
        plumb_buf_str(out, "not equal to the last bit from the first record on");
    else {
        plumb_buf_str(out, "equal to the last bit up to ");
        plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_A), d->equal_last);
        plumb_buf_printf(out, " (%" PRIu32 " record%s)", d->equal_count,
                         d->equal_count == 1 ? "" : "s");
    }
    if (first == d->culprit.a && d->equal_count > 0)
        return;
    plumb_buf_str(out, "; first difference at ");
    plumb_diverge_put_pair(out, s, first);
    if (!plumb_diverge_is_wrong(d->cells[first].verdict)) {
        char number[32];
        snprintf(number, sizeof number, "%.1g", (double)d->cells[first].excess);
        plumb_decimal_point(number);
        plumb_buf_printf(out, ", %s tolerances", number);
    } else
        plumb_buf_str(out, ", beyond tolerance");
}
