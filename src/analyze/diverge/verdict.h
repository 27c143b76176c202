/* verdict.h: shared by the files of layer 3. */
#ifndef PLUMB_ANALYZE_DIVERGE_VERDICT_H
#define PLUMB_ANALYZE_DIVERGE_VERDICT_H

#include "analyze/diverge/diverge.h"

enum { PLUMB_VERDICT_JUMP = 3 }; /* times as far off as what came before */

static inline const struct plumb_activations *plumb_verdict_table(const struct plumb_diverge *d)
{
    return d->sides[PLUMB_DIVERGE_A].t;
}

static inline uint32_t plumb_verdict_count(const struct plumb_diverge *d)
{
    return (uint32_t)plumb_verdict_table(d)->count;
}

static inline bool plumb_verdict_is_input(const struct plumb_diverge *d, uint32_t a)
{
    return plumb_diverge_is_input(plumb_verdict_table(d), a);
}

static inline bool plumb_verdict_is_wrong(const struct plumb_diverge *d, uint32_t a)
{
    return plumb_diverge_is_wrong(d->cells[a].verdict);
}

static inline bool plumb_verdict_speaks(const struct plumb_diverge *d, uint32_t a)
{
    return d->cells[a].verdict != PLUMB_SAID_NOTHING;
}

static inline bool plumb_verdict_same_rank(const struct plumb_diverge *d, uint32_t x, uint32_t y)
{
    const struct plumb_diverge_side *a = &d->sides[PLUMB_DIVERGE_A];
    return a->sites[a->site_of[x]].rank == a->sites[a->site_of[y]].rank;
}

static inline bool plumb_verdict_same_step(const struct plumb_diverge *d, uint32_t x, uint32_t y)
{
    const struct plumb_activations *t = plumb_verdict_table(d);
    return !t->step || t->step[x] == t->step[y];
}

/* held.c: measures d->equal_count and its like; returns how many different contents are
 * equal from the beginning on. */
uint32_t plumb_verdict_measure_equality(struct plumb_diverge *d);
/* Chooses what the runs are held to. */
void plumb_verdict_choose(struct plumb_diverge *d);

/* weak.c: pairs with weak evidence, and pairs that order alone suggests. */
/* How far off, in tolerances, the last records with evidence before `a` are. */
float plumb_verdict_noise(const struct plumb_diverge *d, uint32_t a);
/* The first record with evidence that differs, or NONE; undoes the pairs before it that are
 * refuted. PLUMB_ERR_MEMORY. */
int plumb_verdict_first(struct plumb_diverge *d, uint32_t *out);
/* The first place before `end` where order alone suggests a difference: *agreed is the last record
 * that agrees; returns the first that does not, or NONE. */
uint32_t plumb_verdict_lost(const struct plumb_diverge *d, uint32_t end, uint32_t *agreed);
/* Undoes pairs by order alone that differ, up to `end`. */
void plumb_verdict_drop_guesses(struct plumb_diverge *d, uint32_t end);
/* Moves the agreeing end of the frontier back, before its siblings that have no sure partner. */
void plumb_verdict_step_back(const struct plumb_diverge *d, struct plumb_diverge_culprit *c);

/* doubt.c: widens a frontier whose ends no evidence carries, until it is true. Time grows with the
 * records. PLUMB_ERR_MEMORY. */
int plumb_verdict_doubt(struct plumb_diverge *d, struct plumb_diverge_culprit *c);

#endif
