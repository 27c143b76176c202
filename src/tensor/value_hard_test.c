/* Tests of value_stats.c where it is hard: the limits of single precision, in every path, and what
 * is found on request.
 * labels: notsan
 * timeout: 300 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "values_fixture.h"

/* ---- What single precision cannot hold ------------------------------------------------------- */

static void every_length_is_added_up(void **state)
{
    static const char *const types[] = {"float32", "float16", "bfloat16"};
    static double x[700];
    static float f32[700];
    static uint16_t f16[700];
    struct fixture_tensor t;
    (void)state;
    for (int n = 1; n < 700; n += n < 300 ? 1 : 37) {
        for (int type = 0; type < 3; type++) {
            for (int i = 0; i < n; i++) {
                uint64_t r = next_random();
                /* Normal numbers and zeros of both signs, of either type. */
                f16[i] = (uint16_t)((r & 0x8000) | (r >> 16) % 0x4000);
                if (r >> 60 == 0)
                    f16[i] &= 0x8000;
                if (r >> 52 == 0)
                    f16[i] = 0x7fff;
                f32[i] = (float)next_normal();
                x[i] = type == 0   ? (double)f32[i]
                       : type == 1 ? float_by_parts(f16[i], 5, 10, true)
                                   : float_by_parts(f16[i], 8, 7, true);
            }
            assert_stats(fixture_tensor(&t, type ? (void *)f16 : (void *)f32, types[type], DIMS(n)),
                         x, (size_t)n);
        }
    }
}

static void every_address_is_read(void **state)
{
    enum { N = 1000 };
    static unsigned char memory[4 * N + 64];
    static float f32[N];
    static double x[N];
    struct fixture_tensor t;
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (double)(f32[i] = (float)next_normal());
    for (size_t offset = 0; offset < 64; offset++) {
        memcpy(memory + offset, f32, sizeof f32);
        for (int n = 1; n <= N; n = n < 20 ? n + 3 : n * 3)
            assert_stats(fixture_tensor(&t, memory + offset, "float32", DIMS(n)), x, (size_t)n);
    }
}

static void assert_f32(const float *f32, size_t n)
{
    struct fixture_tensor t;
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)f32[i];
    assert_stats(fixture_tensor(&t, (void *)(uintptr_t)f32, "float32", DIMS((int64_t)n)), x, n);
    free(x);
}

static void hard_values_of_single_precision_are_right(void **state)
{
    enum { N = 50000 };
    static float x[N];
    /* Means far from 0 in deviations, up to where neighbours differ in the last bit alone. */
    static const double means[] = {1, 10, 1e3, 1e4, 1e6, 3e7, -1e4};
    /* Squares that underflow and overflow, and sums that do. */
    static const double scales[] = {1e-45, 1e-42, 1e-38, 1e-30, 1e-24, 1e-19, 1e-15,
                                    1e15,  1e18,  1e20,  1e30,  1e36,  1e37};
    (void)state;
    for (size_t k = 0; k < sizeof means / sizeof means[0]; k++) {
        for (int i = 0; i < N; i++)
            x[i] = (float)(means[k] + next_normal());
        assert_f32(x, N);
    }
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        for (int i = 0; i < N; i++)
            x[i] = (float)(next_normal() * scales[k]);
        assert_f32(x, N);
        for (int i = 0; i < N; i++)
            x[i] = (float)((1e4 + next_normal()) * scales[k] * 1e-4);
        assert_f32(x, N);
    }
    for (int i = 0; i < N; i++) /* two neighbours; the mean lies near the one */
        x[i] = i % 100 ? 1e4f : 1e4f + 0x1p-10f;
    assert_f32(x, N);
    for (int i = 0; i < N; i++) /* zeros far from the mean */
        x[i] = i % 1000 ? (float)(1e4 + next_normal()) : 0;
    assert_f32(x, N);
    for (int i = 0; i < N; i++) /* one that outweighs all */
        x[i] = i == N / 2 ? 1e30f : 1e-30f;
    assert_f32(x, N);
    for (int i = 0; i < N; i++) /* steps: each chunk has another mean */
        x[i] = (float)(1e5 * (i / 5000)) + (float)next_normal();
    assert_f32(x, N);
}

