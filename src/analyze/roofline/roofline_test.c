/* Kernels of a planted trace under planted peaks: rows, shares and verdicts, by hand. */
#include "analyze/roofline/roofline.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct plumb_table t;
static plumb_error err;

/* 100 GFLOP/s of f32 and 10 GB/s on all cores: the ridge is at 10 operations a byte. */
static const struct plumb_peaks peaks = {
    .cpu = "planted",
    .cores = 2,
    .bandwidth = {{5e9, 0.01, "sum"}, {10e9, 0.01, "triad"}},
    .compute[PLUMB_PEAK_F32] = {{50e9, 0.01, "fma"}, {100e9, 0.01, "fma"}},
};

static struct plumb_roof roof(double flops, double bytes, uint64_t ns, enum plumb_peak_type type)
{
    struct plumb_roof_point p = {1, ns, flops, bytes, type};
    return plumb_roof_of(&p, &peaks, PLUMB_PEAK_ALL);
}

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void a_kernel_below_the_ridge_near_the_bandwidth_is_memory_bound(void **state)
{
    (void)state;
    /* 8 GB in 1 s; 8 GFLOP: 1 operation a byte */
    struct plumb_roof r = roof(8e9, 8e9, 1000000000, PLUMB_PEAK_F32);
    assert_int_equal(r.verdict, PLUMB_ROOF_MEMORY);
    near(r.memory_share, 0.8);
    near(r.compute_share, 0.08);
    near(r.intensity, 1);
    near(r.ridge, 10);
    near(r.roof_flops, 10e9);
}

static void a_kernel_above_the_ridge_near_the_arithmetic_is_compute_bound(void **state)
{
    (void)state;
    struct plumb_roof r = roof(61e9, 1e9, 1000000000, PLUMB_PEAK_F32);
    assert_int_equal(r.verdict, PLUMB_ROOF_COMPUTE);
    near(r.compute_share, 0.61);
    near(r.roof_flops, 100e9);
}

static void a_kernel_far_from_both_peaks_is_latency_bound(void **state)
{
    (void)state;
    assert_int_equal(roof(59e9, 1e9, 1000000000, PLUMB_PEAK_F32).verdict, PLUMB_ROOF_LATENCY);
    assert_int_equal(roof(1e9, 5.9e9, 1000000000, PLUMB_PEAK_F32).verdict, PLUMB_ROOF_LATENCY);
    /* one core has half of each */
    struct plumb_roof_point p = {1, 1000000000, 31e9, 1e9, PLUMB_PEAK_F32};
    assert_int_equal(plumb_roof_of(&p, &peaks, PLUMB_PEAK_ONE).verdict, PLUMB_ROOF_COMPUTE);
    assert_int_equal(plumb_roof_of(&p, &peaks, PLUMB_PEAK_ALL).verdict, PLUMB_ROOF_LATENCY);
}

static void a_missing_figure_is_unknown_and_says_which(void **state)
{
    (void)state;
    struct plumb_roof r = roof(1e9, -1, 1000000000, PLUMB_PEAK_F32);
    assert_int_equal(r.verdict, PLUMB_ROOF_UNKNOWN);
    assert_int_equal(r.why, PLUMB_ROOF_NO_BYTES);
    assert_true(isnan(r.bytes_rate) && isnan(r.intensity) && isnan(r.roof_flops));
    r = roof(-1, 1e9, 1000000000, PLUMB_PEAK_F32);
    assert_int_equal(r.verdict, PLUMB_ROOF_UNKNOWN);
    assert_int_equal(r.why, PLUMB_ROOF_NO_FLOPS);
    r = roof(1e9, 1e9, 1000000000, PLUMB_PEAK_TYPES);
    assert_int_equal(r.why, PLUMB_ROOF_NO_TYPE);
    r = roof(1e9, 1e9, 1000000000, PLUMB_PEAK_F16);
    assert_int_equal(r.why, PLUMB_ROOF_NO_PEAK);
    r = roof(1e9, 1e9, 0, PLUMB_PEAK_F32);
    assert_int_equal(r.why, PLUMB_ROOF_NO_TIME);
    assert_true(isnan(r.flops_rate));
}

