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

/* Sets `*out`: trusted records equal the cohort in workload, variant and version, and have another
 * recipe. */
int plumb_history_other_recipe(bool *out, struct plumb_store *store, const plumb_cohort *cohort,
                               uint64_t until_ns, plumb_error *err);

#endif
