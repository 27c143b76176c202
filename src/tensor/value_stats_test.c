/* Tests of value_stats.c against plain sums in two passes, for every element type, stride and path.
 * labels: notsan
 * timeout: 300 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>

#include "values_fixture.h"

/* ---- Every element type ---------------------------------------------------------------------- */

static void every_small_float_is_exact(void **state)
{
    static const struct {
        const char *name;
        int exponent_bits, mantissa_bits;
        bool has_inf;
    } types[] = {
        {"float16", 5, 10, true},
        {"bfloat16", 8, 7, true},
        {"float8_e5m2", 5, 2, true},
        {"float8_e4m3fn", 4, 3, false},
    };
    (void)state;
    for (int k = 0; k < 4; k++) {
        int bits = 1 + types[k].exponent_bits + types[k].mantissa_bits;
        for (unsigned v = 0; v < 1u << bits; v++) {
            struct fixture_tensor t;
            uint16_t wide = (uint16_t)v;
            uint8_t narrow = (uint8_t)v;
            double x =
                float_by_parts(v, types[k].exponent_bits, types[k].mantissa_bits, types[k].has_inf);
            void *data = bits == 16 ? (void *)&wide : &narrow;
            assert_stats(fixture_tensor(&t, data, types[k].name, NO_DIMS), &x, 1);
        }
    }
}

static void the_landmarks_of_small_floats_are_right(void **state)
{
    static const struct {
        const char *name;
        uint16_t bits;
        double value;
    } marks[] = {
        {"float16", 0x3c00, 1},         {"float16", 0x7bff, 65504},
        {"float16", 0x0001, 0x1p-24},   {"float16", 0xc000, -2},
        {"bfloat16", 0x3f80, 1},        {"bfloat16", 0x0001, 0x1p-133},
        {"float8_e4m3fn", 0x7e, 448},   {"float8_e4m3fn", 0x01, 0x1p-9},
        {"float8_e4m3fn", 0xb8, -1},    {"float8_e5m2", 0x7b, 57344},
        {"float8_e5m2", 0x01, 0x1p-16}, {"float8_e5m2", 0x3c, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct fixture_tensor t;
        uint16_t data = marks[i].bits; /* the lower byte first, as everywhere plumb runs */
        assert_true(stats_of(fixture_tensor(&t, &data, marks[i].name, NO_DIMS)).max ==
                    marks[i].value);
    }
}

enum { MANY = 10000 };

#define CHECK_TYPE(name, type, make)                                                               \
    do {                                                                                           \
        struct fixture_tensor t;                                                                   \
        type *data = malloc(MANY * sizeof *data);                                                  \
        double *x = malloc(MANY * sizeof *x);                                                      \
        assert_true(data &&x);                                                                     \
        for (int i = 0; i < MANY; i++) {                                                           \
            data[i] = (type)(make);                                                                \
            x[i] = (double)data[i];                                                                \
        }                                                                                          \
        for (int n = 1; n <= MANY; n = n < 40 ? n + 1 : n * 3 / 2)                                 \
            assert_stats(fixture_tensor(&t, data, name, DIMS(n)), x, (size_t)n);                   \
        free(data);                                                                                \
        free(x);                                                                                   \
    } while (0)

static void every_type_has_its_statistics(void **state)
{
    (void)state;
    CHECK_TYPE("float64", double, next_normal());
    CHECK_TYPE("float32", float, next_normal());
    CHECK_TYPE("int8", int8_t, next_random());
    CHECK_TYPE("int16", int16_t, next_random());
    CHECK_TYPE("int32", int32_t, next_random());
    CHECK_TYPE("int64", int64_t, next_random());
    CHECK_TYPE("uint8", uint8_t, next_random());
    CHECK_TYPE("uint16", uint16_t, next_random());
    CHECK_TYPE("uint32", uint32_t, next_random());
    CHECK_TYPE("uint64", uint64_t, next_random());
    CHECK_TYPE("bool", bool, next_random() & 1);
}

static void the_small_floats_have_their_statistics(void **state)
{
    static const struct {
        const char *name;
        int exponent_bits, mantissa_bits;
        bool has_inf;
    } types[] = {{"float16", 5, 10, true},
                 {"bfloat16", 8, 7, true},
                 {"float8_e5m2", 5, 2, true},
                 {"float8_e4m3fn", 4, 3, false}};
    static double x[MANY];
    static uint16_t wide[MANY];
    static uint8_t narrow[MANY];
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct fixture_tensor t;
        int bits = 1 + types[k].exponent_bits + types[k].mantissa_bits;
        for (int i = 0; i < MANY; i++) {
            wide[i] = (uint16_t)(next_random() & ((1u << bits) - 1));
            narrow[i] = (uint8_t)wide[i];
            x[i] = float_by_parts(wide[i], types[k].exponent_bits, types[k].mantissa_bits,
                                  types[k].has_inf);
        }
        void *data = bits == 16 ? (void *)wide : narrow;
        assert_stats(fixture_tensor(&t, data, types[k].name, DIMS(100, MANY / 100)), x, MANY);
    }
}