static void one_figure_alone_may_be_enough(void **state)
{
    (void)state;
    assert_int_equal(roof(70e9, -1, 1000000000, PLUMB_PEAK_F32).verdict, PLUMB_ROOF_COMPUTE);
    assert_int_equal(roof(-1, 7e9, 1000000000, PLUMB_PEAK_F32).verdict, PLUMB_ROOF_MEMORY);
}

static void bytes_from_caches_are_no_verdict(void **state)
{
    (void)state;
    struct plumb_roof r = roof(12e9, 12e9, 1000000000, PLUMB_PEAK_F32);
    assert_int_equal(r.verdict, PLUMB_ROOF_UNKNOWN);
    assert_int_equal(r.why, PLUMB_ROOF_CACHED);
    assert_int_equal(roof(70e9, 12e9, 1000000000, PLUMB_PEAK_F32).verdict, PLUMB_ROOF_COMPUTE);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static uint32_t id(const char *text)
{
    return plumb_table_string(&t, text, strlen(text));
}

static void whole(uint32_t slice, const char *key, uint64_t value)
{
    union plumb_table_number v = {.u64 = value};
    plumb_table_add_arg(&t, slice, id(key), PLUMB_ARG_U64, v);
}

static void words(uint32_t slice, const char *key, const char *value)
{
    union plumb_table_number v = {.u64 = id(value)};
    plumb_table_add_arg(&t, slice, id(key), PLUMB_ARG_TEXT, v);
}

static void kernels_that_agree_are_one_row(void **state)
{
    struct plumb_kernel_rows rows;
    (void)state;
    assert_int_equal(plumb_table_init(&t, &err), 0);
    uint32_t track = plumb_table_new_track(&t);
    for (int i = 0; i < 4; i++) {
        uint32_t s = plumb_table_complete(&t, track, 1000 * i, i == 3 ? 100 : 200 + (unsigned)i,
                                          id(i == 3 ? "relu" : "conv"), 0);
        whole(s, "flops", 1000);
        if (i < 3)
            whole(s, "bytes", 64);
        words(s, "shapes", i == 2 ? "src:1x8" : "src:1x4");
        words(s, "dtypes", i == 3 ? "src:undef" : "src:f32 wei:s8");
    }
    plumb_table_complete(&t, track, 9000, 500, id("plain"), 0);
    whole(plumb_table_begin(&t, track, 9800, id("conv"), 0), "flops", 5); /* never ends */
    assert_int_equal(plumb_table_finish(&t, &err), 0);
    assert_int_equal(plumb_kernel_rows_init(&rows, &t, &err), 0);
    assert_int_equal(rows.count, 3);
    assert_int_equal(rows.left_out, 1);
    assert_int_equal(rows.rows[0].of.count, 2);
    assert_int_equal(rows.rows[0].of.total_ns, 401);
    assert_int_equal(rows.rows[0].min_ns, 200);
    assert_int_equal(rows.rows[0].max_ns, 201);
    near(rows.rows[0].of.flops, 2000);
    near(rows.rows[0].of.bytes, 128);
    assert_int_equal(rows.rows[0].of.type, PLUMB_PEAK_F32);
    assert_string_equal(plumb_table_text(&t, rows.rows[1].shapes), "src:1x8");
    assert_string_equal(plumb_table_text(&t, rows.rows[2].name), "relu");
    assert_true(rows.rows[2].of.bytes < 0);
    assert_int_equal(rows.rows[2].of.type, PLUMB_PEAK_TYPES);
    plumb_kernel_rows_fini(&rows);
    plumb_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_below_the_ridge_near_the_bandwidth_is_memory_bound),
        cmocka_unit_test(a_kernel_above_the_ridge_near_the_arithmetic_is_compute_bound),
        cmocka_unit_test(a_kernel_far_from_both_peaks_is_latency_bound),
        cmocka_unit_test(a_missing_figure_is_unknown_and_says_which),
        cmocka_unit_test(one_figure_alone_may_be_enough),
        cmocka_unit_test(bytes_from_caches_are_no_verdict),
        cmocka_unit_test(kernels_that_agree_are_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
