/* notes.c: the limits and circumstances of the first divergence, a line each. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/diverge/words.h"
#include "summary/cells.h"

enum { MOST_NAMED = 5 };

static const struct plumb_activations *table(const struct plumb_diverge_sheet *s, int side)
{
    return s->d->sides[side].t;
}

static const char *text_of(const struct plumb_activations *t, uint32_t id)
{
    return plumb_activations_text(t, id);
}

/* ---- Notes ----------------------------------------------------------------------------------- */

static void note_beyond(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->kind == PLUMB_DIVERGE_SAME || c->kind == PLUMB_DIVERGE_DRIFT ||
        c->beyond == PLUMB_DIVERGE_NONE || c->beyond <= c->a)
        return;
    plumb_buf_str(out, "beyond tolerance it is first at ");
    plumb_diverge_put_pair(out, s, c->beyond);
    plumb_buf_str(out, ": ");
    plumb_diverge_put_difference(out, s, c->beyond);
    plumb_buf_char(out, '\n');
}

static void put_bin(struct plumb_buf *out, int bin)
{
    if (bin == 0)
        plumb_buf_str(out, "zero");
    else if (bin == 1)
        plumb_buf_str(out, "below 2^-32");
    else
        plumb_buf_printf(out, "from 2^%d", 4 * (bin - 10));
}

/* How the magnitudes of the culprit's values shifted, where both sides have histograms. */
static void note_moved(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    uint32_t a = c->kind == PLUMB_DIVERGE_DRIFT ? c->beyond : c->a;
    int from = -1;
    int to = -1;
    if (a == PLUMB_DIVERGE_NONE || s->d->sides[PLUMB_DIVERGE_A].partner[a] == PLUMB_DIVERGE_NONE)
        return;
    double moved =
        plumb_diverge_moved(s->d, a, s->d->sides[PLUMB_DIVERGE_A].partner[a], &from, &to);
    if (!(moved > 0) || from < 0 || to < 0)
        return;
    plumb_diverge_put_percent(out, moved);
    plumb_buf_str(out, " of its values changed their magnitude, most of them ");
    put_bin(out, from);
    plumb_buf_str(out, " to ");
    put_bin(out, to);
    plumb_buf_char(out, '\n');
}

static void note_births(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->born_b != PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, "NaN or Inf stands first in a record that only B has: ");
        plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_B), c->born_b);
        plumb_buf_char(out, '\n');
    } else if (c->born_a != PLUMB_DIVERGE_NONE &&
               s->d->sides[PLUMB_DIVERGE_A].partner[c->born_a] == PLUMB_DIVERGE_NONE) {
        plumb_buf_str(out, "NaN or Inf stands first in a record that only A has: ");
        plumb_diverge_put_record(out, table(s, PLUMB_DIVERGE_A), c->born_a);
        plumb_buf_char(out, '\n');
    } else if (c->born_a != PLUMB_DIVERGE_NONE) {
        plumb_diverge_put_pair(out, s, c->born_a);
        plumb_buf_str(out, ": ");
        plumb_diverge_put_difference(out, s, c->born_a);
        plumb_buf_char(out, '\n');
    }
}

/* The line of source that ran the culprit, of each side that recorded it. */
static void note_source(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    const uint32_t records[] = {c->a, c->b};
    for (int side = PLUMB_DIVERGE_A; side <= PLUMB_DIVERGE_B; side++) {
        struct plumb_buf source = {0};
        if (records[side] != PLUMB_DIVERGE_NONE &&
            plumb_diverge_put_source(&source, table(s, side), records[side])) {
            plumb_diverge_put_record(out, table(s, side), records[side]);
            plumb_buf_printf(out, " ran from %s in %c\n", source.data ? source.data : "",
                             side == PLUMB_DIVERGE_A ? 'A' : 'B');
        }
        out->failed |= source.failed;
        plumb_buf_fini(&source);
    }
}

static void note_roots(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge_culprit *c = &s->d->culprit;
    if (c->roots == 0)
        return;
    plumb_buf_printf(out,
                     "%" PRIu32 " more %s while the recorded inputs are within tolerance, first ",
                     c->roots, c->roots == 1 ? "record differs" : "records differ");
    plumb_diverge_put_pair(out, s, c->next_root);
    plumb_buf_char(out, '\n');
}