static void any_byte_but_zero_is_true(void **state)
{
    struct fixture_tensor t;
    unsigned char data[] = {0, 1, 2, 255, 0};
    static const double x[] = {0, 1, 1, 1, 0};
    (void)state;
    assert_stats(fixture_tensor(&t, data, "bool", DIMS(5)), x, 5);
}

static void lanes_count_as_values(void **state)
{
    struct fixture_tensor t;
    float data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const double x[] = {1, 2, 3, 4, 9, 10, 11, 12};
    (void)state;
    assert_stats(fixture_strided(&t, data, "float32x4", DIMS(2), STRIDES(2)), x, 8);
}

static void types_without_order_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *name, *why;
    } types[] = {
        {"complex64", "no statistics of complex64: complex numbers have no order"},
        {"complex128", "no statistics of complex128: complex numbers have no order"},
        {"dlpack(3,64,1)", "no statistics of dlpack(3,64,1): the element type is unknown"},
        {"dlpack(2,24,1)", "no statistics of dlpack(2,24,1): the element type is unknown"},
        {"dlpack(8,8,1)", "no statistics of dlpack(8,8,1): the element type is unknown"},
        {"dlpack(17,4,1)", "elements of dlpack(17,4,1) do not fill whole bytes"},
    };
    double data[4] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct fixture_tensor t;
        struct plumb_view view;
        struct plumb_value_stats stats = {.n = 77};
        plumb_error err = {0, ""};
        assert_int_equal(
            plumb_view_init(&view, fixture_tensor(&t, data, types[i].name, DIMS(2)), NULL),
            PLUMB_OK);
        assert_int_equal(plumb_value_stats(&stats, &view, EVERYTHING, &err), PLUMB_ERR_ARG);
        assert_string_equal(err.message, types[i].why);
        assert_int_equal(stats.n, 77);
    }
}

/* ---- Shapes and strides ---------------------------------------------------------------------- */

static void no_elements_have_no_statistics(void **state)
{
    struct fixture_tensor t;
    (void)state;
    assert_stats(fixture_tensor(&t, NULL, "float32", DIMS(3, 0, 2)), NULL, 0);
}

static void one_value_has_no_deviation(void **state)
{
    struct fixture_tensor t;
    float data = -2.5f;
    (void)state;
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, &data, "float32", NO_DIMS));
    assert_true(s.n == 1 && s.min == -2.5 && s.max == -2.5 && s.mean == -2.5 && s.sum == -2.5);
    assert_true(isnan(s.std));
}

static void every_stride_finds_its_values(void **state)
{
    static float data[4096];
    static double x[4096];
    (void)state;
    for (int i = 0; i < 4096; i++)
        data[i] = (float)next_normal();
    for (int round = 0; round < 2000; round++) {
        struct fixture_tensor t;
        int64_t shape[4] = {1 + (int64_t)(next_random() % 9), 1 + (int64_t)(next_random() % 9),
                            1 + (int64_t)(next_random() % 9), -1};
        int64_t strides[3];
        size_t n = 0;
        for (int d = 0; d < 3; d++)
            strides[d] = (int64_t)(next_random() % 161) - 80;
        if (round % 4 == 0) /* transposed */
            strides[0] = 1, strides[1] = shape[0], strides[2] = shape[0] * shape[1];
        if (round % 5 == 0) /* broadcast */
            strides[next_random() % 3] = 0;
        for (int64_t i = 0; i < shape[0]; i++)
            for (int64_t j = 0; j < shape[1]; j++)
                for (int64_t k = 0; k < shape[2]; k++)
                    x[n++] = (double)data[2048 + i * strides[0] + j * strides[1] + k * strides[2]];
        assert_stats(fixture_strided(&t, data + 2048, "float32", shape, strides), x, n);
    }
}

