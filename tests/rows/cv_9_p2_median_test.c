/* CV-9: the P-square median reproduces the published values to 1e-12; and (+) p95 and p99 come from
 * the sketch with a stated error, where P-square itself can be far off. */
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats/p2.h"
#include "base/stats/sketch.h"
#include "base/stats/stats.h"

static const double published[20] = {0.02,  0.15,  0.74,  3.39,  0.83,  22.37, 10.15,
                                     15.43, 38.62, 15.92, 34.60, 10.28, 1.47,  0.40,
                                     0.05,  11.39, 0.27,  0.42,  0.09,  11.37};

static void assert_close(double got, double want)
{
    if (fabs(got - want) > 1e-12)
        fail_msg("%.17g is not %.17g", got, want);
}

static void the_20_published_samples_give_the_published_medians(void **state)
{
    static const double medians[20] = {
        0.02,
        0.085,
        0.15,
        0.445,
        0.74,
        0.74,
        0.74,
        2.178333333333333,
        4.752685185185185,
        4.752685185185185,
        9.274704861111111,
        9.274704861111111,
        9.274704861111111,
        9.274704861111111,
        6.297302000661376,
        6.297302000661376,
        6.297302000661376,
        6.297302000661376,
        4.440634353260338,
        4.440634353260338,
    };
    static const double heights[5] = {0.02, 0.4938954475308638, 4.440634353260338,
                                      17.203904274140214, 38.62};
    static const uint32_t positions[5] = {1, 6, 10, 16, 20};
    struct plumb_p2 p = {0};
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        plumb_p2_add(&p, published[i]);
        assert_close(plumb_p2_median(&p), medians[i]);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_close(p.height[i], heights[i]);
        assert_int_equal(p.position[i], positions[i]);
    }
}

static double median_of_range(int from, int to)
{
    struct plumb_p2 p = {0};
    int step = from <= to ? 1 : -1;
    for (int v = from; v != to + step; v += step)
        plumb_p2_add(&p, v);
    return plumb_p2_median(&p);
}

static void ranges_give_the_golden_values(void **state)
{
    (void)state;
    assert_close(median_of_range(1, 10), 5.0);
    assert_close(median_of_range(10, 1), 6.0);
    assert_close(median_of_range(1, 100), 50.0);
}

static void constant_two_valued_and_stepped_samples_give_the_golden_values(void **state)
{
    struct plumb_p2 constant = {0};
    struct plumb_p2 two = {0};
    struct plumb_p2 stepped = {0};
    (void)state;
    for (int i = 0; i < 20; i++)
        plumb_p2_add(&constant, 7);
    assert_close(plumb_p2_median(&constant), 7.0);
    for (int i = 0; i < 50; i++) {
        plumb_p2_add(&two, 1);
        plumb_p2_add(&two, 100);
    }
    assert_close(plumb_p2_median(&two), 34.0);
    for (int i = 0; i < 1100; i++)
        plumb_p2_add(&stepped, i < 500 ? 1 : 10);
    assert_close(plumb_p2_median(&stepped), 4.767497912842973);
}

static void a_thousand_generated_samples_give_the_golden_value(void **state)
{
    struct plumb_p2 p = {0};
    uint64_t x = 12345;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        x = (1103515245 * x + 12345) % 2147483648u;
        plumb_p2_add(&p, (double)x / 2147483648.0 * 100);
    }
    assert_close(plumb_p2_median(&p), 49.99422521737577);
}

static void nothing_gives_zero(void **state)
{
    struct plumb_p2 p = {0};
    (void)state;
    assert_true(plumb_p2_median(&p) == 0);
}

/* 500 samples of 1 ms, then 600 of 10 ms: the true median is 10 ms. */
static void after_a_step_change_the_sketch_keeps_its_error_where_p2_does_not(void **state)
{
    static uint64_t counts[PLUMB_SKETCH_BUCKETS];
    static struct plumb_bucket buckets[PLUMB_SKETCH_BUCKETS];
    struct plumb_p2 p = {0};
    struct plumb_stats s;
    size_t n = 0;
    (void)state;
    plumb_stats_init(&s);
    for (uint64_t i = 0; i < 1100; i++) {
        uint64_t ns = i < 500 ? 1000000 : i < 1090 ? 10000000 : 30000000;
        plumb_p2_add(&p, (double)ns);
        plumb_stats_add(&s, ns, i);
        counts[plumb_sketch_index(ns)]++;
    }
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++)
        if (counts[i])
            buckets[n++] = (struct plumb_bucket){plumb_sketch_value(i), counts[i]};
    assert_true(fabs(plumb_p2_median(&p) / 1e7 - 1) > 0.3);
    assert_true(fabs(plumb_stats_median(&s, buckets, n) / 1e7 - 1) <= 0.008);
    assert_true(fabs(plumb_stats_quantile(&s, buckets, n, 0.95) / 1e7 - 1) <= 0.008);
    assert_true(fabs(plumb_stats_quantile(&s, buckets, n, 0.99) / 1e7 - 1) <= 0.008);
    assert_true(fabs(plumb_stats_quantile(&s, buckets, n, 0.995) / 3e7 - 1) <= 0.008);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_20_published_samples_give_the_published_medians),
        cmocka_unit_test(ranges_give_the_golden_values),
        cmocka_unit_test(constant_two_valued_and_stepped_samples_give_the_golden_values),
        cmocka_unit_test(a_thousand_generated_samples_give_the_golden_value),
        cmocka_unit_test(nothing_gives_zero),
        cmocka_unit_test(after_a_step_change_the_sketch_keeps_its_error_where_p2_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
