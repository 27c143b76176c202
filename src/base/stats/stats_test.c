/* Integer statistics: exactness, and merging that does not depend on the order. */
#include "base/stats/stats.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void nothing_has_zeros(void **state)
{
    struct plumb_stats s;
    (void)state;
    plumb_stats_init(&s);
    assert_true(plumb_stats_mean(&s) == 0);
    assert_true(plumb_stats_std(&s) == 0);
    assert_true(plumb_stats_median(&s, NULL, 0) == 0);
    assert_true(plumb_stats_quantile(&s, NULL, 0, 0.99) == 0);
    assert_int_equal(s.max, 0);
}

static void the_deviation_is_exact_where_squares_would_cancel(void **state)
{
    static const uint64_t offsets[] = {0, 1000000007u, (uint64_t)1 << 40, (uint64_t)1 << 60};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct plumb_stats s;
        plumb_stats_init(&s);
        for (uint64_t k = 0; k < 8; k++)
            plumb_stats_add(&s, offsets[i] + k, k);
        assert_true(fabs(plumb_stats_std(&s) - sqrt(63.0 / 12)) < 1e-15);
    }
}

static void equal_samples_have_no_deviation(void **state)
{
    struct plumb_stats s;
    (void)state;
    plumb_stats_init(&s);
    plumb_stats_add(&s, UINT64_MAX, 1);
    assert_true(plumb_stats_std(&s) == 0);
    plumb_stats_init(&s);
    for (uint64_t i = 0; i < 1001; i++)
        plumb_stats_add(&s, 12345678901u, i);
    assert_true(plumb_stats_std(&s) == 0);
    assert_true(plumb_stats_mean(&s) == 12345678901.0);
}

static void a_tiny_deviation_of_many_samples_is_kept(void **state)
{
    struct plumb_stats s;
    const uint64_t n = 1000003;
    (void)state;
    plumb_stats_init(&s);
    for (uint64_t i = 0; i < n; i++)
        plumb_stats_add(&s, 3600000000000u + (i == 7), i);
    double p = 1.0 / (double)n;
    assert_true(fabs(plumb_stats_std(&s) / sqrt(p * (1 - p)) - 1) < 1e-15);
}

static void the_generator_of_the_published_figures_gives_them(void **state)
{
    struct plumb_stats s;
    const double unit = 100.0 / 2147483648.0;
    uint64_t x = 12345;
    (void)state;
    plumb_stats_init(&s);
    for (uint64_t i = 0; i < 1000; i++) {
        x = (1103515245 * x + 12345) % 2147483648u;
        plumb_stats_add(&s, x, i);
    }
    assert_true(fabs(plumb_stats_mean(&s) * unit - 49.69107497762887) < 1e-12);
    assert_true(fabs(plumb_stats_std(&s) * unit - 28.713892452469423) < 1e-12);
    assert_true((double)s.min * unit == 0.015819771215319633);
    assert_true((double)s.max * unit == 99.9393432866782);
    assert_true((double)s.last * unit == 74.68546112067997);
}

static void up_to_five_samples_quantiles_are_order_statistics(void **state)
{
    static const uint64_t samples[] = {50, 10, 40, 20, 30};
    static const double medians[] = {50, 30, 40, 30, 30};
    static const double p90[] = {50, 50, 50, 50, 50};
    static const double p20[] = {50, 10, 10, 10, 10};
    struct plumb_stats s;
    (void)state;
    plumb_stats_init(&s);
    for (size_t i = 0; i < 5; i++) {
        plumb_stats_add(&s, samples[i], i);
        assert_true(plumb_stats_median(&s, NULL, 0) == medians[i]);
        assert_true(plumb_stats_quantile(&s, NULL, 0, 0.9) == p90[i]);
        assert_true(plumb_stats_quantile(&s, NULL, 0, 0.2) == p20[i]);
    }
}

static void kept_samples_may_come_unsorted(void **state)
{
    struct plumb_stats s = {
        .count = 4, .total = 10, .sq_lo = 30, .min = 1, .max = 4, .first = {3, 1, 4, 2}};
    struct plumb_stats merged;
    (void)state;
    assert_true(plumb_stats_median(&s, NULL, 0) == 2.5);
    plumb_stats_init(&merged);
    plumb_stats_merge(&merged, &s);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(merged.first[i], i + 1);
    assert_int_equal(merged.first[4], 0);
}