static void odd_addresses_are_read(void **state)
{
    static unsigned char data[8 * 1000 + 8];
    static double x[1000];
    (void)state;
    for (int i = 0; i < 1000; i++)
        x[i] = next_normal();
    memcpy(data + 3, x, sizeof x);
    struct fixture_tensor t;
    DLTensor *dl = fixture_tensor(&t, data, "float64", DIMS(1000));
    dl->byte_offset = 3;
    assert_stats(dl, x, 1000);
}

static void a_broadcast_value_is_read_once(void **state)
{
    struct fixture_tensor t;
    float data[2] = {1, 3};
    (void)state;
    const uint64_t half = UINT64_C(1) << 59;
    struct plumb_value_stats s =
        stats_of(fixture_strided(&t, data, "float32", DIMS(INT64_C(1) << 59, 2), STRIDES(0, 1)));
    assert_int_equal(s.n, 2 * half);
    assert_true(s.sum == 4 * (double)half && s.mean == 2 && s.min == 1 && s.max == 3);
    assert_true(near(s.std, 1, 1e-12));
    data[0] = NAN;
    s = stats_of(fixture_strided(&t, data, "float32", DIMS(INT64_C(1) << 59, 2), STRIDES(0, 1)));
    assert_int_equal(s.nan, half);
    assert_true(s.sum == 3 * (double)half && s.std == 0);
}

/* Windows over little memory: each byte is read again and again. */
static void more_values_than_31_bits_hold_are_counted(void **state)
{
    enum { WINDOW = 1 << 16, WINDOWS = (1 << 15) + 1 };
    static uint8_t data[WINDOW + WINDOWS];
    struct fixture_tensor t;
    double ones = 0;
    (void)state;
    if (strcmp(TEST_PLUMB_BUILD_KIND, "plain") != 0)
        skip(); /* the same again, ten times slower */
    for (int i = 0; i < WINDOW + WINDOWS; i++)
        data[i] = next_random() & 1;
    for (int i = 0; i < WINDOWS; i++)
        for (int k = 0; i == 0 && k < WINDOW; k++)
            ones += data[k];
    double window = ones;
    for (int i = 1; i < WINDOWS; i++) {
        window += data[i + WINDOW - 1] - data[i - 1];
        ones += window;
    }
    struct plumb_view view;
    struct plumb_value_stats s;
    fixture_strided(&t, data, "bool", DIMS(WINDOWS, WINDOW), STRIDES(1, 1));
    assert_int_equal(plumb_view_init(&view, &t.dl, NULL), PLUMB_OK);
    assert_int_equal(plumb_value_stats(&s, &view, PLUMB_VALUE_SPREAD, NULL), PLUMB_OK);
    double n = (double)WINDOWS * WINDOW;
    assert_true(s.n > UINT64_C(1) << 31 && (double)s.n == n);
    assert_true(s.sum == ones && s.min == 0 && s.max == 1);
    assert_true(near(s.std, sqrt((ones - ones * ones / n) / (n - 1)), 1e-9));
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void values_that_are_not_finite_are_counted_beside_the_rest(void **state)
{
    static double x[3000];
    struct fixture_tensor t;
    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3000; i++) {
            uint64_t r = next_random();
            x[i] = next_normal();
            if ((int)(r % 20) < round)
                x[i] = r >> 32 & 1 ? NAN : r >> 33 & 1 ? INFINITY : -INFINITY;
        }
        assert_stats(fixture_tensor(&t, x, "float64", DIMS(3000)), x, 3000);
    }
    for (int i = 0; i < 3000; i++)
        x[i] = i % 2 ? NAN : -INFINITY;
    assert_stats(fixture_tensor(&t, x, "float64", DIMS(3000)), x, 3000);
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "float64", DIMS(3000)));
    assert_true(s.n == 3000 && s.sum == 0 && isnan(s.min) && isnan(s.mean) && isnan(s.std));
}

static void a_far_mean_leaves_the_deviation_alone(void **state)
{
    enum { N = 1000000 };
    static float f32[N];
    static double x[N];
    struct fixture_tensor t;
    (void)state;
    for (int i = 0; i < N; i++) {
        f32[i] = (float)(1e4 + next_normal());
        x[i] = (double)f32[i];
    }
    assert_stats(fixture_tensor(&t, f32, "float32", DIMS(N)), x, N);
    for (int i = 0; i < N; i++)
        x[i] = 1e15 + (double)(next_random() % 5);
    assert_stats(fixture_tensor(&t, x, "float64", DIMS(N)), x, N);
    for (int i = 0; i < N; i++)
        x[i] = i < N / 2 ? 1e9 : 1e9 + 0x1p-20;
    assert_stats(fixture_tensor(&t, x, "float64", DIMS(N)), x, N);
}

