/* Decades of the axes, places of labels. */
#include <math.h>
#include <string.h>

#include "report/roofline/svg_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_axis_has_whole_decades_around_what_it_shows(void **state)
{
    struct plumb_log_range range = {0, 0};
    (void)state;
    plumb_log_range_add(&range, 0.3);
    plumb_log_range_add(&range, 4000);
    plumb_log_range_add(&range, 0);
    plumb_log_range_add(&range, -5);
    plumb_log_range_add(&range, (double)NAN);
    plumb_log_range_add(&range, (double)INFINITY);
    struct plumb_log_axis axis = plumb_log_axis_of(&range, 500, 0);
    assert_int_equal(axis.low, -1);
    assert_int_equal(axis.high, 4);
    assert_true(fabs(plumb_log_axis_px(&axis, 0.1) - 500) < 1e-9);
    assert_true(fabs(plumb_log_axis_px(&axis, 1) - 400) < 1e-9);
    assert_true(fabs(plumb_log_axis_px(&axis, 10000)) < 1e-9);
    assert_true(plumb_log_axis_has(&axis, 10000));
    assert_false(plumb_log_axis_has(&axis, 10001));
    assert_false(plumb_log_axis_has(&axis, 0));
    assert_false(plumb_log_axis_has(&axis, (double)NAN));
}

static void an_axis_is_never_empty_and_never_endless(void **state)
{
    struct plumb_log_range range = {0, 0};
    (void)state;
    struct plumb_log_axis axis = plumb_log_axis_of(&range, 0, 100);
    assert_int_equal(axis.high - axis.low, 2);
    plumb_log_range_add(&range, 100);
    axis = plumb_log_axis_of(&range, 0, 100);
    assert_int_equal(axis.low, 1);
    assert_int_equal(axis.high, 3);
    plumb_log_range_add(&range, 1e-300);
    plumb_log_range_add(&range, 1e300);
    axis = plumb_log_axis_of(&range, 0, 100);
    assert_int_equal(axis.low, -9);
    assert_int_equal(axis.high, 12);
    assert_int_equal(plumb_log_axis_every(&axis, 24), 6); /* 4.76 px a decade */
    range = (struct plumb_log_range){1e-300, 1e-299};
    axis = plumb_log_axis_of(&range, 0, 100);
    assert_int_equal(axis.low, -9);
    assert_int_equal(axis.high, -7);
}

static void a_decade_is_written_out_as_long_as_it_is_short(void **state)
{
    static const struct {
        int decade;
        const char *text;
    } all[] = {{-5, "1e-5"}, {-4, "0.0001"}, {-1, "0.1"}, {0, "1"}, {5, "100000"}, {6, "1e6"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct plumb_buf out = {0};
        plumb_log_axis_label(&out, all[i].decade);
        assert_string_equal(out.data, all[i].text);
        plumb_buf_fini(&out);
    }
}

static void labels_go_to_free_places_until_there_are_none(void **state)
{
    const struct plumb_box inside = {0, 0, 300, 300};
    struct plumb_boxes boxes = {.at = NULL};
    struct plumb_box at[200];
    size_t n = 0;
    (void)state;
    while (n < 200 && plumb_boxes_place(&at[n], &boxes, &inside, 150, 150, 5, 40, 14))
        n++;
    assert_in_range(n, 20, 60);
    for (size_t i = 0; i < n; i++) {
        assert_true(at[i].left >= 0 && at[i].right <= 300 && at[i].top >= 0 && at[i].bottom <= 300);
        for (size_t k = 0; k < i; k++)
            assert_true(at[i].right <= at[k].left || at[k].right <= at[i].left ||
                        at[i].bottom <= at[k].top || at[k].bottom <= at[i].top);
    }
    plumb_boxes_fini(&boxes);
}

static void places_are_moved_apart_and_stay_in_order(void **state)
{
    double at[] = {10, 11, 12, 90, 99};
    (void)state;
    plumb_spread(at, 5, 15, 0, 100);
    for (int i = 1; i < 5; i++)
        assert_true(at[i] - at[i - 1] >= 15 - 1e-9);
    assert_true(at[0] >= 0 && at[4] <= 100);
    double far[] = {10, 50};
    plumb_spread(far, 2, 15, 0, 100);
    assert_true(far[0] == 10 && far[1] == 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_has_whole_decades_around_what_it_shows),
        cmocka_unit_test(an_axis_is_never_empty_and_never_endless),
        cmocka_unit_test(a_decade_is_written_out_as_long_as_it_is_short),
        cmocka_unit_test(labels_go_to_free_places_until_there_are_none),
        cmocka_unit_test(places_are_moved_apart_and_stay_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
