/* CV-3: disabling keeps the data, enabling again goes on counting, a reset clears; (+) changing
 * skip_first_n never drops what was counted, and applies to keys that have no samples yet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static void run(const char *name, int times)
{
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < times; i++) {
        PLUMB_SPAN_NODE(node);
        record_work_ns(1000); /* longer than a step of the clock */
    }
}

static void configure(int enabled, int64_t skip, int reset)
{
    plumb_config c = plumb_config_default();
    plumb_error err = {0, ""};
    c.enabled = (uint32_t)enabled;
    c.skip_first_n = skip;
    c.reset = (uint32_t)reset;
    if (plumb_configure(NULL, &c, &err) < 0)
        fail_msg("%s", err.message);
}

static int setup(void **state)
{
    record_setup(state);
    configure(1, 0, 1);
    return 0;
}

static void disabling_keeps_and_enabling_goes_on(void **state)
{
    double total;
    (void)state;
    run("node", 3);
    configure(0, 0, 0);
    run("node", 100);
    total = record_row("node").total_ms;
    assert_int_equal(record_count("node"), 3);
    assert_true(total > 0);
    configure(1, 0, 0);
    run("node", 2);
    assert_int_equal(record_count("node"), 5);
    assert_true(record_row("node").total_ms > total);
}

static void a_span_open_while_recording_is_switched_off_and_on_is_one_sample(void **state)
{
    PLUMB_POINT(point, "long");
    plumb_span span = plumb_begin(&point);
    (void)state;
    configure(0, 0, 0);
    run("inside", 10);
    configure(1, 0, 0);
    run("after", 2);
    plumb_end(span);
    assert_int_equal(record_count("long"), 1);
    assert_null(record_row("inside").node);
    assert_int_equal(record_count("after"), 2);
}

static void a_span_begun_on_and_ended_off_is_a_sample(void **state)
{
    PLUMB_POINT(point, "long");
    plumb_span span = plumb_begin(&point);
    (void)state;
    configure(0, 0, 0);
    plumb_end(span);
    assert_int_equal(record_count("long"), 1);
    configure(1, 0, 0);
    run("node", 1);
    assert_int_equal(record_count("node"), 1);
}

static void a_reset_clears(void **state)
{
    (void)state;
    run("node", 3);
    run("other", 200);
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    assert_null(record_row("node").node);
    assert_null(record_row("other").node);
    run("node", 2);
    assert_int_equal(record_count("node"), 2);
    record_check_row(&(plumb_row){0});
    configure(1, 0, 1);
    assert_null(record_row("node").node);
    run("node", 1);
    assert_int_equal(record_count("node"), 1);
}

static void a_span_open_at_the_reset_leaves_no_sample(void **state)
{
    PLUMB_POINT(point, "long");
    plumb_span span = plumb_begin(&point);
    (void)state;
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    run("node", 1);
    plumb_end(span);
    assert_null(record_row("long").node);
    assert_int_equal(record_count("node"), 1);
}

static void changing_the_skip_drops_nothing(void **state)
{
    double total;
    (void)state;
    run("node", 10);
    total = record_row("node").total_ms;
    configure(1, 5, 0);
    assert_int_equal(record_count("node"), 10);
    assert_true(record_row("node").total_ms >= total * 0.99);
    run("node", 10);
    assert_int_equal(record_count("node"), 20);
    assert_int_equal(record_row("node").skipped, 0);
    /* A key without samples follows the new skip. */
    run("fresh", 7);
    assert_int_equal(record_count("fresh"), 2);
    assert_int_equal(record_row("fresh").skipped, 5);
}

static void a_skip_that_is_raised_before_it_is_used_up_goes_on(void **state)
{
    (void)state;
    configure(1, 4, 0);
    run("node", 2);
    configure(1, 6, 0);
    run("node", 10);
    assert_int_equal(record_row("node").skipped, 6);
    assert_int_equal(record_count("node"), 6);
}

static void a_skip_that_is_lowered_lets_samples_through_at_once(void **state)
{
    (void)state;
    configure(1, 100, 0);
    run("node", 3);
    configure(1, 1, 0);
    run("node", 4);
    assert_int_equal(record_row("node").skipped, 3);
    assert_int_equal(record_count("node"), 4);
}

static void off_and_on_again_does_not_skip_again(void **state)
{
    (void)state;
    configure(1, 3, 0);
    run("node", 5);
    configure(0, 3, 0);
    configure(1, 3, 0);
    run("node", 5);
    assert_int_equal(record_count("node"), 7);
    assert_int_equal(record_row("node").skipped, 3);
}

static void after_a_reset_the_skip_begins_again(void **state)
{
    (void)state;
    configure(1, 3, 0);
    run("node", 200);
    assert_int_equal(record_count("node"), 197);
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    run("node", 200);
    assert_int_equal(record_count("node"), 197);
    assert_int_equal(record_row("node").skipped, 3);
    configure(1, 10, 1);
    run("node", 15);
    assert_int_equal(record_count("node"), 5);
    assert_int_equal(record_row("node").skipped, 10);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(disabling_keeps_and_enabling_goes_on),
        IN_A_RUN(a_span_open_while_recording_is_switched_off_and_on_is_one_sample),
        IN_A_RUN(a_span_begun_on_and_ended_off_is_a_sample),
        IN_A_RUN(a_reset_clears),
        IN_A_RUN(a_span_open_at_the_reset_leaves_no_sample),
        IN_A_RUN(changing_the_skip_drops_nothing),
        IN_A_RUN(a_skip_that_is_raised_before_it_is_used_up_goes_on),
        IN_A_RUN(a_skip_that_is_lowered_lets_samples_through_at_once),
        IN_A_RUN(off_and_on_again_does_not_skip_again),
        IN_A_RUN(after_a_reset_the_skip_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
