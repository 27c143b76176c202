/* judge.c: see judge.h. The random numbers start from a fixed seed, so one set of samples has one
 * answer. */
#include "analyze/gate/judge.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/bootstrap.h"
#include "analyze/compare/ranksum.h"
#include "analyze/compare/sample.h"
#include "base/error.h"

/* ROUNDS: of a level. More would follow a drift and a change of speed too slowly: with 8, a fifth
 * of the changes of 5 % on a machine of two speeds were not found, with 3 one in 100. */
enum { ROUNDS = 3, BEST_OF = 3, SPLITS = 200, SPLIT_SEED = 7 };
/* Of the interval on either side, and of U. */
static const double error_level = 0.01;

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the samples of a gate");
}

static double median_of(double *scratch, const double *values, size_t n)
{
    memcpy(scratch, values, n * sizeof *values);
    plumb_sample_sort(scratch, n);
    return plumb_sample_median(scratch, n);
}

/* ---- Level ----------------------------------------------------------------------------------- */

/* Leaves the shortest of each three values. Returns how many there are. */
static size_t best_of_three(double *v, size_t n)
{
    size_t groups = n / BEST_OF;
    for (size_t i = 0; i < groups; i++) {
        double least = v[n * i / groups];
        for (size_t k = n * i / groups + 1; k < n * (i + 1) / groups; k++)
            least = fmin(least, v[k]);
        v[i] = least;
    }
    return groups;
}

/* Divides rounds [from, to) of both sides by their common level, and multiplies by `overall`. */
static void level_rounds(double *old, double *fresh, size_t from, size_t to, double overall,
                         double *scratch)
{
    size_t n = to - from;
    double level;
    memcpy(scratch, old + from, n * sizeof *old);
    memcpy(scratch + n, fresh + from, n * sizeof *fresh);
    plumb_sample_sort(scratch, 2 * n);
    level = plumb_sample_median(scratch, 2 * n);
    for (size_t i = from; i < to; i++) {
        old[i] *= overall / level;
        fresh[i] *= overall / level;
    }
}

/* Removes what both sides of `n` rounds have in common. Blocks have the same number of rounds, or
 * one more, so that none is short. `scratch` has 2 * n. */
static void level(double *old, double *fresh, size_t n, double *scratch)
{
    size_t blocks = n / ROUNDS ? n / ROUNDS : 1;
    double overall;
    memcpy(scratch, old, n * sizeof *old);
    memcpy(scratch + n, fresh, n * sizeof *fresh);
    plumb_sample_sort(scratch, 2 * n);
    overall = plumb_sample_median(scratch, 2 * n);
    for (size_t i = 0; i < blocks; i++)
        level_rounds(old, fresh, n * i / blocks, n * (i + 1) / blocks, overall, scratch);
}

/* ---- Noise floor ----------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) /* xorshift64* (Vigna 2016) */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static void shuffle(double *v, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)((next_random(state) >> 32) * i >> 32);
        double t = v[i - 1];
        v[i - 1] = v[k];
        v[k] = t;
    }
}

/* The difference of the medians of two random halves that 95 of 100 splits stay below. Halves have
 * half of the samples each, so their medians differ by the square root of 2 more. */
static double split_noise(const double *values, size_t n, double *scratch, double *half)
{
    double found[SPLITS];
    uint64_t state = SPLIT_SEED;
    memcpy(scratch, values, n * sizeof *values);
    for (size_t i = 0; i < SPLITS; i++) {
        double a, b;
        shuffle(scratch, n, &state);
        a = median_of(half, scratch, n / 2);
        b = median_of(half, scratch + n / 2, n / 2);
        found[i] = fabs(a / b - 1);
    }
    plumb_sample_sort(found, SPLITS);
    return found[SPLITS - SPLITS / 20] / sqrt(2);
}

/* How far the medians of parts of the series lie apart. A disturbance that comes and goes during
 * one side, as another program does, differs between the sides as well, and splits into random
 * halves do not show it: without this, 4 of 100 pairs of unchanged code raised an alarm. */
