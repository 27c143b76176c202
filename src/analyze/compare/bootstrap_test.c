/* Tests of the bootstrap interval: the same numbers everywhere, no ratio where there is none, and
 * the true ratio inside as often as promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "analyze/compare/bootstrap.h"

static struct plumb_interval interval(const double *a, size_t na, const double *b, size_t nb,
                                      uint64_t seed)
{
    struct plumb_interval out;
    plumb_error err = {0, ""};
    if (plumb_bootstrap_ratio(&out, a, na, b, nb, seed, &err) < 0)
        fail_msg("%s", err.message);
    return out;
}

static void equal_input_gives_equal_output(void **state)
{
    static const double a[] = {100, 101, 99, 103, 98, 100.5}, b[] = {110, 108, 113, 109, 111};
    struct plumb_interval x = interval(a, 6, b, 5, PLUMB_BOOTSTRAP_SEED);
    struct plumb_interval y = interval(a, 6, b, 5, PLUMB_BOOTSTRAP_SEED);
    (void)state;
    assert_true(x.known);
    assert_float_equal(x.low, y.low, 0);
    assert_float_equal(x.high, y.high, 0);
    /* Of these samples, from this seed, on every machine. */
    assert_float_equal(x.low, 1.0712530712530712, 1e-12);
    assert_float_equal(x.high, 1.13, 1e-12);
}

static void the_order_of_the_runs_does_not_matter(void **state)
{
    static const double a[] = {3, 1, 2, 5, 4}, sorted[] = {1, 2, 3, 4, 5}, b[] = {7, 6, 8};
    struct plumb_interval x = interval(a, 5, b, 3, 9);
    struct plumb_interval y = interval(sorted, 5, b, 3, 9);
    (void)state;
    assert_float_equal(x.low, y.low, 0);
    assert_float_equal(x.high, y.high, 0);
}

static void equal_values_give_a_point(void **state)
{
    static const double a[] = {4, 4, 4}, b[] = {6, 6, 6, 6};
    struct plumb_interval x = interval(a, 3, b, 4, 1);
    (void)state;
    assert_true(x.known);
    assert_float_equal(x.low, 1.5, 0);
    assert_float_equal(x.high, 1.5, 0);
}

static void without_a_base_there_is_no_ratio(void **state)
{
    static const double zero[] = {0, 0, 5}, some[] = {1, 2, 3}, tiny[] = {5e-324, 5e-324};
    (void)state;
    assert_false(interval(zero, 3, some, 3, 1).known);
    assert_false(interval(some, 0, some, 3, 1).known);
    assert_false(interval(some, 3, some, 0, 1).known);
    assert_false(interval(tiny, 2, some, 3, 1).known);
    assert_true(interval(some, 3, zero, 3, 1).known);
}

/* Numbers for the samples, of another kind than those of the bootstrap. */
static double uniform(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*x >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *x)
{
    double u = uniform(x);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * uniform(x));
}

/* 400 experiments of 25 runs a side, 10 % noise, B 1.2 times A. The percentile interval of a median
 * covers a little other than 95 %; 91 to 99 % is four deviations of the count either way. */
static void the_true_ratio_is_inside_about_95_times_in_100(void **state)
{
    enum { TRIALS = 400, RUNS = 25 };
    uint64_t x = 42;
    int inside = 0;
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        double a[RUNS], b[RUNS];
        for (int k = 0; k < RUNS; k++) {
            a[k] = 100 + 10 * normal(&x);
            b[k] = 120 + 12 * normal(&x);
        }
        struct plumb_interval r = interval(a, RUNS, b, RUNS, PLUMB_BOOTSTRAP_SEED);
        inside += r.low <= 1.2 && 1.2 <= r.high;
    }
    assert_in_range(inside, TRIALS * 91 / 100, TRIALS * 99 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_input_gives_equal_output),
        cmocka_unit_test(the_order_of_the_runs_does_not_matter),
        cmocka_unit_test(equal_values_give_a_point),
        cmocka_unit_test(without_a_base_there_is_no_ratio),
        cmocka_unit_test(the_true_ratio_is_inside_about_95_times_in_100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
