/* Tests of spread.c: percentiles as numpy.quantile() has them, the ranks of the binomial
 * distribution, and what a deadline leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "isolate/spread.h"

static void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted)))
        fail_msg("%.17g, not %.17g", found, wanted);
}

/* Fills the figures of `n` runs of so many microseconds. */
static plumb_bench_result filled(const uint32_t *us, uint32_t n, double deadline_ms)
{
    plumb_bench_result r = {.size = sizeof r, .runs = n, .deadline_ms = deadline_ms};
    plumb_error err;
    r.run_ns = calloc(n, sizeof *r.run_ns);
    assert_non_null(r.run_ns);
    for (uint32_t i = 0; i < n; i++)
        r.run_ns[i] = (uint64_t)us[i] * 1000;
    assert_int_equal(plumb_spread_fill(&r, &err), PLUMB_OK);
    free(r.run_ns);
    r.run_ns = NULL;
    return r;
}

static void percentiles_are_those_of_numpy(void **state)
{
    static const uint32_t few[] = {12500, 3250, 7000, 44000, 1500, 9750, 20000};
    uint32_t many[1000];
    plumb_bench_result r = filled(few, 7, 0);
    (void)state;
    assert_near(r.p25_ms, 5.125);
    assert_near(r.median_ms, 9.75);
    assert_near(r.p75_ms, 16.25);
    assert_near(r.p95_ms, 36.8);
    assert_near(r.p99_ms, 42.56);
    assert_near(r.p999_ms, 43.856);
    assert_near(r.mean_ms, 14.0);
    assert_near(r.std_ms, 14.589522496184262);
    assert_near(r.min_ms, 1.5);
    assert_near(r.max_ms, 44.0);
    assert_near(r.noise, (16.25 - 5.125) / 9.75);

    for (uint32_t i = 0; i < 1000; i++)
        many[i] = i * 7919 % 1009 * 125;
    r = filled(many, 1000, 0);
    assert_near(r.p25_ms, 31.59375);
    assert_near(r.median_ms, 63.1875);
    assert_near(r.p75_ms, 94.53125);
    assert_near(r.p95_ms, 119.75625);
    assert_near(r.p99_ms, 124.75125);
    assert_near(r.p999_ms, 125.875125);
    assert_near(r.mean_ms, 63.08475);
    assert_near(r.std_ms, 36.43810749909517);
}

static void one_run_has_no_spread(void **state)
{
    static const uint32_t one[] = {2000};
    plumb_bench_result r = filled(one, 1, 0);
    (void)state;
    assert_near(r.median_ms, 2);
    assert_near(r.p999_ms, 2);
    assert_true(isnan(r.std_ms) && isnan(r.noise) && isnan(r.drift));
    assert_true(isnan(r.low_ms) && isnan(r.high_ms));
}

/* The lower rank is the largest r with P(X < r) <= 0.025, X binomial with p = 1/2. */
static void the_interval_of_the_median_has_the_binomial_ranks(void **state)
{
    static const struct {
        uint32_t n, low, high;
    } ranks[] = {{6, 1, 6},   {8, 1, 8},     {9, 2, 8},         {10, 2, 9},        {20, 6, 15},
                 {25, 8, 18}, {100, 40, 61}, {2000, 956, 1045}, {3000, 1446, 1555}};
    double sorted[3000], low, high;
    (void)state;
    for (size_t i = 0; i < 3000; i++)
        sorted[i] = (double)i + 1;
    for (size_t n = 1; n < 6; n++) {
        plumb_spread_interval(&low, &high, sorted, n);
        assert_true(isnan(low) && isnan(high));
    }
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        plumb_spread_interval(&low, &high, sorted, ranks[i].n);
        assert_near(low, ranks[i].low);
        assert_near(high, ranks[i].high);
    }
}

static void drift_compares_the_thirds_in_the_order_of_time(void **state)
{
    static const uint32_t slower[] = {100, 110, 120, 500, 10, 300, 200, 210, 220};
    static const uint32_t five[] = {1, 2, 3, 4, 5};
    plumb_bench_result r = filled(slower, 9, 0);
    (void)state;
    assert_near(r.drift, 210.0 / 110.0);
    r = filled(five, 5, 0);
    assert_true(isnan(r.drift));
}

/* A run that takes exactly as long as the deadline is in time. */
static void a_deadline_counts_overruns_and_what_is_left(void **state)
{
    static const uint32_t in_time[] = {4000, 5000, 8000, 10000};
    static const uint32_t late[] = {4000, 10001, 8000, 12500};
    plumb_bench_result r = filled(in_time, 4, 10);
    (void)state;
    assert_int_equal(r.overruns, 0);
    assert_near(r.budget_max, 0.0);
    assert_near(r.budget_p99, 1 - r.p99_ms / 10);
    assert_true(r.budget_p99 > 0);
    r = filled(late, 4, 10);
    assert_int_equal(r.overruns, 2);
    assert_near(r.budget_max, -0.25);
    assert_true(r.budget_p99 < 0);
    r = filled(late, 4, 0);
    assert_int_equal(r.overruns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_numpy),
        cmocka_unit_test(one_run_has_no_spread),
        cmocka_unit_test(the_interval_of_the_median_has_the_binomial_ranks),
        cmocka_unit_test(drift_compares_the_thirds_in_the_order_of_time),
        cmocka_unit_test(a_deadline_counts_overruns_and_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
