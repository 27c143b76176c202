/* judge.h: whether times meet a limit, or whether that cannot be told. No state; any thread.
 *
 * Compared are medians. The ratio of new to old has a bootstrap interval, and a noise floor: how
 * far the medians of two halves of the *same* samples lie apart. A regression needs all of this:
 *   - the interval lies beyond the limit (1 % of error on that side),
 *   - the ratio lies beyond the limit by more than the noise floor,
 *   - Mann-Whitney's U test of the old samples, times the limit, against the new ones has p <= 0.01
 *     in that direction.
 * A pass needs the interval, and the ratio with the noise floor, within the limit. Everything else
 * is "cannot tell", also samples too few for any answer. So code that did not change fails a rule
 * far less often than once in a hundred times, and code just at the limit at most that often.
 *
 * Samples that were measured in turn (old, new, new, old, ...) are prepared twice. From 18 rounds
 * on the shortest of three rounds counts, of each side: interruptions only ever add time, and on a
 * machine where a third of the runs is interrupted, the median lies where it hardly holds still.
 * Then they are divided by the level of the rounds around them: a machine that becomes slower
 * during the measurement slows both sides. Without turns drift cannot be told from a change, and
 * the range of the medians of three to six parts of a side counts as noise.
 *
 * Times that are known to some resolution only have a noise floor of that size at least: medians of
 * two histograms that lie in neighbouring buckets differ by 1.6 %, or by next to nothing. */
#ifndef PLUMB_ANALYZE_GATE_JUDGE_H
#define PLUMB_ANALYZE_GATE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/gate/rules.h"
#include <plumb/error.h>

/* Times in ns, finite and above 0. */
struct plumb_gate_times {
    const double *ns; /* [count] */
    size_t count;
    double resolution; /* relative error of each, as of a quantile of a histogram; 0: exact */
};

enum plumb_gate_answer { PLUMB_GATE_MEETS, PLUMB_GATE_FAILS, PLUMB_GATE_CANNOT_TELL };

struct plumb_gate_judgement {
    enum plumb_gate_answer answer;
    double old_median, new_median; /* ns; after division by the level, times the overall one */
    double ratio, low, high;       /* of new to old, or to the fixed limit; 98 % interval */
    double noise;                  /* relative; `resolution` at least */
    double resolution;             /* of the ratio, relative */
    double p;                      /* of U, one-sided; NaN: not tested */
    size_t old_count, new_count;   /* as they were handed in */
    size_t used; /* of each side, after the shortest of three were taken; 0: all */
    bool in_turn;
    const char *why; /* of CANNOT_TELL; a string constant */
};

enum { PLUMB_GATE_LEAST = 6 }; /* samples a side, for an interval */

/* Judges `fresh` against the bound: with its of_old, against `old`. `floor` is an absolute
 * difference in ns below which nothing is worse. Equal input gives equal output on every machine.
 * Costs 2000 times the number of samples. PLUMB_ERR_MEMORY. */
int plumb_gate_judge(struct plumb_gate_judgement *out, const struct plumb_gate_times *old,
                     const struct plumb_gate_times *fresh, bool in_turn,
                     const struct plumb_gate_bound *bound, double floor, plumb_error *err);

/* The same of figures against a fixed limit. A figure may be 0 or below, as a number of errors is,
 * and so may the limit. Such values have no ratio: every figure must lie on one side of the
 * limit. */
int plumb_gate_judge_figures(struct plumb_gate_judgement *out, const struct plumb_gate_times *fresh,
                             const struct plumb_gate_bound *bound, plumb_error *err);

/* The same against the median of a baseline, whose few records were measured on different days: no
 * test has any power there. The median fails if it is beyond the limit, and further from the
 * baseline than the record that lies furthest; between the two it cannot tell. */
int plumb_gate_judge_baseline(struct plumb_gate_judgement *out,
                              const struct plumb_gate_times *records,
                              const struct plumb_gate_times *fresh,
                              const struct plumb_gate_bound *bound, double floor, plumb_error *err);

#endif
