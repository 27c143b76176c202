/* held.c: decides whether two runs are compared to the last bit or within tolerances. Two runs of
 * one engine round alike: the names, types and statistics are the same, and several contents from
 * the first record on are equal to the last bit. Then the first record that differs is the answer,
 * however small the difference is. */
#include <math.h>

#include "analyze/diverge/verdict.h"

enum {
    ROUNDINGS = 16, /* errors that one operation may add by rounding; a larger one has another cause
                     */
    ONE_ENGINE = 5, /* contents equal to the last bit: no second engine rounds like that */
};

static double mean_of(const struct plumb_diverge *d, uint32_t a)
{
    double value = plumb_activations_stat(plumb_verdict_table(d), a, PLUMB_ACT_ABS_MEAN);
    return isnan(value) ? plumb_activations_stat(plumb_verdict_table(d), a, PLUMB_ACT_SUM) : value;
}

/* The beginning that is equal to the last bit. Returns how many different contents it has: a tensor
 * that is passed on from one module to the next counts once. */
uint32_t plumb_verdict_measure_equality(struct plumb_diverge *d)
{
    uint32_t contents = 0;
    double last = 0;
    d->equal_count = 0;
    d->equal_last = d->first_unequal = PLUMB_DIVERGE_NONE;
    for (uint32_t i = 0; i < plumb_verdict_count(d) && d->first_unequal == PLUMB_DIVERGE_NONE;
         i++) {
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
    if (plumb_verdict_table(d)->format != tb->format || d->retyped_count > 0 ||
        d->by_how[PLUMB_HOW_NAME] * 10 < d->pairs * 9)
        return false;
    for (uint32_t i = 0; i <= d->first_unequal; i++)
        if (partner[i] != PLUMB_DIVERGE_NONE &&
            plumb_verdict_table(d)->has[i] != tb->has[partner[i]])
            return false;
    return true;
}

/* Whether hashes prove another order, or other values, that no statistic shows: that is not
 * rounding. */
static bool is_proven(const struct plumb_diverge *d, uint32_t a)
{
    return d->cells[a].verdict == PLUMB_SAID_SHUFFLED ||
           (d->cells[a].verdict == PLUMB_SAID_CLOSE && d->cells[a].excess == 0);
}

static bool any_is_wrong(const struct plumb_diverge *d)
{
    for (uint32_t i = 0; i < plumb_verdict_count(d); i++)
        if (plumb_diverge_has_evidence(d, i) && plumb_verdict_is_wrong(d, i))
            return true;
    return false;
}

/* More than rounding, of a type that is known. */
static bool is_beyond_rounding(struct plumb_diverge *d, uint32_t a)
{
    struct plumb_tolerance t = plumb_diverge_tolerance(d, a, d->sides[PLUMB_DIVERGE_A].partner[a]);
    return t.known && (double)d->cells[a].drift > ROUNDINGS * t.rounding;
}

void plumb_verdict_choose(struct plumb_diverge *d)
{
    uint32_t contents = plumb_verdict_measure_equality(d);
    bool own = d->options.relative > 0 || d->options.absolute > 0;
    bool exact = d->options.relative == 0 && d->options.absolute == 0;
    d->held = exact || d->options.expect == PLUMB_EXPECT_SAME;
    d->guessed = false;
    if (d->held || own || d->options.expect == PLUMB_EXPECT_CLOSE ||
        d->first_unequal == PLUMB_DIVERGE_NONE)
        return;
    bool beyond = is_beyond_rounding(d, d->first_unequal) ||
                  (is_proven(d, d->first_unequal) && any_is_wrong(d));
    d->guessed = (contents >= ONE_ENGINE || (contents > 0 && beyond)) && looks_like_one(d);
    d->held = d->guessed;
}