static double drift_noise(const double *values, size_t n, double *scratch)
{
    enum { PARTS_LEAST = 3, PARTS_MOST = 6, PART_LEAST = 5 };
    size_t parts = n / PART_LEAST;
    double low = INFINITY, high = 0;
    parts = parts < PARTS_LEAST ? PARTS_LEAST : parts > PARTS_MOST ? PARTS_MOST : parts;
    for (size_t i = 0; i < parts; i++) {
        size_t from = n * i / parts;
        double median = median_of(scratch, values + from, n * (i + 1) / parts - from);
        low = fmin(low, median);
        high = fmax(high, median);
    }
    return high / low - 1;
}

static double noise_of(double before, const double *values, size_t n, bool in_turn, double *scratch)
{
    double drift = in_turn ? 0 : drift_noise(values, n, scratch);
    return fmax(before, fmax(drift, split_noise(values, n, scratch, scratch + n)));
}

/* ---- The answer ------------------------------------------------------------------------------ */

static bool is_upper(enum plumb_gate_op op)
{
    return op == PLUMB_GATE_AT_MOST || op == PLUMB_GATE_BELOW;
}

/* The limit as a ratio to the old median. */
static double limit_ratio(const struct plumb_gate_bound *b, double old_median, double floor)
{
    double limit = b->of_old + b->add / old_median;
    double change = floor / old_median;
    return is_upper(b->op) ? fmax(limit, 1 + change) : fmin(limit, 1 - change);
}

/* p of U, one-sided: that `fresh` lies beyond `limit` times `old` by chance. `scratch` has n_old.
 * */
static int beyond(double *p, const double *old, size_t n_old, const double *fresh, size_t n_new,
                  double limit, bool upper, double *scratch, plumb_error *err)
{
    struct plumb_ranksum u;
    double middle = (double)n_old * (double)n_new / 2;
    int rc;
    for (size_t i = 0; i < n_old; i++)
        scratch[i] = old[i] * limit;
    rc = plumb_ranksum(&u, scratch, n_old, fresh, n_new, err);
    if (rc == PLUMB_OK)
        *p = (upper ? u.u < middle : u.u > middle) ? u.p / 2 : 1 - u.p / 2;
    return rc;
}

static void answer(struct plumb_gate_judgement *j, enum plumb_gate_op op, double limit)
{
    bool upper = is_upper(op), strict = op == PLUMB_GATE_BELOW || op == PLUMB_GATE_ABOVE;
    /* Seen from an upper limit: near and far end of the interval, and where noise may move it. */
    double least = upper ? j->low / limit : limit / j->high;
    double most = upper ? j->high / limit : limit / j->low;
    double middle = upper ? j->ratio / limit : limit / j->ratio;
    bool fails = strict ? least >= 1 : least > 1;
    bool meets = strict ? most < 1 : most <= 1;
    if (meets && middle * (1 + j->noise) <= 1)
        j->answer = PLUMB_GATE_MEETS;
    else if (fails && (j->noise == 0 || middle > 1 + j->noise) && !(j->p > error_level))
        j->answer = PLUMB_GATE_FAILS;
    else if (!(j->noise > fabs(1 - 1 / middle) || fails || meets))
        j->why = "the limit lies inside the interval: more samples narrow it";
    else
        j->why = j->noise > j->resolution
                     ? "the difference from the limit is within the noise"
                     : "the difference from the limit is within the error of quantiles, which "
                       "'mean', 'min' and 'total' do not have";
}

/* Against a fixed time. Few samples have no interval: all of them count. */
static int judge_fixed(struct plumb_gate_judgement *j, double *fresh,
                       const struct plumb_gate_bound *b, plumb_error *err)
{
    const double limit = b->add;
    size_t n = j->new_count;
    struct plumb_interval interval = {.known = false};
    int rc = PLUMB_OK;
    plumb_sample_sort(fresh, n);
    j->new_median = plumb_sample_median(fresh, n);
    if (!(limit > 0)) { /* only a bound that no time breaks: checked when it was read */
        j->answer = is_upper(b->op) ? PLUMB_GATE_FAILS : PLUMB_GATE_MEETS;
        return PLUMB_OK;
    }
    j->noise = j->resolution;
    j->ratio = j->new_median / limit;
    j->low = fresh[0] / limit;
    j->high = fresh[n - 1] / limit;
    if (n >= PLUMB_GATE_LEAST)
        rc = plumb_bootstrap_ratio_tails(&interval, &limit, 1, fresh, n, PLUMB_BOOTSTRAP_SEED,
                                         error_level, err);
    if (rc == PLUMB_OK && interval.known) {
        j->low = interval.low;
        j->high = interval.high;
    }
    if (rc == PLUMB_OK)
        answer(j, b->op, 1);
    return rc;
}

