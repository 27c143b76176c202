/* judge.h: a new result against the records of its cohort: the baseline, the change of each metric,
 * and the one status that the comparison ends in. Pure; any thread. */
#ifndef PLUMB_ANALYZE_HISTORY_JUDGE_H
#define PLUMB_ANALYZE_HISTORY_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "read/history/result.h"

/* Returns the first key that is NULL or empty, as "recipe"; NULL: all are known. */
const char *plumb_cohort_missing(const plumb_cohort *c);

/* The baseline of `metric` over the `n` newest eligible records of the cohort, the oldest first. At
 * most the last PLUMB_BASELINE_RECORDS count. Fills every field but `size`; `state` is FOUND with a
 * record and NEW_COHORT without. `place` is where the metric mostly stands in a record. */
void plumb_baseline_of(plumb_baseline *out, const struct plumb_result_item *records, size_t n,
                       const char *metric, size_t place);

/* A metric against its baseline. Positive is worse. */
struct plumb_metric_delta {
    double absolute; /* in the unit of the metric */
    double relative; /* part of the baseline */
    bool exceeded;   /* beyond both floors */
    bool regressed;  /* exceeded, and the metric is gated */
};
/* Returns false, and `out` is zero: there is nothing to compare, because the baseline or the value
 * is not known, or the baseline is not above 0. A count that was 0 is compared: from 0, any growth
 * of it is beyond its floors. */
bool plumb_metric_compare(struct plumb_metric_delta *out, const plumb_metric *m, double baseline);

/* The facts by which a result is judged. */
struct plumb_judge_input {
    const struct plumb_result_item *item;
    const struct plumb_result_item *records; /* [count] eligible ones of its cohort, oldest first */
    size_t count;
    bool other_recipe; /* trusted records equal it in workload, variant and version alone */
    bool failed;       /* the program that measures ended with an error */
    bool breach_known; /* some result of the same session is above a static limit */
};
/* Returns the status (enum plumb_history_status), and sets `*baseline` (enum plumb_baseline_state).
 * Appends to `reason` why, for every status but PASS. The first that holds decides: a key is
 * missing, another recipe, a static limit, a failed session, no baseline, a regression. */
uint32_t plumb_judge(const struct plumb_judge_input *in, uint32_t *baseline,
                     struct plumb_buf *reason);

/* Returns the exit code of a status: 0, 1, 2 or 3. */
int plumb_history_exit(uint32_t status);
/* Returns the worse of two exit codes: 2, then 1, then 3, then 0. */
int plumb_history_worse_exit(int a, int b);
/* "PASS", "REGRESSION", ... */
const char *plumb_history_status_name(uint32_t status);
/* "compared", "initialized_new_cohort", "recipe_mismatch", ... */
const char *plumb_baseline_state_name(uint32_t state);

#endif