static void small_numbers_of_bfloat16_are_not_lost(void **state)
{
    enum { N = 5000 };
    static uint16_t bits[N];
    static double x[N];
    struct fixture_tensor t;
    (void)state;
    /* Subnormal ones, then such below some that are 2^26 and 2^13 times as large. */
    for (unsigned most = 0; most <= 2; most++) {
        for (int i = 0; i < N; i++) {
            uint64_t r = next_random();
            uint16_t large = most == 1 && i % 1000 == 0 ? 26 : most == 2 && i % 10 == 0 ? 13 : 0;
            bits[i] = (uint16_t)((r & 0x807f) | large << 7);
            x[i] = float_by_parts(bits[i], 8, 7, true);
        }
        assert_stats(fixture_tensor(&t, bits, "bfloat16", DIMS(N)), x, N);
    }
}

static void a_constant_has_no_deviation_in_any_path(void **state)
{
    static float x[40000];
    struct fixture_tensor t;
    (void)state;
    for (int i = 0; i < 40000; i++)
        x[i] = 0.1f;
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "float32", DIMS(40000)));
    assert_true(s.std == 0 && s.min == (double)0.1f && s.max == s.min);
}

static void the_sign_of_zero_does_not_show(void **state)
{
    float x[300];
    struct fixture_tensor t;
    (void)state;
    for (int i = 0; i < 300; i++)
        x[i] = -0.0f;
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "float32", DIMS(300)));
    assert_true(s.zeros == 300 && !signbit(s.min) && !signbit(s.max));
}

/* ---- On request ------------------------------------------------------------------------------ */

static uint64_t hash_of(const DLTensor *dl)
{
    return stats_of(dl).hash;
}

static void the_hash_is_of_the_values_not_of_their_layout(void **state)
{
    enum { A = 37, B = 29 };
    static float rows[A][B], columns[B][A], spaced[A][2 * B];
    struct fixture_tensor t;
    (void)state;
    for (int i = 0; i < A; i++)
        for (int k = 0; k < B; k++)
            rows[i][k] = columns[k][i] = spaced[i][2 * k] = (float)next_normal();
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, rows, "float32", DIMS(A, B)));
    assert_true(s.hash ==
                hash_of(fixture_strided(&t, columns, "float32", DIMS(A, B), STRIDES(1, A))));
    assert_true(s.hash ==
                hash_of(fixture_strided(&t, spaced, "float32", DIMS(A, B), STRIDES(2 * B, 2))));
    struct plumb_value_stats other = stats_of(fixture_tensor(&t, columns, "float32", DIMS(B, A)));
    assert_true(other.hash != s.hash && other.set_hash == s.set_hash);
    rows[3][4] += 1;
    other = stats_of(fixture_tensor(&t, rows, "float32", DIMS(A, B)));
    assert_true(other.hash != s.hash && other.set_hash != s.set_hash);
}

static void every_bit_and_every_swap_changes_the_hash(void **state)
{
    enum { N = 3000 };
    static uint32_t x[N];
    struct fixture_tensor t;
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (uint32_t)next_random();
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "uint32", DIMS(N)));
    for (int i = 0; i < 200; i++) {
        uint64_t r = next_random();
        uint32_t *a = &x[r % N], *b = &x[(r >> 20) % N], keep = *a;
        *a ^= 1u << (r >> 59);
        struct plumb_value_stats flipped = stats_of(&t.dl);
        assert_true(flipped.hash != s.hash && flipped.set_hash != s.set_hash);
        *a = *b;
        *b = keep;
        struct plumb_value_stats swapped = stats_of(&t.dl);
        assert_true(a == b || *a == *b ||
                    (swapped.hash != s.hash && swapped.set_hash == s.set_hash));
        *b = *a;
        *a = keep;
    }
    /* Whole stripes, and what is longer by zeros. */
    for (int i = 0; i < N; i++)
        x[i] = 0;
    uint64_t zeros = hash_of(fixture_tensor(&t, x, "uint32", DIMS(N)));
    assert_true(zeros != hash_of(fixture_tensor(&t, x, "uint32", DIMS(N - 1))));
    for (int i = 0; i < 16; i++)
        x[i] = 7;
    uint64_t first = hash_of(fixture_tensor(&t, x, "uint32", DIMS(N)));
    for (int i = 0; i < 16; i++) {
        x[i] = 0;
        x[i + 64] = 7;
    }
    assert_true(first != hash_of(&t.dl) && first != zeros);
}

