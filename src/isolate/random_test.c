/* Tests of random.h and random_fill.h: values follow what was recorded, of every element type. That
 * every compiler makes the same ones is tests/rows/tf_24_generator.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "isolate/program_text.h"
#include "isolate/random.h"
#include "tensor/small_float.h"
#include "tensor/value_load.h"

enum { COUNT = 40000 };

/* ---- Conversion ------------------------------------------------------------------------------ */

struct format {
    int mantissa, exponent_bits;
    uint64_t largest;
};

static double decoded(const struct format *f, uint64_t bits)
{
    if (f->mantissa == 7)
        return plumb_from_bf16((uint16_t)bits);
    return plumb_small_float((uint32_t)bits, f->exponent_bits, f->mantissa);
}

/* The nearest of all finite numbers of the format, the even one of two; by trying. */
static uint64_t nearest(const struct format *f, long double x)
{
    uint64_t best = 0;
    for (uint64_t bits = 1; bits <= f->largest; bits++) {
        long double here = fabsl(decoded(f, bits) - x), there = fabsl(decoded(f, best) - x);
        if (here < there || (here == there && bits % 2 == 0))
            best = bits;
    }
    return best;
}

static void small_floats_are_the_nearest(void **state)
{
    static const struct format formats[] = {
        {10, 5, 0x7bff}, {7, 8, 0x7f7f}, {3, 4, 0x7e}, {2, 5, 0x7b}};
    (void)state;
    for (size_t f = 0; f < 4; f++) {
        for (uint64_t i = 0; i < 60; i++) {
            /* Few bits, so that halves between two numbers are met. */
            int64_t v = (int64_t)(plumb_random_word(f, i) >> (34 + i % 28));
            int32_t exponent = (int32_t)(plumb_random_word(f + 9, i) % 40) - 30;
            uint64_t bits = plumb_random_float(v, exponent, formats[f].mantissa,
                                               formats[f].exponent_bits, formats[f].largest);
            uint64_t minus = plumb_random_float(-v, exponent, formats[f].mantissa,
                                                formats[f].exponent_bits, formats[f].largest);
            assert_int_equal(bits, nearest(&formats[f], ldexpl((long double)v, exponent)));
            assert_int_equal(
                minus,
                v ? bits | UINT64_C(1) << (formats[f].mantissa + formats[f].exponent_bits) : 0);
        }
    }
}

static void large_floats_round_as_the_machine_does(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        int64_t v = (int64_t)(plumb_random_word(1, i) >> (4 + i % 58)) * (i % 2 ? 1 : -1);
        int32_t exponent = (int32_t)(plumb_random_word(2, i) % 200) - 160;
        int32_t far = (int32_t)(plumb_random_word(3, i) % 1900) - 1130;
        float f = (float)ldexpl((long double)v, exponent);
        double d = (double)ldexpl((long double)v, far);
        uint32_t f_bits;
        uint64_t d_bits;
        memcpy(&f_bits, &f, sizeof f_bits);
        memcpy(&d_bits, &d, sizeof d_bits);
        if (v == 0)
            f_bits = 0, d_bits = 0;
        assert_int_equal(plumb_random_float(v, exponent, 23, 8, 0x7f7fffff), f_bits);
        assert_int_equal(plumb_random_float(v, far, 52, 11, UINT64_C(0x7fefffffffffffff)), d_bits);
    }
}

/* ---- Following the statistics ---------------------------------------------------------------- */

struct seen {
    double min, max, mean, std;
    double first;
};

