/* Tests of the series of a plot: one for each cohort and metric. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hash_alike.h"
#include "report/history/series.h"

enum { RESULTS = 6 };

static void collect(struct plumb_series_list *out, struct plumb_result_item *items,
                    const plumb_cohort *cohorts, plumb_metric *metrics)
{
    plumb_error err;
    for (size_t i = 0; i < RESULTS; i++) {
        metrics[i] = (plumb_metric){.name = "time", .unit = "s", .value = 1.0 + (double)i};
        metrics[i].gated = 1;
        items[i] = (struct plumb_result_item){.digest = NULL};
        items[i].r.cohort = cohorts[i % 2];
        items[i].r.metrics = &metrics[i];
        items[i].r.metric_count = 1;
    }
    assert_int_equal(plumb_series_collect(out, items, RESULTS, NULL, &err), PLUMB_OK);
}

static void each_cohort_is_a_series_also_where_names_have_one_hash(void **state)
{
    static const plumb_cohort plain[] = {{.workload = "a", .variant = "bc"},
                                         {.workload = "ab", .variant = "c"}};
    static const plumb_cohort alike[] = {{.workload = "w", .variant = ALIKE_A},
                                         {.workload = "w", .variant = ALIKE_B}};
    struct plumb_result_item items[RESULTS];
    plumb_metric metrics[RESULTS];
    struct plumb_series_list list;
    (void)state;
    for (int i = 0; i < 2; i++) {
        collect(&list, items, i ? alike : plain, metrics);
        assert_int_equal(list.count, 2);
        assert_int_equal(list.series[0].count, 3);
        assert_int_equal(list.series[1].count, 3);
        assert_true(list.series[1].values[2] == 6.0);
        plumb_series_fini(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cohort_is_a_series_also_where_names_have_one_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
