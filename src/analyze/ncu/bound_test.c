/* Tests of bound.c: the thresholds, and no verdict without its metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analyze/ncu/bound.h"

static const char *verdict(double dram, double sm)
{
    struct plumb_ncu_kernel k = {.name = "k"};
    k.metric[PLUMB_NCU_DRAM] = dram;
    k.metric[PLUMB_NCU_SM] = sm;
    return plumb_ncu_bound_name(plumb_ncu_bound_of(&k));
}

static void a_verdict_needs_a_value_above_its_threshold(void **state)
{
    (void)state;
    assert_string_equal(verdict(81, 10), "memory_bound");
    assert_string_equal(verdict(81, 99), "memory_bound");
    assert_string_equal(verdict(10, 61), "compute_bound");
    assert_string_equal(verdict(10, 10), "latency_bound");
    assert_string_equal(verdict(80, 60), "latency_bound");
    assert_string_equal(verdict(80, 60.01), "compute_bound");
    assert_string_equal(verdict(80.01, 0), "memory_bound");
}

static void a_missing_metric_is_not_a_low_one(void **state)
{
    (void)state;
    assert_string_equal(verdict(NAN, NAN), "unknown");
    assert_string_equal(verdict(NAN, 99), "unknown"); /* the memory may be above 80 too */
    assert_string_equal(verdict(10, NAN), "unknown");
    assert_string_equal(verdict(81, NAN), "memory_bound");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_needs_a_value_above_its_threshold),
        cmocka_unit_test(a_missing_metric_is_not_a_low_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