/* `memory` has 5 * (n_old + n_new): copies of both sides, and scratch. */
static int judge_change(struct plumb_gate_judgement *j, double *memory,
                        const struct plumb_gate_bound *b, double floor, plumb_error *err)
{
    size_t n_old = j->old_count, n_new = j->new_count;
    double *old = memory, *fresh = memory + n_old, *scratch = memory + n_old + n_new;
    struct plumb_interval interval;
    double limit;
    int rc;
    if (j->in_turn && n_old >= (size_t)BEST_OF * PLUMB_GATE_LEAST) {
        best_of_three(old, n_old);
        n_old = n_new = j->used = best_of_three(fresh, n_new);
    }
    if (j->in_turn)
        level(old, fresh, n_old, scratch);
    j->old_median = median_of(scratch, old, n_old);
    j->new_median = median_of(scratch, fresh, n_new);
    j->ratio = j->new_median / j->old_median;
    limit = limit_ratio(b, j->old_median, floor);
    j->noise = noise_of(j->resolution, old, n_old, j->in_turn, scratch);
    j->noise = noise_of(j->noise, fresh, n_new, j->in_turn, scratch);
    if ((rc = beyond(&j->p, old, n_old, fresh, n_new, limit, is_upper(b->op), scratch, err)) < 0 ||
        (rc = plumb_bootstrap_ratio_tails(&interval, old, n_old, fresh, n_new, PLUMB_BOOTSTRAP_SEED,
                                          error_level, err)) < 0)
        return rc;
    if (!interval.known) {
        j->why = "times of 0 have no ratio";
        return PLUMB_OK;
    }
    j->low = interval.low;
    j->high = interval.high;
    if (limit > 0)
        answer(j, b->op, limit);
    else /* a value cannot fall below 0 */
        j->answer = is_upper(b->op) ? PLUMB_GATE_FAILS : PLUMB_GATE_MEETS;
    return PLUMB_OK;
}

static bool usable(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]) || !(v[i] > 0))
            return false;
    return true;
}

/* Of the ratio: both sides' errors add up. */
static double resolution_of(const struct plumb_gate_times *old,
                            const struct plumb_gate_times *fresh, bool fixed)
{
    return fresh->resolution + (fixed ? 0 : old->resolution);
}

static struct plumb_gate_judgement unknown(const struct plumb_gate_times *old,
                                           const struct plumb_gate_times *fresh, bool fixed)
{
    return (struct plumb_gate_judgement){.answer = PLUMB_GATE_CANNOT_TELL,
                                         .old_median = NAN,
                                         .new_median = NAN,
                                         .ratio = NAN,
                                         .low = NAN,
                                         .high = NAN,
                                         .p = NAN,
                                         .resolution = resolution_of(old, fresh, fixed),
                                         .old_count = fixed ? 0 : old->count,
                                         .new_count = fresh->count};
}

/* Too few for an interval. */
static void show_medians(struct plumb_gate_judgement *j, double *old, double *fresh)
{
    plumb_sample_sort(old, j->old_count);
    plumb_sample_sort(fresh, j->new_count);
    j->old_median = plumb_sample_median(old, j->old_count);
    j->new_median = plumb_sample_median(fresh, j->new_count);
    j->ratio = j->new_median / j->old_median;
    j->why = "fewer than 6 samples on a side cannot tell a change from noise";
}

