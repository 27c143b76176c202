/* Tests of baselines, floors and statuses: each status, and each pair of which the first
 * decides. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/history/judge.h"
#include "read/history/metric_kinds.h"

struct world {
    struct plumb_result_list list;
    struct plumb_result_item current;
    plumb_metric metric;
};

static struct plumb_result_item *record(struct world *w, double latency)
{
    struct plumb_result_item *item = plumb_result_add(&w->list);
    assert_non_null(plumb_result_metric(&w->list, item, "latency", "s", latency));
    return item;
}

/* `n` records of 10 s, and a current result of `latency`. */
static void begin(struct world *w, size_t n, double latency)
{
    memset(w, 0, sizeof *w);
    plumb_result_list_init(&w->list);
    for (size_t i = 0; i < n; i++)
        record(w, 10);
    w->metric = (plumb_metric){.name = "latency", .unit = "s", .value = latency};
    plumb_metric_default(&w->metric);
    w->current.keyed = true;
    w->current.r.cohort = (plumb_cohort){"w", "v", "0", "r", "hw", "sw"};
    w->current.r.metrics = &w->metric;
    w->current.r.metric_count = 1;
}

static uint32_t judged(struct world *w, struct plumb_judge_input in, uint32_t *baseline)
{
    struct plumb_buf reason = {0};
    in.item = &w->current;
    in.records = w->list.items;
    in.count = w->list.count;
    uint32_t status = plumb_judge(&in, baseline, &reason);
    assert_true((status == PLUMB_HISTORY_PASS) == (reason.len == 0));
    plumb_buf_fini(&reason);
    plumb_result_list_fini(&w->list);
    return status;
}

static void expect(struct world *w, struct plumb_judge_input in, uint32_t status, uint32_t state)
{
    uint32_t baseline = 99;
    assert_int_equal(judged(w, in, &baseline), status);
    assert_int_equal(baseline, state);
}