static void the_ends_of_the_range_have_statistics(void **state)
{
    enum { N = 5000 };
    static double x[N];
    static float f32[N];
    static const double scales[] = {0x1p-1074, 0x1p-1060, 1e-300, 1e-200, 1e-150,
                                    1e-140,    1e140,     1e160,  1e200,  1e303};
    struct fixture_tensor t;
    (void)state;
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        for (int i = 0; i < N; i++)
            x[i] = (double)(int)(100 * next_normal()) * scales[k];
        assert_stats(fixture_tensor(&t, x, "float64", DIMS(N)), x, N);
    }
    for (int i = 0; i < N; i++) {
        f32[i] = (float)(next_random() % 1000) * 0x1p-149f;
        x[i] = (double)f32[i];
    }
    assert_stats(fixture_tensor(&t, f32, "float32", DIMS(N)), x, N);
    x[0] = x[1] = 0x1.fffffffffffffp1023;
    x[2] = -x[0];
    struct plumb_value_stats s = stats_of(fixture_tensor(&t, x, "float64", DIMS(2)));
    assert_true(s.mean == x[0] && s.std == 0 && isinf(s.sum) && s.pos_inf == 0);
    assert_stats(fixture_tensor(&t, x, "float64", DIMS(3)), x, 3);
}

/* ---- The program's own arithmetic ------------------------------------------------------------ */

/* stats_of() itself compares NaNs. */
static struct plumb_value_stats untested_stats_of(const DLTensor *dl)
{
    struct plumb_view view;
    struct plumb_value_stats s;
    memset(&s, 0, sizeof s); /* what lies between its members is compared as well */
    assert_int_equal(plumb_view_init(&view, dl, NULL), PLUMB_OK);
    assert_int_equal(plumb_value_stats(&s, &view, EVERYTHING, NULL), PLUMB_OK);
    return s;
}

static void the_floating_point_environment_is_left_alone(void **state)
{
    struct fixture_tensor t;
    double x[] = {1e308, 1e308, NAN, INFINITY, -INFINITY, 0x1p-1074, 1.0 / 3};
    (void)state;
    struct plumb_value_stats plain = untested_stats_of(fixture_tensor(&t, x, "float64", DIMS(7)));
    assert_int_equal(feclearexcept(FE_ALL_EXCEPT), 0);
    untested_stats_of(&t.dl);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    feraiseexcept(FE_UNDERFLOW);
    untested_stats_of(&t.dl);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), FE_UNDERFLOW);
    assert_int_equal(fesetround(FE_UPWARD), 0);
    struct plumb_value_stats up = untested_stats_of(&t.dl);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), FE_UNDERFLOW);
    assert_memory_equal(&plain, &up, sizeof up);
    feclearexcept(FE_ALL_EXCEPT);
#if defined(__x86_64__) /* others may have no traps */
    assert_int_not_equal(feenableexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO), -1);
    struct plumb_value_stats trapped = untested_stats_of(&t.dl);
    assert_int_equal(fegetexcept(), FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO);
    fedisableexcept(FE_ALL_EXCEPT);
    assert_memory_equal(&plain, &trapped, sizeof trapped);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_float_is_exact),
        cmocka_unit_test(the_landmarks_of_small_floats_are_right),
        cmocka_unit_test(every_type_has_its_statistics),
        cmocka_unit_test(the_small_floats_have_their_statistics),
        cmocka_unit_test(any_byte_but_zero_is_true),
        cmocka_unit_test(lanes_count_as_values),
        cmocka_unit_test(types_without_order_are_refused_with_the_reason),
        cmocka_unit_test(no_elements_have_no_statistics),
        cmocka_unit_test(one_value_has_no_deviation),
        cmocka_unit_test(every_stride_finds_its_values),
        cmocka_unit_test(odd_addresses_are_read),
        cmocka_unit_test(a_broadcast_value_is_read_once),
        cmocka_unit_test(more_values_than_31_bits_hold_are_counted),
        cmocka_unit_test(values_that_are_not_finite_are_counted_beside_the_rest),
        cmocka_unit_test(a_far_mean_leaves_the_deviation_alone),
        cmocka_unit_test(the_ends_of_the_range_have_statistics),
        cmocka_unit_test(the_floating_point_environment_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
