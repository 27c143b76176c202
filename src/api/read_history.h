/* read_history.h: what the files of the history's interface share. */
#ifndef PLUMB_API_READ_HISTORY_H
#define PLUMB_API_READ_HISTORY_H

#include "read/history/store.h"

struct plumb_results {
    struct plumb_result_list list;
    plumb_baseline **baselines; /* of each result, of each metric; NULL: not compared */
};

struct plumb_history {
    struct plumb_store *store;
};

/* The records that the baselines of one cohort are made of, all metrics at once. */
struct plumb_baseline_set {
    struct plumb_result_list records;
    uint32_t state; /* enum plumb_baseline_state */
};

/* Reads them; `until_ns` and the errors are those of plumb_history_baseline(). Ended with
 * plumb_result_list_fini(&set->records), also after an error. */
int plumb_baseline_set_read(struct plumb_baseline_set *out, struct plumb_store *store,
                            const plumb_cohort *cohort, uint64_t until_ns, plumb_error *err);
/* Fills `out` with the baseline of a metric, which mostly stands at `place`. */
void plumb_baseline_set_get(plumb_baseline *out, const struct plumb_baseline_set *set,
                            const char *metric, size_t place);

/* Sets `*out`: trusted records equal the cohort in workload, variant and version, and have another
 * recipe. */
int plumb_history_other_recipe(bool *out, struct plumb_store *store, const plumb_cohort *cohort,
                               uint64_t until_ns, plumb_error *err);

#endif