int plumb_gate_judge(struct plumb_gate_judgement *out, const struct plumb_gate_times *old,
                     const struct plumb_gate_times *fresh, bool in_turn,
                     const struct plumb_gate_bound *bound, double floor, plumb_error *err)
{
    bool fixed = !(bound->of_old > 0);
    struct plumb_gate_judgement j = unknown(old, fresh, fixed);
    size_t n_old = j.old_count, n_new = j.new_count;
    double *memory = calloc(5 * (n_old + n_new) + 1, sizeof *memory);
    int rc = PLUMB_OK;
    j.in_turn = in_turn && n_old == n_new;
    if (!memory)
        return no_memory(err);
    if (n_old > 0)
        memcpy(memory, old->ns, n_old * sizeof *memory);
    if (n_new > 0)
        memcpy(memory + n_old, fresh->ns, n_new * sizeof *memory);
    if (n_new == 0 || (!fixed && n_old == 0))
        j.why = "there are no samples";
    else if (!usable(memory, n_old + n_new))
        j.why = "a sample is not a number above 0";
    else if (fixed)
        rc = judge_fixed(&j, memory, bound, err);
    else if (n_old >= PLUMB_GATE_LEAST && n_new >= PLUMB_GATE_LEAST)
        rc = judge_change(&j, memory, bound, floor, err);
    else
        show_medians(&j, memory, memory + n_old);
    free(memory);
    if (rc == PLUMB_OK)
        *out = j;
    return rc;
}

static bool figure_meets(double value, const struct plumb_gate_bound *b)
{
    switch (b->op) {
    case PLUMB_GATE_AT_MOST:
        return value <= b->add;
    case PLUMB_GATE_BELOW:
        return value < b->add;
    case PLUMB_GATE_AT_LEAST:
        return value >= b->add;
    default:
        return value > b->add;
    }
}

int plumb_gate_judge_figures(struct plumb_gate_judgement *out, const struct plumb_gate_times *fresh,
                             const struct plumb_gate_bound *bound, plumb_error *err)
{
    const struct plumb_gate_times none = {NULL, 0, 0};
    struct plumb_gate_judgement j = unknown(&none, fresh, true);
    size_t met = 0, n = fresh->count;
    if (n == 0 || (usable(fresh->ns, n) && bound->add > 0))
        return plumb_gate_judge(out, &none, fresh, false, bound, 0, err);
    double *scratch = calloc(n, sizeof *scratch);
    if (!scratch)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        met += figure_meets(fresh->ns[i], bound);
        j.why = isfinite(fresh->ns[i]) ? j.why : "a sample is not a number";
    }
    if (!j.why) {
        j.new_median = median_of(scratch, fresh->ns, n);
        j.answer = met == n ? PLUMB_GATE_MEETS : met == 0 ? PLUMB_GATE_FAILS : j.answer;
        j.why = met > 0 && met < n ? "the figures lie on both sides of the limit" : NULL;
    }
    free(scratch);
    *out = j;
    return PLUMB_OK;
}

int plumb_gate_judge_baseline(struct plumb_gate_judgement *out,
                              const struct plumb_gate_times *records,
                              const struct plumb_gate_times *fresh,
                              const struct plumb_gate_bound *bound, double floor, plumb_error *err)
{
    struct plumb_gate_judgement j = unknown(records, fresh, false);
    double *scratch = calloc(records->count + fresh->count + 1, sizeof *scratch);
    double limit, beyond;
    if (!scratch)
        return no_memory(err);
    if (records->count == 0 || fresh->count == 0) {
        j.why = "there are no samples";
        goto out;
    }
    if (!usable(records->ns, records->count) || !usable(fresh->ns, fresh->count)) {
        j.why = "a sample is not a number above 0";
        goto out;
    }
    j.old_median = median_of(scratch, records->ns, records->count);
    j.new_median = median_of(scratch, fresh->ns, fresh->count);
    j.ratio = j.new_median / j.old_median;
    j.noise = j.resolution;
    for (size_t i = 0; i < records->count; i++)
        j.noise = fmax(j.noise, fabs(records->ns[i] / j.old_median - 1));
    limit = limit_ratio(bound, j.old_median, floor);
    beyond = is_upper(bound->op) ? j.ratio - limit : limit - j.ratio;
    if (beyond < 0 ||
        (beyond == 0 && bound->op != PLUMB_GATE_BELOW && bound->op != PLUMB_GATE_ABOVE))
        j.answer = PLUMB_GATE_MEETS;
    else if (fabs(j.ratio - 1) > j.noise)
        j.answer = PLUMB_GATE_FAILS;
    else
        j.why = "the records of the baseline lie as far apart";
out:
    free(scratch);
    *out = j;
    return PLUMB_OK;
}
