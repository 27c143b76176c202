/* series.h: records of a history by cohort and metric: the points of one line of a plot, and its
 * levels. */
#ifndef PLUMB_REPORT_HISTORY_SERIES_H
#define PLUMB_REPORT_HISTORY_SERIES_H

#include "analyze/history/steps.h"
#include "base/arena.h"
#include "read/history/result.h"

struct plumb_series {
    const plumb_cohort *cohort;
    const plumb_metric *metric;   /* of its first record */
    const plumb_result **records; /* [count], the oldest first */
    double *values;               /* [count], none is NaN */
    size_t count, cap;
    struct plumb_level *levels; /* [level_count] */
    size_t level_count;
};

struct plumb_series_list {
    struct plumb_arena arena;
    struct plumb_series *series; /* in the order of their first records */
    size_t count, cap;
};

/* Collects the series of the records, which must live as long as `out`. `metric` NULL: every gated
 * one. PLUMB_ERR_MEMORY. */
int plumb_series_collect(struct plumb_series_list *out, const struct plumb_result_item *items,
                         size_t n, const char *metric, plumb_error *err);
void plumb_series_fini(struct plumb_series_list *list);
/* The change at the begin of level `i` (1 or more) as a part of the level before; positive:
 * worse. */
double plumb_series_step(const struct plumb_series *s, size_t i);

#endif