static void the_floors_are_those_of_the_table(void **state)
{
    static const struct {
        const char *name;
        uint32_t higher;
        double relative, absolute;
        int decimals;
    } rows[] = {{"latency", 0, 0.08, 0.5, 3},     {"throughput", 1, 0.08, 0.05, 3},
                {"memory", 0, 0.05, 256, 1},      {"text_encoder_time_s", 0, 0.05, 0.25, 3},
                {"dit_time_s", 0, 0.05, 0.25, 3}, {"vae_decode_time_s", 0, 0.05, 0.25, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plumb_metric m = {.name = rows[i].name, .unit = "s"};
        plumb_metric_default(&m);
        assert_int_equal(m.higher_is_better, rows[i].higher);
        assert_float_equal(m.floor_relative, rows[i].relative, 0);
        assert_float_equal(m.floor_absolute, rows[i].absolute, 0);
        assert_int_equal(m.gated, 1);
        assert_int_equal(plumb_metric_decimals(m.name), rows[i].decimals);
    }
}

static void overridden(plumb_metric *m, const char *json)
{
    struct plumb_json_tree tree;
    *m = (plumb_metric){.name = "latency", .unit = "s"};
    plumb_metric_default(m);
    assert_int_equal(plumb_json_tree_read(&tree, json, strlen(json), 0, "test", NULL), PLUMB_OK);
    plumb_metric_override(m, tree.root);
    plumb_json_tree_fini(&tree);
}

static void overrides_are_taken_field_by_field_and_junk_is_left_out(void **state)
{
    plumb_metric m;
    (void)state;
    overridden(&m, "{\"threshold_percent\": 0.2, \"gated\": \"No\"}");
    assert_float_equal(m.floor_relative, 0.2, 0);
    assert_float_equal(m.floor_absolute, 0.5, 0);
    assert_int_equal(m.gated, 0);
    overridden(&m, "{\"threshold_absolute\": \"0.75\", \"gated\": \"maybe\"}");
    assert_float_equal(m.floor_relative, 0.08, 0);
    assert_float_equal(m.floor_absolute, 0.75, 0);
    assert_int_equal(m.gated, 1);
    overridden(&m, "{\"threshold_percent\": true, \"threshold_absolute\": false, \"gated\": 0}");
    assert_float_equal(m.floor_relative, 0.08, 0);
    assert_float_equal(m.floor_absolute, 0.5, 0);
    assert_int_equal(m.gated, 1);
    overridden(&m, "[\"not\", \"an\", \"object\"]");
    assert_float_equal(m.floor_relative, 0.08, 0);
}

static bool worse(const char *name, double value, double baseline, double relative, double absolute)
{
    plumb_metric m = {.name = name, .unit = "s", .value = value};
    struct plumb_metric_delta d;
    plumb_metric_default(&m);
    m.floor_relative = relative;
    m.floor_absolute = absolute;
    return plumb_metric_compare(&d, &m, baseline) && d.regressed;
}

static void a_change_counts_beyond_both_floors_alone(void **state)
{
    (void)state;
    assert_false(worse("latency", 10.6, 10, 0.05, 0.75));
    assert_false(worse("latency", 10.6, 10, 0.10, 0.5));
    assert_true(worse("latency", 10.6, 10, 0.05, 0.5));
    assert_false(worse("latency", 9.4, 10, 0.05, 0.5));
    assert_true(worse("throughput", 9, 10, 0.05, 0.5));
    assert_false(worse("throughput", 11, 10, 0.05, 0.5));
    assert_true(worse("memory", 10600, 10000, 0.05, 256));
    assert_false(worse("latency", 12, 10, 0.2, 0.5)); /* the floors themselves are not beyond */
    assert_false(worse("latency", 12, 10, 0.1, 2));
    assert_false(worse("latency", 12, 0, 0.1, 0));
    assert_false(worse("latency", 12, NAN, 0.1, 0));
    assert_false(worse("latency", NAN, 10, 0.1, 0));
}

static void a_count_that_was_zero_may_not_grow(void **state)
{
    plumb_metric m = {.name = "copies", .unit = "count", .value = 1};
    struct plumb_metric_delta d;
    (void)state;
    plumb_metric_default(&m);
    assert_true(plumb_metric_compare(&d, &m, 0));
    assert_true(d.regressed);
    m.value = 0;
    assert_true(plumb_metric_compare(&d, &m, 0));
    assert_false(d.regressed);
}

static void a_metric_that_is_not_gated_shows_and_passes(void **state)
{
    plumb_metric m = {.name = "latency", .unit = "s", .value = 20};
    struct plumb_metric_delta d;
    (void)state;
    plumb_metric_default(&m);
    m.gated = 0;
    assert_true(plumb_metric_compare(&d, &m, 10));
    assert_true(d.exceeded);
    assert_false(d.regressed);
}

static double baseline_of(const double *values, size_t n, uint32_t *count)
{
    struct world w;
    plumb_baseline b = {.size = sizeof b};
    begin(&w, 0, 10);
    for (size_t i = 0; i < n; i++)
        record(&w, values[i]);
    plumb_baseline_of(&b, w.list.items, w.list.count, "latency", 0);
    plumb_result_list_fini(&w.list);
    *count = b.count;
    return b.median;
}

static void the_baseline_is_the_median_of_the_last_five(void **state)
{
    static const double seven[] = {100, 100, 5, 1, 4, 2, 3};
    static const double four[] = {1, 4, 2, 3};
    static const double holes[] = {NAN, 7, NAN, 9, NAN};
    uint32_t count;
    (void)state;
    assert_float_equal(baseline_of(seven, 7, &count), 3, 0);
    assert_int_equal(count, 5);
    assert_float_equal(baseline_of(four, 4, &count), 2.5, 0);
    assert_float_equal(baseline_of(holes, 5, &count), 8, 0);
    assert_int_equal(count, 2);
    assert_true(isnan(baseline_of(four, 0, &count)));
    assert_int_equal(count, 0);
}

static void every_status_comes_out(void **state)
{
    struct plumb_judge_input none = {0}, mismatch = {.other_recipe = true},
                             failed = {.failed = true};
    struct world w;
    (void)state;
    begin(&w, 3, 10);
    expect(&w, none, PLUMB_HISTORY_PASS, PLUMB_BASELINE_FOUND);
    begin(&w, 3, 11);
    expect(&w, none, PLUMB_HISTORY_REGRESSION, PLUMB_BASELINE_FOUND);
    begin(&w, 0, 10);
    expect(&w, none, PLUMB_HISTORY_CALIBRATION_NEEDED, PLUMB_BASELINE_NEW_COHORT);
    begin(&w, 0, 10);
    expect(&w, mismatch, PLUMB_HISTORY_RECIPE_MISMATCH, PLUMB_BASELINE_RECIPE_MISMATCH);
    begin(&w, 3, 10);
    expect(&w, failed, PLUMB_HISTORY_INFRA_ERROR, PLUMB_BASELINE_FOUND);
    begin(&w, 3, 10);
    w.current.r.cohort.software = NULL;
    expect(&w, none, PLUMB_HISTORY_INFRA_ERROR, PLUMB_BASELINE_INVALID_IDENTITY);
    begin(&w, 0, 10);
    w.current.r.cohort = (plumb_cohort){.workload = "w"};
    w.current.keyed = false;
    expect(&w, none, PLUMB_HISTORY_PASS, PLUMB_BASELINE_MISSING_IDENTITY);
    begin(&w, 3, NAN);
    expect(&w, none, PLUMB_HISTORY_CALIBRATION_NEEDED, PLUMB_BASELINE_FOUND);
}

static void the_first_that_holds_decides(void **state)
{
    struct plumb_judge_input mismatch = {.other_recipe = true}, none = {0};
    struct plumb_judge_input failed = {.failed = true};
    struct plumb_judge_input both = {.failed = true, .other_recipe = true};
    struct plumb_judge_input explained = {.failed = true, .breach_known = true};
    struct world w;
    (void)state;
    begin(&w, 0, 10); /* a missing key before another recipe */
    w.current.r.cohort.recipe = "";
    expect(&w, mismatch, PLUMB_HISTORY_INFRA_ERROR, PLUMB_BASELINE_INVALID_IDENTITY);
    begin(&w, 0, 10); /* another recipe before a static limit, and before a failed session */
    w.current.breached = true;
    expect(&w, both, PLUMB_HISTORY_RECIPE_MISMATCH, PLUMB_BASELINE_RECIPE_MISMATCH);
    begin(&w, 0, 10); /* a static limit before a failed session and before a missing baseline */
    w.current.breached = true;
    expect(&w, failed, PLUMB_HISTORY_REGRESSION, PLUMB_BASELINE_NEW_COHORT);
    begin(&w, 0, 10); /* a failed session before a missing baseline */
    expect(&w, failed, PLUMB_HISTORY_INFRA_ERROR, PLUMB_BASELINE_NEW_COHORT);
    begin(&w, 3, 20); /* and before a regression */
    expect(&w, failed, PLUMB_HISTORY_INFRA_ERROR, PLUMB_BASELINE_FOUND);
    begin(&w, 3, 10); /* a breach of another result explains why the session failed */
    expect(&w, explained, PLUMB_HISTORY_PASS, PLUMB_BASELINE_FOUND);
    begin(&w, 3, 10); /* with a baseline another recipe does not matter */
    expect(&w, mismatch, PLUMB_HISTORY_PASS, PLUMB_BASELINE_FOUND);
    begin(&w, 0, 20); /* without a baseline nothing is a regression */
    expect(&w, none, PLUMB_HISTORY_CALIBRATION_NEEDED, PLUMB_BASELINE_NEW_COHORT);
}

static void exit_codes_follow_the_statuses(void **state)
{
    static const int codes[] = {0, 1, 2, 3, 3, 3, 0};
    static const int worst[] = {0, 3, 1, 2};
    (void)state;
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(plumb_history_exit(i), codes[i]);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            assert_int_equal(plumb_history_worse_exit(worst[a], worst[b]), worst[a > b ? a : b]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_floors_are_those_of_the_table),
        cmocka_unit_test(overrides_are_taken_field_by_field_and_junk_is_left_out),
        cmocka_unit_test(a_change_counts_beyond_both_floors_alone),
        cmocka_unit_test(a_count_that_was_zero_may_not_grow),
        cmocka_unit_test(a_metric_that_is_not_gated_shows_and_passes),
        cmocka_unit_test(the_baseline_is_the_median_of_the_last_five),
        cmocka_unit_test(every_status_comes_out),
        cmocka_unit_test(the_first_that_holds_decides),
        cmocka_unit_test(exit_codes_follow_the_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
