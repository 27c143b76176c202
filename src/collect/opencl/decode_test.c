/* Decoding of a command's times and sizes, and of the intervals that bound a device's clock. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/opencl/anchors.h"
#include "collect/opencl/decode.h"

static const struct plumb_ocl_names names = {
    .op = {[PLUMB_OCL_KERNEL] = 10, [PLUMB_OCL_READ_BUFFER] = 11, [PLUMB_OCL_MARKER] = 12},
    .grid = 1,
    .bytes = 2,
    .queued_us = 3,
    .submit_us = 4};
static const struct plumb_ocl_times usual = {1000, 3500, 4000, 9000};

static void a_kernel_is_a_span_with_its_grid_and_delays(void **state)
{
    struct plumb_ocl_command c = {.op = PLUMB_OCL_KERNEL, .name = 77};
    plumb_event_arg args[PLUMB_EVENT_ARGS];
    plumb_event e;
    (void)state;
    assert_true(plumb_ocl_decode(&e, args, &c, &usual, 55, &names));
    assert_int_equal(e.kind, PLUMB_EVENT_SPAN);
    assert_int_equal(e.name, 77);
    assert_int_equal(e.begin, 4000);
    assert_int_equal(e.end, 9000);
    assert_int_equal(e.arg_count, 3);
    assert_int_equal(args[0].key, 1);
    assert_int_equal(args[0].type, 3);
    assert_int_equal(args[0].value.i64, 55);
    assert_int_equal(args[1].key, 3);
    assert_int_equal(args[1].type, 2);
    assert_true(args[1].value.f64 == 2.5);
    assert_int_equal(args[2].key, 4);
    assert_true(args[2].value.f64 == 0.5);
}

static void a_copy_has_its_bytes_and_the_name_of_what_it_does(void **state)
{
    struct plumb_ocl_command c = {.op = PLUMB_OCL_READ_BUFFER, .has_bytes = true, .bytes = 4096};
    plumb_event_arg args[PLUMB_EVENT_ARGS];
    plumb_event e;
    (void)state;
    assert_true(plumb_ocl_decode(&e, args, &c, &usual, 0, &names));
    assert_int_equal(e.name, 11);
    assert_int_equal(args[0].key, 2);
    assert_int_equal(args[0].type, 1);
    assert_int_equal(args[0].value.i64, 4096);
    c.bytes = UINT64_MAX;
    assert_true(plumb_ocl_decode(&e, args, &c, &usual, 0, &names));
    assert_int_equal(args[0].value.i64, INT64_MAX);
}

static void a_marker_is_no_work(void **state)
{
    struct plumb_ocl_command c = {.op = PLUMB_OCL_MARKER};
    plumb_event_arg args[PLUMB_EVENT_ARGS];
    plumb_event e;
    (void)state;
    assert_true(plumb_ocl_decode(&e, args, &c, &usual, 0, &names));
    assert_int_equal(e.kind, PLUMB_EVENT_INSTANT);
    assert_int_equal(e.begin, 9000);
}

static void times_that_a_driver_leaves_out_are_not_invented(void **state)
{
    static const struct plumb_ocl_times none = {0, 0, 0, 0}, backwards = {1, 2, 9, 8};
    static const struct plumb_ocl_times no_submit = {1000, 0, 4000, 9000},
                                        late_submit = {1000, 5000, 4000, 9000},
                                        no_queued = {0, 3000, 4000, 9000}, empty = {1, 2, 3, 3};
    const struct plumb_ocl_command c = {.op = PLUMB_OCL_KERNEL, .name = 77};
    plumb_event_arg args[PLUMB_EVENT_ARGS];
    plumb_event e;
    (void)state;
    assert_false(plumb_ocl_decode(&e, args, &c, &none, 0, &names));
    assert_false(plumb_ocl_decode(&e, args, &c, &backwards, 0, &names));
    assert_true(plumb_ocl_decode(&e, args, &c, &no_submit, 0, &names));
    assert_int_equal(e.arg_count, 0);
    assert_true(plumb_ocl_decode(&e, args, &c, &late_submit, 0, &names));
    assert_int_equal(e.arg_count, 0);
    assert_true(plumb_ocl_decode(&e, args, &c, &no_queued, 0, &names));
    assert_int_equal(e.arg_count, 0);
    assert_true(plumb_ocl_decode(&e, args, &c, &empty, 0, &names));
    assert_int_equal(e.arg_count, 2);
}

static void the_grid_has_three_dimensions(void **state)
{
    struct plumb_ocl_command c = {.op = PLUMB_OCL_KERNEL,
                                  .dims = 2,
                                  .has_local = true,
                                  .global = {512, 256},
                                  .local = {16, 8}};
    char text[PLUMB_OCL_GRID_TEXT];
    (void)state;
    assert_true(plumb_ocl_grid_text(text, &c));
    assert_string_equal(text, "512x256x1/16x8x1");
    c.has_local = false;
    assert_true(plumb_ocl_grid_text(text, &c));
    assert_string_equal(text, "512x256x1");
    c.dims = 3;
    c.has_local = true;
    for (int i = 0; i < 3; i++)
        c.global[i] = c.local[i] = UINT64_MAX;
    assert_true(plumb_ocl_grid_text(text, &c));
    assert_int_equal(strlen(text), 6 * strlen("18446744073709551615") + 5);
    c.dims = 0;
    assert_false(plumb_ocl_grid_text(text, &c));
    c.dims = 4;
    assert_false(plumb_ocl_grid_text(text, &c));
    c.op = PLUMB_OCL_READ_BUFFER;
    c.dims = 1;
    assert_false(plumb_ocl_grid_text(text, &c));
}

static void each_operation_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < PLUMB_OCL_OPS; i++) {
        assert_non_null(plumb_ocl_op_name((enum plumb_ocl_op)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(plumb_ocl_op_name((enum plumb_ocl_op)i),
                                    plumb_ocl_op_name((enum plumb_ocl_op)k));
    }
    assert_non_null(plumb_ocl_op_name(PLUMB_OCL_OPS));
}

/* ---- Anchors --------------------------------------------------------------------------------- */

