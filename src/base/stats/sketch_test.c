/* The bucket scheme: its bounds, and quantiles of six distributions against exact order statistics.
 */
#include "base/stats/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats/stats.h"

enum { SAMPLES = 50000 };

static uint64_t random_state = 88172645463325252u;
static uint64_t samples[SAMPLES];
static uint64_t counts[PLUMB_SKETCH_BUCKETS];
static struct plumb_bucket buckets[PLUMB_SKETCH_BUCKETS];

static double random_unit(void) /* in (0, 1) */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return ((double)(random_state >> 12) + 0.5) * 0x1p-52;
}

static double random_normal(void)
{
    return sqrt(-2 * log(random_unit())) * cos(2 * 3.141592653589793 * random_unit());
}

static void buckets_are_contiguous_and_hold_their_bounds(void **state)
{
    (void)state;
    assert_int_equal(plumb_sketch_lower(0), 0);
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++) {
        uint64_t lower = plumb_sketch_lower(i);
        assert_int_equal(plumb_sketch_index(lower), i);
        if (i > 0)
            assert_int_equal(plumb_sketch_index(lower - 1), i - 1);
    }
    assert_int_equal(plumb_sketch_index(((uint64_t)1 << 46) - 1), PLUMB_SKETCH_BUCKETS - 1);
    assert_int_equal(plumb_sketch_index((uint64_t)1 << 46), PLUMB_SKETCH_BUCKETS - 1);
    assert_int_equal(plumb_sketch_index(UINT64_MAX), PLUMB_SKETCH_BUCKETS - 1);
}

static void groups_are_octaves(void **state)
{
    (void)state;
    for (int bit = 6; bit < 46; bit++) {
        assert_int_equal(plumb_sketch_index((uint64_t)1 << bit) >> PLUMB_SKETCH_SUB_BITS, bit - 5);
        assert_int_equal(plumb_sketch_index(((uint64_t)2 << bit) - 1) >> PLUMB_SKETCH_SUB_BITS,
                         bit - 5);
    }
}

static void values_lie_within_the_stated_error_of_their_bucket(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 128; i++)
        assert_true(plumb_sketch_value(i) == i);
    for (uint32_t i = 128; i + 1 < PLUMB_SKETCH_BUCKETS; i++) {
        double low = (double)plumb_sketch_lower(i);
        double high = (double)(plumb_sketch_lower(i + 1) - 1);
        assert_true(fabs(plumb_sketch_value(i) - low) <= low / 129);
        assert_true(fabs(plumb_sketch_value(i) - high) <= high / 129);
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t fill_buckets(struct plumb_stats *s, size_t n)
{
    size_t used = 0;
    memset(counts, 0, sizeof counts);
    plumb_stats_init(s);
    for (size_t i = 0; i < n; i++) {
        plumb_stats_add(s, samples[i], i);
        counts[plumb_sketch_index(samples[i])]++;
    }
    for (uint32_t i = 0; i < PLUMB_SKETCH_BUCKETS; i++)
        if (counts[i])
            buckets[used++] = (struct plumb_bucket){plumb_sketch_value(i), counts[i]};
    return used;
}

/* Compares the quantiles of samples[0..n) with their order statistics. */
static void check(size_t n)
{
    static const int percents[] = {50, 90, 95, 99};
    struct plumb_stats s;
    size_t used = fill_buckets(&s, n);
    double before = (double)s.min;
    qsort(samples, n, sizeof samples[0], ascending);
    for (size_t i = 0; i < 4; i++) {
        size_t rank = (n * (size_t)percents[i] + 99) / 100;
        double exact = (double)samples[rank - 1];
        double got = plumb_stats_quantile(&s, buckets, used, percents[i] / 100.0);
        if (fabs(got - exact) > 0.008 * exact || (n <= PLUMB_EXACT && got != exact))
            fail_msg("p%d of %zu samples is %.17g, not %.17g", percents[i], n, got, exact);
        assert_true(got >= before);
        before = got;
    }
    assert_true(before <= (double)s.max);
}

static void check_sizes(void (*fill)(size_t n))
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 10, 20, 99, 100, 101, 1000, SAMPLES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fill(sizes[i]);
        check(sizes[i]);
    }
}

static void fill_log_normal(size_t n)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = (uint64_t)exp(12 + 1.5 * random_normal());
}

static void fill_bimodal(size_t n)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = (uint64_t)fabs(random_unit() < 0.6 ? 20000 + 500 * random_normal()
                                                        : 5000000 + 90000 * random_normal());
}

static void fill_step_change(size_t n)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = (uint64_t)((i < n / 2 ? 1e6 : 1e7) * (1 + 0.01 * random_unit()));
}

static void fill_constant(size_t n)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = 1234567;
}

static void fill_two_valued(size_t n)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = i % 2 ? 100000 : 1000;
}

static void fill_tick_to_hour(size_t n)
{
    const double hour_ticks = 3600 * 4e9;
    for (size_t i = 0; i < n; i++)
        samples[i] = (uint64_t)exp(log(hour_ticks) * random_unit());
    samples[0] = 1;
    if (n > 1)
        samples[n - 1] = (uint64_t)hour_ticks;
}

static void log_normal_samples_are_within_the_error(void **state)
{
    (void)state;
    check_sizes(fill_log_normal);
}

static void bimodal_samples_are_within_the_error(void **state)
{
    (void)state;
    check_sizes(fill_bimodal);
}

static void a_step_change_is_within_the_error(void **state)
{
    (void)state;
    check_sizes(fill_step_change);
}

static void constant_samples_are_exact(void **state)
{
    struct plumb_stats s;
    (void)state;
    check_sizes(fill_constant);
    size_t used = fill_buckets(&s, SAMPLES);
    assert_true(plumb_stats_quantile(&s, buckets, used, 0.5) == 1234567);
    assert_true(plumb_stats_quantile(&s, buckets, used, 0.99) == 1234567);
}

static void two_valued_samples_are_within_the_error(void **state)
{
    (void)state;
    check_sizes(fill_two_valued);
}

static void one_tick_to_one_hour_is_within_the_error(void **state)
{
    (void)state;
    check_sizes(fill_tick_to_hour);
}

static void values_beyond_the_last_bucket_are_clamped_to_the_extremes(void **state)
{
    struct plumb_stats s;
    (void)state;
    for (size_t i = 0; i < 100; i++)
        samples[i] = (uint64_t)1 << 50;
    size_t used = fill_buckets(&s, 100);
    assert_true(plumb_stats_quantile(&s, buckets, used, 0.5) == 0x1p50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_contiguous_and_hold_their_bounds),
        cmocka_unit_test(groups_are_octaves),
        cmocka_unit_test(values_lie_within_the_stated_error_of_their_bucket),
        cmocka_unit_test(log_normal_samples_are_within_the_error),
        cmocka_unit_test(bimodal_samples_are_within_the_error),
        cmocka_unit_test(a_step_change_is_within_the_error),
        cmocka_unit_test(constant_samples_are_exact),
        cmocka_unit_test(two_valued_samples_are_within_the_error),
        cmocka_unit_test(one_tick_to_one_hour_is_within_the_error),
        cmocka_unit_test(values_beyond_the_last_bucket_are_clamped_to_the_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
