/* Tests of counters.c: rates of planted counts, and what is said of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/roofline/counters.h"

static void plant(struct plumb_timing_counted *c, uint32_t id, uint64_t total)
{
    c->counter[id] = (struct plumb_timing_counter){total, c->runs, 0, 0, 0};
}

static struct plumb_timing_counted busy(void)
{
    struct plumb_timing_counted c = {.runs = 4};
    plant(&c, PLUMB_PERF_TASK_CLOCK, 900);
    plant(&c, PLUMB_PERF_PROCESS_CPU, 990);
    plant(&c, PLUMB_PERF_CYCLES, 1000);
    plant(&c, PLUMB_PERF_INSTRUCTIONS, 2500);
    plant(&c, PLUMB_PERF_CACHE_REFERENCES, 80);
    plant(&c, PLUMB_PERF_CACHE_MISSES, 4);
    plant(&c, PLUMB_PERF_BRANCHES, 300);
    plant(&c, PLUMB_PERF_BRANCH_MISSES, 3);
    return c;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void rates_are_ratios_of_totals(void **state)
{
    struct plumb_timing_counted c = busy();
    struct plumb_counter_rates r = plumb_counter_rates_of(&c, 1000);
    (void)state;
    assert_true(near(r.ipc, 2.5));
    assert_true(near(r.cache_miss, 0.05));
    assert_true(near(r.branch_miss, 0.01));
    assert_true(near(r.on_cpu, 0.9));
    assert_true(near(r.team, 1.1));
    assert_true(isnan(r.counted));
    assert_int_equal(plumb_counter_signs(&c, &r), 0);
    assert_true(near(plumb_counter_rates_of(&c, 800).on_cpu, 1));
    assert_true(isnan(plumb_counter_rates_of(&c, 0).on_cpu));
}

static void a_ratio_with_an_absent_counter_is_absent(void **state)
{
    struct plumb_timing_counted c = busy();
    (void)state;
    c.counter[PLUMB_PERF_CYCLES].runs = 0;
    c.counter[PLUMB_PERF_CACHE_REFERENCES].runs = 3; /* not in every run that the other was there */
    c.counter[PLUMB_PERF_BRANCHES].total = 0;
    struct plumb_counter_rates r = plumb_counter_rates_of(&c, 1000);
    assert_true(isnan(r.ipc));
    assert_true(isnan(r.cache_miss));
    assert_true(isnan(r.branch_miss));
    assert_int_equal(plumb_counter_signs(&c, &r), 0);
}

static void the_counter_that_counted_least_is_shown(void **state)
{
    struct plumb_timing_counted c = busy();
    (void)state;
    c.counter[PLUMB_PERF_CYCLES].enabled_ns = c.counter[PLUMB_PERF_CYCLES].running_ns = 100;
    c.counter[PLUMB_PERF_BRANCHES] = (struct plumb_timing_counter){300, 4, 2, 100, 80};
    c.counter[PLUMB_PERF_CACHE_MISSES] = (struct plumb_timing_counter){4, 4, 4, 100, 30};
    assert_true(near(plumb_counter_rates_of(&c, 0).counted, 0.3));
}

static void each_sign_has_its_counts(void **state)
{
    struct plumb_timing_counted c = busy();
    struct plumb_counter_rates r;
    (void)state;
    plant(&c, PLUMB_PERF_INSTRUCTIONS, 500);
    plant(&c, PLUMB_PERF_CACHE_MISSES, 40);
    r = plumb_counter_rates_of(&c, 1000);
    assert_int_equal(plumb_counter_signs(&c, &r), PLUMB_SIGN_MEMORY);
    plant(&c, PLUMB_PERF_CACHE_MISSES, 4);
    plant(&c, PLUMB_PERF_BRANCH_MISSES, 30);
    plant(&c, PLUMB_PERF_INVOLUNTARY, 3); /* of 4 runs */
    r = plumb_counter_rates_of(&c, 10000);
    assert_int_equal(plumb_counter_signs(&c, &r), PLUMB_SIGN_OFF_CPU | PLUMB_SIGN_BRANCHES);
    plant(&c, PLUMB_PERF_BRANCH_MISSES, 3);
    plant(&c, PLUMB_PERF_INVOLUNTARY, 4);
    plant(&c, PLUMB_PERF_MAJOR_FAULTS, 1);
    plant(&c, PLUMB_PERF_MINOR_FAULTS, 4000);
    plant(&c, PLUMB_PERF_PROCESS_CPU, 1800);
    r = plumb_counter_rates_of(&c, 1000);
    assert_int_equal(plumb_counter_signs(&c, &r),
                     PLUMB_SIGN_PREEMPTED | PLUMB_SIGN_DISK | PLUMB_SIGN_FAULTS | PLUMB_SIGN_TEAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_ratios_of_totals),
        cmocka_unit_test(a_ratio_with_an_absent_counter_is_absent),
        cmocka_unit_test(the_counter_that_counted_least_is_shown),
        cmocka_unit_test(each_sign_has_its_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
