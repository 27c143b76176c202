/* Tests of the steps of a series: planted ones are found where they are, noise has none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/history/steps.h"

enum { N = 60, ROUNDS = 300 };

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static size_t found(const double *values, size_t n, size_t *first)
{
    struct plumb_level *levels;
    size_t count;
    plumb_error err = {0, ""};
    if (plumb_levels_find(&levels, &count, values, n, &err) < 0)
        fail_msg("%s", err.message);
    *first = count > 1 ? levels[1].begin : 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(levels[i].begin < levels[i].end);
        assert_true(i == 0 || levels[i].begin == levels[i - 1].end);
    }
    assert_int_equal(count ? levels[count - 1].end : 0, n);
    free(levels);
    return count;
}

static void noise_has_no_steps(void **state)
{
    size_t wrong = 0, first;
    (void)state;
    seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double v[N];
        for (int i = 0; i < N; i++)
            v[i] = 100 * (1 + 0.02 * normal());
        wrong += found(v, N, &first) > 1;
    }
    print_message("%zu of %d series of noise have a step\n", wrong, ROUNDS);
    assert_true(wrong <= ROUNDS / 50);
}

static void a_step_is_found_where_it_is(void **state)
{
    size_t right = 0, first;
    (void)state;
    seed = 2;
    for (int round = 0; round < ROUNDS; round++) {
        double v[N];
        size_t at = 10 + (size_t)(uniform() * 40);
        for (size_t i = 0; i < N; i++)
            v[i] = (i < at ? 100 : 110) * (1 + 0.02 * normal());
        size_t levels = found(v, N, &first);
        right += levels == 2 && first + 2 >= at && first <= at + 2;
    }
    print_message("%zu of %d steps of +10 %% in noise of 2 %% found\n", right, ROUNDS);
    assert_true(right >= ROUNDS * 95 / 100);
}

static void two_steps_that_undo_each_other_are_two(void **state)
{
    double v[N];
    size_t first;
    (void)state;
    seed = 3;
    for (int i = 0; i < N; i++)
        v[i] = (i >= 25 && i < 33 ? 120 : 100) * (1 + 0.01 * normal());
    assert_int_equal(found(v, N, &first), 3);
    assert_int_equal(first, 25);
}

static void an_outlier_is_not_a_step(void **state)
{
    double v[N];
    size_t first;
    (void)state;
    seed = 4;
    for (int i = 0; i < N; i++)
        v[i] = (i == 30 ? 300 : 100) * (1 + 0.01 * normal());
    assert_int_equal(found(v, N, &first), 1);
}

static void exact_figures_have_exact_steps(void **state)
{
    double v[20];
    size_t first;
    (void)state;
    for (int i = 0; i < 20; i++)
        v[i] = i < 12 ? 728 : 736; /* bytes: +1.1 %, without any noise */
    assert_int_equal(found(v, 20, &first), 2);
    assert_int_equal(first, 12);
    for (int i = 0; i < 20; i++)
        v[i] = 0;
    assert_int_equal(found(v, 20, &first), 1);
}

static void short_series_are_fine(void **state)
{
    static const double one[] = {1}, two[] = {1, 9}, five[] = {10, 10, 10, 20, 20};
    size_t first;
    (void)state;
    assert_int_equal(found(one, 0, &first), 0);
    assert_int_equal(found(one, 1, &first), 1);
    assert_int_equal(found(two, 2, &first), 1);
    assert_int_equal(found(five, 5, &first), 2);
    assert_int_equal(first, 3);
}

static void a_level_has_its_median_and_its_band(void **state)
{
    static const double v[] = {10, 11, 12, 13, 14};
    struct plumb_level *levels;
    size_t count;
    (void)state;
    assert_int_equal(plumb_levels_find(&levels, &count, v, 5, NULL), PLUMB_OK);
    assert_float_equal(levels[0].median, 12, 0);
    assert_float_equal(levels[0].band, 1.4826 * 1.96, 1e-9);
    free(levels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_has_no_steps),
        cmocka_unit_test(a_step_is_found_where_it_is),
        cmocka_unit_test(two_steps_that_undo_each_other_are_two),
        cmocka_unit_test(an_outlier_is_not_a_step),
        cmocka_unit_test(exact_figures_have_exact_steps),
        cmocka_unit_test(short_series_are_fine),
        cmocka_unit_test(a_level_has_its_median_and_its_band),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
