/* Operations of a planted trace: nothing counts twice, stages have their own, the ideal time. */
#include "analyze/roofline/totals.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct plumb_table t;
static plumb_error err;
static uint32_t track;

static const struct plumb_peaks peaks = {
    .bandwidth = {{5e9, 0.01, "sum"}, {10e9, 0.01, "triad"}},
    .compute[PLUMB_PEAK_F32] = {{50, 0.01, "fma"}, {100, 0.01, "fma"}},
    .compute[PLUMB_PEAK_INT8] = {{200, 0.01, "vnni"}, {400, 0.01, "vnni"}},
};

static int begin(void **state)
{
    (void)state;
    assert_int_equal(plumb_table_init(&t, &err), 0);
    track = plumb_table_new_track(&t);
    t.plumb = true;
    struct plumb_table_track *row = &t.tracks[track];
    row->kind = PLUMB_TRACK_THREAD;
    row->has_tid = true;
    return 0;
}

static int end(void **state)
{
    (void)state;
    plumb_table_fini(&t);
    return 0;
}

static uint32_t id(const char *text)
{
    return plumb_table_string(&t, text, strlen(text));
}

/* flops or bytes -1: none */
static uint32_t slice(const char *name, int64_t from, uint64_t ns, int flops, int bytes,
                      const char *type)
{
    uint32_t s = plumb_table_complete(&t, track, from, ns, id(name), 0);
    union plumb_table_number v = {.u64 = (uint64_t)flops};
    if (flops >= 0)
        plumb_table_add_arg(&t, s, id("flops"), PLUMB_ARG_U64, v);
    v.u64 = (uint64_t)bytes;
    if (bytes >= 0)
        plumb_table_add_arg(&t, s, id("bytes"), PLUMB_ARG_U64, v);
    v.u64 = type ? id(type) : 0;
    if (type)
        plumb_table_add_arg(&t, s, id("dtypes"), PLUMB_ARG_TEXT, v);
    return s;
}

static struct plumb_work_totals totals(const char *stage)
{
    struct plumb_work_totals out;
    assert_int_equal(plumb_table_finish(&t, &err), 0);
    uint32_t name = stage ? plumb_strings_find(&t.strings, stage) : 0;
    struct plumb_kernel_row conv = {.name = plumb_strings_find(&t.strings, "conv")};
    struct plumb_totals_of of = {&name, stage ? 1 : 0, &conv};
    assert_int_equal(plumb_work_totals_init(&out, &t, &of, &err), 0);
    return out;
}