static void a_tensor_too_spread_to_be_read_in_order_has_no_hash(void **state)
{
    struct fixture_tensor t;
    struct plumb_view view;
    struct plumb_value_stats s;
    plumb_error err = {0, ""};
    float x = 1;
    (void)state;
    fixture_strided(&t, &x, "float32", DIMS(INT64_C(1) << 50), STRIDES(0));
    assert_int_equal(plumb_view_init(&view, &t.dl, NULL), PLUMB_OK);
    assert_int_equal(plumb_value_stats(&s, &view, PLUMB_VALUE_HASH, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "no hash of more than 2^36 elements that do not lie in order");
}

static void samples_and_bins_say_what_is_there(void **state)
{
    double x[] = {0, 1, -1, 0x1p-40, 1e30, 15.9, 16, NAN, -INFINITY, 0x1p35};
    struct fixture_tensor t;
    (void)state;
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "float64", DIMS(10)));
    static const uint64_t bins[PLUMB_VALUE_BINS] = {
        [0] = 1, [1] = 1, [10] = 3, [11] = 1, [18] = 1, [19] = 1};
    assert_memory_equal(s.histogram, bins, sizeof bins);
    assert_int_equal(s.samples, 8);
    assert_true(s.sample[0] == 0 && s.sample[7] == 0x1p35 && s.sample[1] == 1);
    s = stats_of(fixture_tensor(&t, x + 1, "float64", DIMS(1)));
    assert_true(s.samples == 1 && s.sample[0] == 1);
}

static void arithmetic_of_ieee_can_be_had(void **state)
{
    float x[] = {1, -2, 3, INFINITY, -INFINITY, NAN};
    struct fixture_tensor t;
    (void)state;
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "float32", DIMS(6)));
    plumb_value_ieee(&s);
    assert_true(isnan(s.sum) && isnan(s.abs_mean) && isnan(s.min) && isnan(s.std) && s.nan == 1);
    s = stats_of(fixture_tensor(&t, x, "float32", DIMS(5)));
    plumb_value_ieee(&s);
    assert_true(isnan(s.sum) && isinf(s.abs_sum) && s.min == -INFINITY && s.max == INFINITY);
    s = stats_of(fixture_tensor(&t, x, "float32", DIMS(4)));
    plumb_value_ieee(&s);
    assert_true(s.sum == INFINITY && s.min == -2 && s.max == INFINITY && isnan(s.std));
    s = stats_of(fixture_tensor(&t, x, "float32", DIMS(3)));
    plumb_value_ieee(&s);
    assert_true(s.sum == 2 && s.abs_mean == 2 && s.min == -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_is_added_up),
        cmocka_unit_test(every_address_is_read),
        cmocka_unit_test(hard_values_of_single_precision_are_right),
        cmocka_unit_test(small_numbers_of_bfloat16_are_not_lost),
        cmocka_unit_test(a_constant_has_no_deviation_in_any_path),
        cmocka_unit_test(the_sign_of_zero_does_not_show),
        cmocka_unit_test(the_hash_is_of_the_values_not_of_their_layout),
        cmocka_unit_test(every_bit_and_every_swap_changes_the_hash),
        cmocka_unit_test(a_tensor_too_spread_to_be_read_in_order_has_no_hash),
        cmocka_unit_test(samples_and_bins_say_what_is_there),
        cmocka_unit_test(arithmetic_of_ieee_can_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