/* "180 by name, 40 by order and statistics" */
static void note_alignment(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    static const char *const words[PLUMB_HOW_COUNT] = {
        [PLUMB_HOW_NAME] = "by name",
        [PLUMB_HOW_MAP] = "by the map",
        [PLUMB_HOW_EVIDENCE] = "by order and statistics",
        [PLUMB_HOW_KIND] = "by order and kind of layer",
        [PLUMB_HOW_ORDER] = "by order and shape alone",
        [PLUMB_HOW_MOVED] = "by statistics, out of order",
        [PLUMB_HOW_JOINED] = "as a whole and its parts",
        [PLUMB_HOW_INPUTS] = "by order and what they consumed",
    };
    const struct plumb_diverge *d = s->d;
    bool first = true;
    plumb_buf_printf(out, "A has %zu records, B %zu; matched ", d->given[PLUMB_DIVERGE_A],
                     d->given[PLUMB_DIVERGE_B]);
    for (int how = PLUMB_HOW_NAME; how < PLUMB_HOW_COUNT; how++) {
        if (d->by_how[how] == 0)
            continue;
        plumb_buf_printf(out, "%s%zu %s", first ? "" : ", ", d->by_how[how], words[how]);
        first = false;
    }
    plumb_buf_char(out, '\n');
}

void plumb_diverge_put_joined(struct plumb_buf *out, const struct plumb_diverge_sheet *s,
                              const struct plumb_diverge_join *j)
{
    const struct plumb_activations *t = table(s, j->side);
    const struct plumb_activations *tw = table(s, !j->side);
    plumb_buf_printf(out, "%c's ", j->side == PLUMB_DIVERGE_A ? 'B' : 'A');
    plumb_diverge_put_name(out, text_of(tw, j->whole.module));
    plumb_buf_char(out, ' ');
    plumb_diverge_put_name(out, text_of(tw, j->whole.tensor));
    plumb_buf_printf(out, " is %c's ", j->side == PLUMB_DIVERGE_A ? 'A' : 'B');
    plumb_diverge_put_name(out, text_of(t, j->module));
    plumb_buf_char(out, ' ');
    plumb_diverge_put_name(out, text_of(t, j->tensor));
    if (j->dimension < 0)
        plumb_buf_str(out, ", value for value");
    else
        plumb_buf_printf(out, ", %s dimension %d", j->stacked ? "stacked in a new" : "joined in",
                         j->dimension);
    plumb_buf_str(out, j->by_kind ? " (as others of their kinds; their statistics are apart)"
                                  : " (counts, sums and shapes agree)");
}

/* The records that were matched as a whole and its parts. */
static void note_joins(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    for (size_t i = 0; i < s->d->join_count && i < MOST_NAMED; i++) {
        plumb_diverge_put_joined(out, s, &s->d->joins[i]);
        plumb_buf_char(out, '\n');
    }
    if (s->d->join_count > MOST_NAMED)
        plumb_buf_printf(out, "and %zu more wholes with their parts\n",
                         s->d->join_count - MOST_NAMED);
}

static void note_unmatched(struct plumb_buf *out, const struct plumb_diverge_sheet *s, int side)
{
    const struct plumb_diverge_side *x = &s->d->sides[side];
    size_t named = 0;
    size_t records = 0;
    size_t sites = 0;
    struct plumb_buf names = {0};
    for (uint32_t k = 0; k < x->site_count; k++) {
        size_t alone = 0;
        for (uint32_t i = 0; i < x->sites[k].count && !x->sites[k].is_part; i++)
            alone += x->partner[x->records[x->sites[k].begin + i]] == PLUMB_DIVERGE_NONE;
        records += alone;
        sites += alone > 0;
        if (alone == 0 || named == MOST_NAMED)
            continue;
        plumb_buf_str(&names, named++ > 0 ? ", " : "");
        plumb_diverge_put_name(&names, text_of(x->t, x->sites[k].module));
        plumb_buf_char(&names, ' ');
        plumb_diverge_put_name(&names, text_of(x->t, x->sites[k].tensor));
        if (alone > 1)
            plumb_buf_printf(&names, " (%zu)", alone);
    }
    if (records > 0) {
        plumb_buf_printf(out, "only in %c: %zu %s: %s", side == PLUMB_DIVERGE_A ? 'A' : 'B',
                         records, records == 1 ? "record" : "records",
                         names.data ? names.data : "");
        if (sites > named)
            plumb_buf_printf(out, " and %zu more names", sites - named);
        plumb_buf_char(out, '\n');
    }
    out->failed |= names.failed;
    plumb_buf_fini(&names);
}

static void note_limits(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (d->dropped > 0)
        plumb_buf_printf(
            out,
            "%zu %s that order suggested agreed with nothing round them, and are taken "
            "for records that only one side has\n",
            d->dropped, d->dropped == 1 ? "pair" : "pairs");
    if (d->approximate)
        plumb_buf_str(out, "too many layers without a name in common to look at every pairing: a "
                           "--map makes the alignment sure\n");
    if (d->unknown_type)
        plumb_buf_str(out,
                      "a side does not say its element types: those of unknown type are held to "
                      "the tolerance of bfloat16, 0.5 %; --rtol sets another\n");
    if (d->stopped_short)
        plumb_buf_str(out, "without shapes a sum cannot be judged, only abs_mean is: record the "
                           "statistic shape\n");
    size_t guessed = d->by_verdict[PLUMB_SAID_LAYOUT] - d->layouts_proven;
    if (d->layouts_proven > 0)
        plumb_buf_printf(out, "%zu %s in another layout with the same values\n", d->layouts_proven,
                         d->layouts_proven == 1 ? "tensor is" : "tensors are");
    if (guessed > 0)
        plumb_buf_printf(out,
                         "%zu %s another shape and as many values; their statistics agree, and "
                         "only hash_any can show that the values are the same\n",
                         guessed, guessed == 1 ? "tensor has" : "tensors have");
    if (d->by_verdict[PLUMB_SAID_NOTHING] > 0)
        plumb_buf_printf(out, "%zu %s no statistic in common and could not be compared\n",
                         d->by_verdict[PLUMB_SAID_NOTHING],
                         d->by_verdict[PLUMB_SAID_NOTHING] == 1 ? "pair has" : "pairs have");
}