static struct seen values_of(const char *dtype, const struct plumb_signature_stats *stats)
{
    static unsigned char bytes[COUNT * 8];
    static double values[COUNT];
    struct plumb_dtype type;
    struct plumb_random r;
    plumb_error err = {0, ""};
    struct seen s = {.min = INFINITY, .max = -INFINITY};
    double squares = 0;
    assert_int_equal(plumb_dtype_parse(&type, dtype, &err), PLUMB_OK);
    assert_int_equal(plumb_random_of(&r, type, stats, &err), PLUMB_OK);
    r.seed = plumb_random_seed(3, "stage", dtype);
    plumb_random_fill(bytes, 0, COUNT, &r);
    plumb_load_of(type, &err)(values, bytes, COUNT, plumb_random_element_bytes(r.element));
    for (int i = 0; i < COUNT; i++) {
        s.mean += values[i] / COUNT;
        s.min = fmin(s.min, values[i]);
        s.max = fmax(s.max, values[i]);
    }
    for (int i = 0; i < COUNT; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    s.std = sqrt(squares / (COUNT - 1));
    s.first = values[0];
    return s;
}

static void is_about(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%g is not %g, within %g", value, wanted, within);
}

static void follows(const char *dtype, double min, double max, double mean, double std)
{
    const struct plumb_signature_stats stats = {
        .n = 100000, .min = min, .max = max, .mean = mean, .std = std};
    struct seen s = values_of(dtype, &stats);
    assert_true(s.min >= min && s.max <= max);
    /* Of so many values, by chance and by rounding to halves and eighths. */
    is_about(s.mean, mean, 0.03 * std + 0.004 * fabs(mean));
    is_about(s.std, std, 0.04 * std + 0.002 * fabs(mean));
}

static void floats_follow_mean_deviation_and_range(void **state)
{
    static const char *const types[] = {"float64",  "float32",       "float16",
                                        "bfloat16", "float8_e4m3fn", "float8_e5m2"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        follows(types[i], -6.5, 7, 0.25, 1);    /* nearly normal */
        follows(types[i], -4, 3.5, 0, 1);       /* three deviations */
        follows(types[i], 0, 1, 0.5, 0.28125);  /* uniform */
        follows(types[i], 0, 6, 0.375, 0.625);  /* most are near 0, as after ReLU */
        follows(types[i], -1, 1, 0, 1);         /* signs */
        follows(types[i], 0, 1, 0.125, 0.3307); /* a mask */
    }
    follows("float64", -1e150, 1e150, 1e149, 3e149);
    follows("float64", 1e-150, 9e-150, 5e-150, 2e-150);
    follows("float32", 1000, 1000.5, 1000.25, 0.1);
    follows("float32", -0x1p100, 3, -0x1p97, 0x1p98); /* an outlier */
}

static void integers_follow_and_never_leave_the_range(void **state)
{
    static const char *const types[] = {"int64",  "int32",  "int16",  "int8",
                                        "uint64", "uint32", "uint16", "uint8"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        follows(types[i], 0, 1, 0.25, 0.433);
        follows(types[i], 3, 120, 60, 30);
        follows(types[i], 0, 100, 50, 10);
        follows(types[i], 7, 7, 7, 0);
    }
    follows("int8", -128, 127, -1, 74);
    follows("int64", -9223372036854775808.0, 9223372036854775807.0, 0, 4e18);
    follows("uint64", 0, 18446744073709551615.0, 9e18, 5e18);
    follows("bool", 0, 1, 0.9, 0.3);
    follows("bool", 1, 1, 1, 0);
}

static void a_constant_is_exact(void **state)
{
    const struct plumb_signature_stats stats = {
        .n = 1, .min = 0.1, .max = 0.1, .mean = 0.1, .std = NAN};
    struct seen s = values_of("float64", &stats);
    (void)state;
    assert_true(s.min == 0.1 && s.max == 0.1);
}

static void without_statistics_values_are_the_documented_ones(void **state)
{
    const struct plumb_signature_stats none = {
        .n = 5, .nan = 5, .min = NAN, .max = NAN, .mean = NAN, .std = NAN};
    (void)state;
    struct seen s = values_of("float32", NULL);
    is_about(s.mean, 0, 0.03);
    is_about(s.std, 1, 0.03);
    assert_true(s.min >= -6 && s.max <= 6);
    assert_true(values_of("float32", &none).first == s.first);
    s = values_of("uint8", NULL);
    assert_true(s.min == 0 && s.max == 255);
    is_about(s.mean, 127.5, 2);
    is_about(s.std, 73.9, 1);
    static const char *const coins[] = {"bool",  "int8",   "int16", "int32",
                                        "int64", "uint16", "uint64"};
    for (size_t i = 0; i < sizeof coins / sizeof coins[0]; i++) {
        s = values_of(coins[i], NULL);
        assert_true(s.min == 0 && s.max == 1);
        is_about(s.mean, 0.5, 0.02);
    }
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void types_without_values_are_refused(void **state)
{
    static const char *const types[] = {"float32x4", "dlpack(3,64,1)", "dlpack(2,8,1)",
                                        "dlpack(0,4,1)", "dlpack(77,8,1)"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct plumb_dtype type;
        struct plumb_random r;
        plumb_error err = {0, ""};
        assert_int_equal(plumb_dtype_parse(&type, types[i], &err), PLUMB_OK);
        assert_int_equal(plumb_random_of(&r, type, NULL, &err), PLUMB_ERR_ARG);
        assert_non_null(strstr(err.message, types[i]));
    }
}

static void statistics_that_contradict_each_other_are_refused(void **state)
{
    const struct plumb_signature_stats bad[] = {
        {.n = 9, .min = 2, .max = 1, .mean = 1.5, .std = 1},
        {.n = 9, .min = 0, .max = 1, .mean = 0.5, .std = -1},
        {.n = 9, .min = 0, .max = INFINITY, .mean = 0.5, .std = 1},
        {.n = 9, .min = 0, .max = 1, .mean = NAN, .std = 1}};
    const struct plumb_dtype f32 = {PLUMB_DTYPE_FLOAT, 32, 1};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct plumb_random r;
        plumb_error err = {0, ""};
        assert_int_equal(plumb_random_of(&r, f32, &bad[i], &err), PLUMB_ERR_FORMAT);
        assert_non_null(strstr(err.message, "contradict"));
    }
    /* Nonsense that can be made sense of stays within the range, and within the arithmetic. */
    const struct plumb_signature_stats odd[] = {
        {.n = 9, .min = -1, .max = 1, .mean = 1e300, .std = 1e308},
        {.n = 9, .min = -1.7e308, .max = 1.7e308, .mean = 5e-324, .std = 1.7e308},
        {.n = 9, .min = 5e-324, .max = 1e-323, .mean = 5e-324, .std = 1e308},
        {.n = 9, .min = 0, .max = 0, .mean = 0, .std = 0}};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        static const char *const types[] = {"float64", "float32", "int64", "uint8", "bool"};
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            struct seen s = values_of(types[t], &odd[i]);
            if (t == 0)
                assert_true(s.min >= odd[i].min && s.max <= odd[i].max);
        }
    }
}

/* ---- The text -------------------------------------------------------------------------------- */

static void the_generated_text_is_that_of_the_header(void **state)
{
    FILE *f = fopen(TEST_PLUMB_SOURCE_DIR "/src/isolate/random_fill.h", "rb");
    size_t size = strlen(plumb_random_fill_text);
    char *text = calloc(1, size + 2);
    (void)state;
    assert_non_null(f);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size + 1, f), size);
    assert_string_equal(text, plumb_random_fill_text);
    free(text);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_floats_are_the_nearest),
        cmocka_unit_test(large_floats_round_as_the_machine_does),
        cmocka_unit_test(floats_follow_mean_deviation_and_range),
        cmocka_unit_test(integers_follow_and_never_leave_the_range),
        cmocka_unit_test(a_constant_is_exact),
        cmocka_unit_test(without_statistics_values_are_the_documented_ones),
        cmocka_unit_test(types_without_values_are_refused),
        cmocka_unit_test(statistics_that_contradict_each_other_are_refused),
        cmocka_unit_test(the_generated_text_is_that_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
