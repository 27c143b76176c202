/* CV-8: count, mean, population standard deviation, min, max, total, last; zeros when empty;
 * constant memory per key; and the same figures whichever way the samples were split. */
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats/stats.h"

enum { SAMPLES = 200 };

static uint64_t random_state = 20240817u;
static uint64_t samples_ns[SAMPLES];
static long double reference_mean;
static long double reference_std;

static double random_unit(void) /* in (0, 1) */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return ((double)(random_state >> 12) + 0.5) * 0x1p-52;
}

/* 200 normal samples around 10 ms, and their mean and deviation by two passes in long double. */
static int setup(void **state)
{
    long double sum = 0;
    long double squares = 0;
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        double normal = sqrt(-2 * log(random_unit())) * cos(2 * 3.141592653589793 * random_unit());
        samples_ns[i] = (uint64_t)(1e7 + 1.5e6 * normal);
        sum += (long double)samples_ns[i];
    }
    reference_mean = sum / SAMPLES;
    for (size_t i = 0; i < SAMPLES; i++) {
        long double off = (long double)samples_ns[i] - reference_mean;
        squares += off * off;
    }
    reference_std = sqrtl(squares / SAMPLES);
    return 0;
}

static void add_all(struct plumb_stats *s)
{
    plumb_stats_init(s);
    for (size_t i = 0; i < SAMPLES; i++)
        plumb_stats_add(s, samples_ns[i], 1000 + i);
}

static void mean_and_deviation_are_within_1e_10_of_the_reference(void **state)
{
    struct plumb_stats s;
    (void)state;
    add_all(&s);
    assert_true(fabsl(plumb_stats_mean(&s) / reference_mean - 1) < 1e-14L);
    assert_true(fabsl(plumb_stats_std(&s) / reference_std - 1) < 1e-14L);
    /* In milliseconds, the unit of the table, also as absolute differences. */
    assert_true(fabsl(plumb_stats_mean(&s) * 1e-6L - reference_mean * 1e-6L) < 1e-10L);
    assert_true(fabsl(plumb_stats_std(&s) * 1e-6L - reference_std * 1e-6L) < 1e-10L);
}

static void count_min_max_total_and_last_are_exact(void **state)
{
    struct plumb_stats s;
    uint64_t min = UINT64_MAX;
    uint64_t max = 0;
    uint64_t total = 0;
    (void)state;
    add_all(&s);
    for (size_t i = 0; i < SAMPLES; i++) {
        min = samples_ns[i] < min ? samples_ns[i] : min;
        max = samples_ns[i] > max ? samples_ns[i] : max;
        total += samples_ns[i];
    }
    assert_int_equal(s.count, SAMPLES);
    assert_int_equal(s.min, min);
    assert_int_equal(s.max, max);
    assert_int_equal(s.total, total);
    assert_int_equal(s.last, samples_ns[SAMPLES - 1]);
}

static void nothing_recorded_gives_zeros(void **state)
{
    struct plumb_stats s;
    (void)state;
    plumb_stats_init(&s);
    assert_int_equal(s.count, 0);
    assert_int_equal(s.total, 0);
    assert_int_equal(s.last, 0);
    assert_true(plumb_stats_mean(&s) == 0);
    assert_true(plumb_stats_std(&s) == 0);
    assert_true(plumb_stats_median(&s, NULL, 0) == 0);
}

static void one_sample_has_no_deviation(void **state)
{
    struct plumb_stats s;
    (void)state;
    plumb_stats_init(&s);
    plumb_stats_add(&s, 42, 1);
    assert_true(plumb_stats_mean(&s) == 42);
    assert_true(plumb_stats_std(&s) == 0);
    assert_true(plumb_stats_median(&s, NULL, 0) == 42);
}

static void any_split_over_threads_gives_the_same_bytes(void **state)
{
    struct plumb_stats whole;
    (void)state;
    add_all(&whole);
    for (size_t threads = 1; threads <= 7; threads++) {
        struct plumb_stats part[7];
        struct plumb_stats sum;
        plumb_stats_init(&sum);
        for (size_t t = 0; t < threads; t++)
            plumb_stats_init(&part[t]);
        for (size_t i = 0; i < SAMPLES; i++)
            plumb_stats_add(&part[(i * i) % threads], samples_ns[i], 1000 + i);
        for (size_t t = threads; t-- > 0;)
            plumb_stats_merge(&sum, &part[t]);
        assert_memory_equal(&sum, &whole, sizeof whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_deviation_are_within_1e_10_of_the_reference),
        cmocka_unit_test(count_min_max_total_and_last_are_exact),
        cmocka_unit_test(nothing_recorded_gives_zeros),
        cmocka_unit_test(one_sample_has_no_deviation),
        cmocka_unit_test(any_split_over_threads_gives_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