enum { MS = 1000000 };

/* The host's clock has a tick a ns here, and runs with the device's. */
static bool offer(struct plumb_ocl_anchors *a, uint64_t source, uint64_t width,
                  struct plumb_ocl_interval *out)
{
    const struct plumb_ocl_interval i = {source, source + 5, source + 5 + width};
    return plumb_ocl_anchors_offer(a, &i, out);
}

static void the_first_interval_is_an_anchor_and_much_narrower_ones_follow_at_once(void **state)
{
    struct plumb_ocl_anchors a = {.any = false};
    struct plumb_ocl_interval out;
    (void)state;
    assert_false(plumb_ocl_anchors_flush(&a, &out));
    assert_true(offer(&a, 1 * MS, 400 * MS, &out));
    assert_int_equal(out.source, 1 * MS);
    assert_false(offer(&a, 2 * MS, 51 * MS, &out));
    assert_true(offer(&a, 3 * MS, 50 * MS, &out));
    assert_true(offer(&a, 4 * MS, 5000, &out));
    assert_int_equal(out.latest - out.earliest, 5000);
    assert_false(offer(&a, 5 * MS, 4000, &out));
}

static void of_a_tenth_of_a_second_the_narrowest_is_kept(void **state)
{
    struct plumb_ocl_anchors a = {.any = false};
    struct plumb_ocl_interval out;
    (void)state;
    assert_true(offer(&a, 1 * MS, 5000, &out));
    assert_false(offer(&a, 60 * MS, 9000, &out));
    assert_false(offer(&a, 70 * MS, 6000, &out));
    assert_false(offer(&a, 80 * MS, 7000, &out));
    assert_true(offer(&a, 101 * MS, 90000, &out));
    assert_int_equal(out.source, 70 * MS);
    assert_false(offer(&a, 150 * MS, 8000, &out));
    assert_true(plumb_ocl_anchors_flush(&a, &out));
    assert_int_equal(out.source, 150 * MS);
    assert_false(plumb_ocl_anchors_flush(&a, &out));
}

static void anchors_are_as_far_apart_as_their_widths_demand(void **state)
{
    struct plumb_ocl_anchors a = {.any = false};
    struct plumb_ocl_interval out;
    (void)state;
    assert_true(offer(&a, 1 * MS, 100000, &out));
    /* 50 and 50 us are 200 ppm of half a second. */
    assert_false(offer(&a, 400 * MS, 100000, &out));
    assert_false(plumb_ocl_anchors_flush(&a, &out));
    assert_true(offer(&a, 502 * MS, 100000, &out));
    assert_int_equal(out.source, 502 * MS);
    /* One that is narrow and too near stands in the way of none that is far enough. */
    assert_false(offer(&a, 503 * MS, 20000, &out));
    assert_true(offer(&a, 1100 * MS, 90000, &out));
    assert_int_equal(out.source, 1100 * MS);
}

static void anchors_only_go_forward(void **state)
{
    struct plumb_ocl_anchors a = {.any = false};
    struct plumb_ocl_interval out;
    const struct plumb_ocl_interval reversed = {500 * MS, 20, 10};
    (void)state;
    assert_false(offer(&a, 0, 10, &out)); /* a driver that reports no time */
    assert_true(offer(&a, 200 * MS, 5000, &out));
    assert_false(offer(&a, 200 * MS, 10, &out));
    assert_false(offer(&a, 100 * MS, 10, &out));
    assert_false(plumb_ocl_anchors_offer(&a, &reversed, &out));
    assert_false(plumb_ocl_anchors_flush(&a, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_a_span_with_its_grid_and_delays),
        cmocka_unit_test(a_copy_has_its_bytes_and_the_name_of_what_it_does),
        cmocka_unit_test(a_marker_is_no_work),
        cmocka_unit_test(times_that_a_driver_leaves_out_are_not_invented),
        cmocka_unit_test(the_grid_has_three_dimensions),
        cmocka_unit_test(each_operation_has_a_name_of_its_own),
        cmocka_unit_test(the_first_interval_is_an_anchor_and_much_narrower_ones_follow_at_once),
        cmocka_unit_test(of_a_tenth_of_a_second_the_narrowest_is_kept),
        cmocka_unit_test(anchors_are_as_far_apart_as_their_widths_demand),
        cmocka_unit_test(anchors_only_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