/* How many pairs have two element types, the first of them, and its tolerance. */
static void note_types(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (d->retyped_count == 0)
        return;
    uint32_t b = d->sides[PLUMB_DIVERGE_A].partner[d->retyped];
    struct plumb_tolerance t = plumb_diverge_tolerance(s->d, d->retyped, b);
    plumb_buf_printf(out, "%zu %s, first ", d->retyped_count,
                     d->retyped_count == 1 ? "pair has two element types"
                                           : "pairs have two element types");
    plumb_diverge_put_pair(out, s, d->retyped);
    plumb_buf_str(out, ": ");
    plumb_diverge_put_types(out, s, d->retyped);
    plumb_buf_str(out, ", held to ");
    plumb_diverge_put_percent(out, t.relative);
    plumb_buf_char(out, '\n');
}

static void note_shuffled(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (d->shuffled == PLUMB_DIVERGE_NONE)
        return;
    plumb_buf_printf(out, "%zu %s the same values in another order, first ",
                     d->by_verdict[PLUMB_SAID_SHUFFLED],
                     d->by_verdict[PLUMB_SAID_SHUFFLED] == 1 ? "pair has" : "pairs have");
    plumb_diverge_put_pair(out, s, d->shuffled);
    plumb_buf_str(out, d->held ? "\n" : "; --rtol 0 --atol 0 takes that for a divergence\n");
}

/* Pairs are made in order where the numbers of steps or calls have nothing in common. */
static void note_numbers(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_activations *ta = table(s, PLUMB_DIVERGE_A);
    const struct plumb_activations *tb = table(s, PLUMB_DIVERGE_B);
    const uint32_t *partner = s->d->sides[PLUMB_DIVERGE_A].partner;
    size_t steps = 0, calls = 0;
    for (uint32_t a = 0; a < ta->count; a++) {
        uint32_t b = partner[a];
        if (b == PLUMB_DIVERGE_NONE)
            continue;
        bool have_steps = plumb_activations_has(ta, a, PLUMB_ACT_STEP) &&
                          plumb_activations_has(tb, b, PLUMB_ACT_STEP);
        bool have_calls = plumb_activations_has(ta, a, PLUMB_ACT_CALL) &&
                          plumb_activations_has(tb, b, PLUMB_ACT_CALL);
        int64_t step_a = ta->step ? ta->step[a] : 0, step_b = tb->step ? tb->step[b] : 0;
        if (have_steps && step_a != step_b && steps++ == 0)
            plumb_buf_printf(out,
                             "the steps differ: step %" PRId64
                             " of A is compared with step %" PRId64 " of B\n",
                             step_a, step_b);
        calls += have_calls && (ta->call ? ta->call[a] : 0) != (tb->call ? tb->call[b] : 0);
    }
    if (calls > 0)
        plumb_buf_printf(out, "%zu %s of calls with different numbers, in their order\n", calls,
                         calls == 1 ? "pair is" : "pairs are");
}

/* Why a difference within tolerance counts, and when it may not. */
static void note_held(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    const struct plumb_diverge *d = s->d;
    if (d->guessed && d->culprit.a != PLUMB_DIVERGE_NONE &&
        !plumb_diverge_is_wrong(d->cells[d->culprit.a].verdict))
        plumb_buf_str(out, "names, types and the beginning that is equal to the last bit show two "
                           "runs of one engine, so they are held to the bit; operations that add "
                           "in varying order (atomics, threads) differ in the last bits without a "
                           "fault: --expect close allows what the element types do\n");
}

void plumb_diverge_put_notes(struct plumb_buf *out, const struct plumb_diverge_sheet *s)
{
    note_held(out, s);
    note_beyond(out, s);
    note_moved(out, s);
    note_births(out, s);
    note_source(out, s);
    note_roots(out, s);
    note_types(out, s);
    note_shuffled(out, s);
    note_numbers(out, s);
    note_alignment(out, s);
    note_joins(out, s);
    note_unmatched(out, s, PLUMB_DIVERGE_A);
    note_unmatched(out, s, PLUMB_DIVERGE_B);
    note_limits(out, s);
}
