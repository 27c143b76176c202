/* The P-square estimator; its golden values are in tests/rows/cv_9_p2_median_test.c. */
#include "base/p2.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_has_the_median_zero(void **state)
{
    struct plumb_p2 p = {0};
    (void)state;
    assert_true(plumb_p2_median(&p) == 0);
}

static void the_struct_is_as_large_as_its_header_says(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct plumb_p2), 72);
}

static void up_to_five_samples_it_is_exact_in_any_order(void **state)
{
    static const double samples[][5] = {{5, 1, 4, 2, 3}, {1, 2, 3, 4, 5}, {3, 5, 1, 4, 2}};
    static const double medians[][5] = {{5, 3, 4, 3, 3}, {1, 1.5, 2, 2.5, 3}, {3, 4, 3, 3.5, 3}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct plumb_p2 p = {0};
        for (size_t i = 0; i < 5; i++) {
            plumb_p2_add(&p, samples[k][i]);
            assert_true(plumb_p2_median(&p) == medians[k][i]);
        }
    }
}

static void the_outer_markers_are_the_extremes_and_the_heights_are_in_order(void **state)
{
    struct plumb_p2 p = {0};
    uint64_t x = 88172645463325252u;
    double min = INFINITY;
    double max = 0;
    (void)state;
    for (uint32_t i = 1; i <= 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        double v = (double)(x % 1000003);
        min = v < min ? v : min;
        max = v > max ? v : max;
        plumb_p2_add(&p, v);
        if (i < 5)
            continue;
        assert_true(p.height[0] == min && p.height[4] == max);
        assert_int_equal(p.position[0], 1);
        assert_int_equal(p.position[4], i);
        for (size_t k = 0; k < 4; k++) {
            assert_true(p.position[k] < p.position[k + 1]);
            assert_true(p.height[k] <= p.height[k + 1]);
        }
    }
    assert_true(fabs(plumb_p2_median(&p) - 500000) < 10000);
}

static void samples_beyond_the_last_position_are_ignored(void **state)
{
    struct plumb_p2 p = {.count = UINT32_MAX,
                         .height = {1, 2, 3, 4, 5},
                         .position = {1, 1u << 30, 1u << 31, 3u << 30, UINT32_MAX}};
    struct plumb_p2 before = p;
    (void)state;
    plumb_p2_add(&p, 100);
    assert_memory_equal(&p, &before, sizeof p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_the_median_zero),
        cmocka_unit_test(the_struct_is_as_large_as_its_header_says),
        cmocka_unit_test(up_to_five_samples_it_is_exact_in_any_order),
        cmocka_unit_test(the_outer_markers_are_the_extremes_and_the_heights_are_in_order),
        cmocka_unit_test(samples_beyond_the_last_position_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