static void quantiles_are_read_from_the_buckets_and_clamped(void **state)
{
    static const struct plumb_bucket buckets[] = {{95, 10}, {200, 89}, {1010, 1}};
    struct plumb_stats s = {.count = 100, .min = 100, .max = 1000};
    (void)state;
    assert_true(plumb_stats_quantile(&s, buckets, 3, 0.05) == 100);
    assert_true(plumb_stats_quantile(&s, buckets, 3, 0.11) == 200);
    assert_true(plumb_stats_quantile(&s, buckets, 3, 0.99) == 200);
    assert_true(plumb_stats_quantile(&s, buckets, 3, 0.999) == 1000);
    assert_true(plumb_stats_median(&s, buckets, 3) == 200);
    assert_true(plumb_stats_quantile(&s, buckets, 1, 0.5) == 1000);
}

static void ranks_are_those_of_decimal_fractions(void **state)
{
    struct plumb_bucket buckets[100];
    struct plumb_stats s = {.count = 100, .min = 1, .max = 100};
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        buckets[i] = (struct plumb_bucket){(double)(i + 1), 1};
    for (int percent = 1; percent < 100; percent++)
        assert_true(plumb_stats_quantile(&s, buckets, 100, percent / 100.0) == percent);
    assert_true(plumb_stats_quantile(&s, buckets, 100, 0.501) == 51);
}

static void the_last_sample_is_the_one_that_ended_last(void **state)
{
    struct plumb_stats a;
    struct plumb_stats b;
    (void)state;
    plumb_stats_init(&a);
    plumb_stats_init(&b);
    plumb_stats_add(&a, 5, 100);
    plumb_stats_add(&b, 7, 99);
    plumb_stats_merge(&b, &a);
    assert_int_equal(b.last, 5);
    plumb_stats_add(&a, 6, 100);
    assert_int_equal(a.last, 6);
    plumb_stats_merge(&b, &a);
    assert_int_equal(b.last, 6);
    assert_int_equal(b.last_at, 100);
}

static void merging_nothing_changes_nothing(void **state)
{
    struct plumb_stats a;
    struct plumb_stats none;
    (void)state;
    plumb_stats_init(&a);
    plumb_stats_init(&none);
    none.last_at = 77;
    plumb_stats_add(&a, 5, 0);
    struct plumb_stats before = a;
    plumb_stats_merge(&a, &none);
    assert_memory_equal(&a, &before, sizeof a);
    plumb_stats_init(&none);
    plumb_stats_merge(&none, &a);
    assert_memory_equal(&none, &a, sizeof a);
}

enum { MAX_PARTS = 12 };

/* Merges the parts pairwise at random until one is left. */
static void merge_at_random(struct plumb_stats *parts, size_t n)
{
    while (n > 1) {
        size_t to = random_u64() % n;
        size_t from = random_u64() % n;
        if (to == from)
            continue;
        plumb_stats_merge(&parts[to], &parts[from]);
        parts[from] = parts[n - 1];
        if (to == n - 1)
            to = from;
        struct plumb_stats result = parts[to];
        parts[to] = parts[0];
        parts[0] = result;
        n--;
    }
}

static void random_partitions_in_random_orders_merge_to_equal_bytes(void **state)
{
    uint64_t samples[60];
    uint64_t ends[60];
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct plumb_stats whole;
        struct plumb_stats parts[MAX_PARTS];
        size_t count = round % 2 ? 1 + random_u64() % 8 : 1 + random_u64() % 60;
        size_t n = 1 + random_u64() % MAX_PARTS;
        plumb_stats_init(&whole);
        for (size_t i = 0; i < n; i++)
            plumb_stats_init(&parts[i]);
        for (size_t i = 0; i < count; i++) {
            samples[i] = random_u64() >> (random_u64() % 58 + 6);
            ends[i] = random_u64() % 20; /* with ties */
            plumb_stats_add(&whole, samples[i], ends[i]);
        }
        for (size_t i = count; i-- > 0;)
            plumb_stats_add(&parts[random_u64() % n], samples[i], ends[i]);
        merge_at_random(parts, n);
        assert_memory_equal(&parts[0], &whole, sizeof whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_zeros),
        cmocka_unit_test(the_deviation_is_exact_where_squares_would_cancel),
        cmocka_unit_test(equal_samples_have_no_deviation),
        cmocka_unit_test(a_tiny_deviation_of_many_samples_is_kept),
        cmocka_unit_test(the_generator_of_the_published_figures_gives_them),
        cmocka_unit_test(up_to_five_samples_quantiles_are_order_statistics),
        cmocka_unit_test(kept_samples_may_come_unsorted),
        cmocka_unit_test(quantiles_are_read_from_the_buckets_and_clamped),
        cmocka_unit_test(ranks_are_those_of_decimal_fractions),
        cmocka_unit_test(the_last_sample_is_the_one_that_ended_last),
        cmocka_unit_test(merging_nothing_changes_nothing),
        cmocka_unit_test(random_partitions_in_random_orders_merge_to_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