static void assert_figure(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void a_span_and_the_kernels_inside_it_count_once(void **state)
{
    (void)state;
    /* The span knows more than its kernel: the span counts. */
    slice("stage", 0, 1000, -1, -1, NULL);
    slice("attention", 10, 400, 500, 64, "f32");
    slice("matmul", 20, 100, 300, 32, "f32");
    /* The kernels know more than the span around them: the kernels count. */
    slice("mlp", 500, 400, 100, 8, "f32");
    slice("matmul", 510, 100, 300, 32, "f32");
    slice("reorder", 700, 50, 0, 16, "f32");
    struct plumb_work_totals sum = totals(NULL);
    assert_figure(sum.work.flops, 800);
    assert_figure(sum.work.bytes, 64 + 32 + 16);
    assert_int_equal(sum.work.kernels, 3);
    assert_int_equal(sum.wall_ns, 1000);
    assert_int_equal(sum.stage_count, 1);
    assert_string_equal(plumb_table_text(&t, sum.stages[0].name), "stage");
    assert_int_equal(sum.stages[0].wall_ns, 1000);
    assert_int_equal(sum.stages[0].kernel_ns, 400 + 100 + 50);
    assert_int_equal(sum.stages[0].copy_ns, 50);
    assert_figure(sum.stages[0].work.flops, 800);
    plumb_work_totals_fini(&sum);
}

static void three_levels_count_at_the_one_that_knows_most(void **state)
{
    (void)state;
    slice("outer", 0, 1000, 900, -1, "f32");
    slice("middle", 10, 400, 100, -1, "f32");
    slice("inner", 20, 100, 300, -1, "f32");
    struct plumb_work_totals sum = totals(NULL);
    assert_figure(sum.work.flops, 900);
    assert_int_equal(sum.work.kernels, 1);
    assert_int_equal(sum.work.no_bytes, 1);
    assert_int_equal(sum.stage_count, 1);
    assert_figure(sum.stages[0].work.flops, 900);
    assert_int_equal(sum.stages[0].runs, 1);
    plumb_work_totals_fini(&sum);
}

static void a_stage_is_timed_while_any_of_its_runs_is_open(void **state)
{
    (void)state;
    slice("main", 0, 5000, -1, -1, NULL);
    slice("decode", 100, 400, -1, -1, NULL);
    slice("conv", 110, 100, 10, 10, "f32");
    slice("decode", 900, 100, -1, -1, NULL);
    slice("conv", 910, 50, 10, 10, "f32");
    slice("conv", 2000, 50, 10, 10, "f32"); /* in no stage */
    track = plumb_table_new_track(&t);
    struct plumb_table_track *row = &t.tracks[track];
    row->kind = PLUMB_TRACK_THREAD;
    row->has_tid = true;
    row->tid = 2;
    slice("decode", 400, 200, -1, -1, NULL); /* 100 of it together with the first */
    slice("conv", 410, 50, 10, 10, "f32");
    struct plumb_work_totals sum = totals("decode");
    assert_figure(sum.work.flops, 40);
    assert_int_equal(sum.stage_count, 1);
    assert_int_equal(sum.stages[0].runs, 3);
    assert_int_equal(sum.stages[0].wall_ns, 500 + 100);
    assert_figure(sum.stages[0].work.flops, 30);
    assert_int_equal(sum.stages[0].wanted_ns, 100 + 50 + 50);
    plumb_work_totals_fini(&sum);
}

static void work_without_an_end_is_left_out(void **state)
{
    (void)state;
    slice("main", 0, 1000, -1, -1, NULL);
    slice("conv", 10, 100, 10, 10, "f32");
    union plumb_table_number five = {.u64 = 5};
    plumb_table_add_arg(&t, plumb_table_begin(&t, track, 2000, id("conv"), 0), id("flops"),
                        PLUMB_ARG_U64, five);
    struct plumb_work_totals sum = totals(NULL);
    assert_figure(sum.work.flops, 10);
    assert_int_equal(sum.left_out, 1);
    plumb_work_totals_fini(&sum);
}

static void the_ideal_time_has_each_type_at_its_peak(void **state)
{
    (void)state;
    struct plumb_work w = {.flops = 1000, .bytes = 10};
    double without = 0;
    w.by_type[PLUMB_PEAK_F32] = 300;
    w.by_type[PLUMB_PEAK_INT8] = 400;
    w.by_type[PLUMB_PEAK_F16] = 200;
    w.by_type[PLUMB_PEAK_TYPES] = 100;
    assert_figure(plumb_work_ideal_s(&w, &peaks, PLUMB_PEAK_ALL, &without), 3 + 1);
    assert_figure(without, 300);
    assert_figure(plumb_work_ideal_s(&w, &peaks, PLUMB_PEAK_ONE, &without), 6 + 2);
    struct plumb_roof_point p = plumb_work_point(&w, 2, 1000);
    assert_int_equal(p.type, PLUMB_PEAK_INT8);
    assert_figure(p.bytes, 10);
    w.no_bytes = 1;
    assert_true(plumb_work_point(&w, 2, 1000).bytes < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_span_and_the_kernels_inside_it_count_once, begin, end),
        cmocka_unit_test_setup_teardown(three_levels_count_at_the_one_that_knows_most, begin, end),
        cmocka_unit_test_setup_teardown(a_stage_is_timed_while_any_of_its_runs_is_open, begin, end),
        cmocka_unit_test_setup_teardown(work_without_an_end_is_left_out, begin, end),
        cmocka_unit_test(the_ideal_time_has_each_type_at_its_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
