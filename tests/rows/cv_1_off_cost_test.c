/* CV-1: off by default; off, a trace point makes no call and the summary is empty; switched off
 * while a run is open, likewise. (What the load and the branch cost is measured in bench/.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

enum { PASSES = 10000000 };

static struct plumb_api counting;
static uint64_t calls;

static plumb_span count_begin(struct plumb_point *point)
{
    plumb_span none = {0};
    (void)point;
    calls++;
    return none;
}

static void count_end(plumb_span span)
{
    (void)span;
    calls++;
}

static plumb_span count_lap(plumb_span span, struct plumb_point *point)
{
    (void)point;
    calls++;
    return span;
}

static void count_register(struct plumb_client *client, struct plumb_point *point)
{
    (void)client;
    (void)point;
    calls++;
}

static void pass(void)
{
    PLUMB_SPAN("node");
}

static void pass_lap(void)
{
    PLUMB_LAPS(laps);
    PLUMB_LAP(laps, "lap");
}

/* Calls through the table while the points are passed again and again. */
static uint64_t calls_of_many_passes(void)
{
    const struct plumb_api *real = plumb_client_1.api;
    calls = 0;
    counting = *real;
    counting.span_begin = counting.span_begin_special = count_begin;
    counting.span_end = count_end;
    counting.span_lap = count_lap;
    counting.point_register = count_register;
    plumb_client_1.api = &counting;
    for (int i = 0; i < PASSES; i++)
        pass();
    for (int i = 0; i < PASSES / 10; i++)
        pass_lap();
    plumb_client_1.api = real;
    return calls;
}

static void nothing_is_recorded_unless_asked_for(void **state)
{
    plumb_rows *rows;
    (void)state;
    assert_false(plumb_is_recording());
    assert_false(plumb_pipeline_enabled(NULL));
    pass();
    pass_lap();
    rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), 0);
    assert_null(plumb_rows_get(rows, 0));
    plumb_rows_free(rows);
}

static void an_empty_summary_says_so(void **state)
{
    char *text = NULL;
    (void)state;
    assert_int_equal(plumb_summary_text(&text, NULL, NULL, 0, NULL), PLUMB_OK);
    assert_string_equal(text, "No profiling data collected.");
    plumb_text_free(text);
}

static void off_a_point_makes_no_call_after_its_first_pass(void **state)
{
    (void)state;
    pass();
    pass_lap();
    assert_int_equal(calls_of_many_passes(), 0);
}

static void a_disabled_pipeline_makes_no_call_either(void **state)
{
    plumb_config off = plumb_config_default(), on = plumb_config_default();
    (void)state;
    on.enabled = 1;
    record_start();
    pass();
    pass_lap();
    assert_int_equal(plumb_configure(NULL, &off, NULL), PLUMB_OK);
    assert_int_equal(calls_of_many_passes(), 0);
    assert_int_equal(record_count("node"), 1);
    assert_int_equal(plumb_configure(NULL, &on, NULL), PLUMB_OK);
    pass();
    assert_int_equal(record_count("node"), 2);
    record_stop();
}

static void after_the_run_points_are_off_again(void **state)
{
    (void)state;
    record_start();
    pass();
    pass_lap();
    assert_true(calls_of_many_passes() > 0);
    record_stop();
    assert_int_equal(calls_of_many_passes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_recorded_unless_asked_for, record_close),
        cmocka_unit_test_teardown(an_empty_summary_says_so, record_close),
        cmocka_unit_test_teardown(off_a_point_makes_no_call_after_its_first_pass, record_close),
        cmocka_unit_test_teardown(a_disabled_pipeline_makes_no_call_either, record_close),
        cmocka_unit_test_teardown(after_the_run_points_are_off_again, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
