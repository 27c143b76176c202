/* TF-2: a debug span or stage costs nothing unless debug is on; PLUMB_DEBUG switches it on; (+) it
 * can be switched while the program runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static struct plumb_api counting;
static int calls;

static plumb_span count_begin(struct plumb_point *point)
{
    plumb_span none = {0};
    (void)point;
    calls++;
    return none;
}

static void detail(void)
{
    PLUMB_SPAN_DEBUG("detail");
}

static void frame(void)
{
    PLUMB_SPAN("frame");
    detail();
}

static void off_it_leaves_no_row_and_makes_no_call(void **state)
{
    const struct plumb_api *real;
    (void)state;
    frame();
    real = plumb_client_1.api;
    counting = *real;
    counting.span_begin = counting.span_begin_special = count_begin;
    plumb_client_1.api = &counting;
    calls = 0;
    for (int i = 0; i < 100000; i++)
        detail();
    plumb_client_1.api = real;
    assert_int_equal(calls, 0);
    assert_int_equal(record_count("frame"), 1);
    assert_null(record_row("detail").node);
}

static void it_can_be_switched_while_the_program_runs(void **state)
{
    (void)state;
    frame();
    plumb_set_debug(1);
    for (int i = 0; i < 3; i++)
        frame();
    plumb_set_debug(0);
    frame();
    assert_int_equal(record_count("frame"), 5);
    assert_int_equal(record_count("detail"), 3);
}

static void switched_inside_the_span_it_stays_balanced(void **state)
{
    (void)state;
    {
        PLUMB_SPAN("outer");
        {
            PLUMB_SPAN_DEBUG("off at begin");
            plumb_set_debug(1);
        }
        {
            PLUMB_SPAN_DEBUG("on at begin");
            plumb_set_debug(0);
        }
    }
    assert_null(record_row("off at begin").node);
    assert_int_equal(record_count("on at begin"), 1);
    assert_int_equal(record_count("outer"), 1);
}

static void an_option_switches_it_on(void **state)
{
    plumb_options o = plumb_options_default();
    (void)state;
    record_stop();
    o.debug = PLUMB_ON;
    record_start_with(o);
    frame();
    assert_int_equal(record_count("detail"), 1);
    record_stop();
    record_start();
    frame();
    assert_null(record_row("detail").node);
}

static void the_variable_switches_it_on_by_the_boolean_rule(void **state)
{
    static const char *const on[] = {"true", "TRUE", "1", "yes", "on"};
    static const char *const off[] = {"false", "0", "no", "off", ""};
    (void)state;
    record_stop();
    for (size_t i = 0; i < 5; i++) {
        setenv("PLUMB_DEBUG", on[i], 1);
        record_start();
        frame();
        assert_int_equal(record_count("detail"), 1);
        record_stop();
        setenv("PLUMB_DEBUG", off[i], 1);
        record_start();
        frame();
        assert_null(record_row("detail").node);
        record_stop();
    }
    unsetenv("PLUMB_DEBUG");
    record_start();
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static int depth_now(void)
{
    plumb_context c;
    plumb_context_capture(&c);
    return (int)c.depth;
}

static void debug_stages(void)
{
    {
        PLUMB_STAGE_DEBUG(stage, "by declaration");
        plumb_stage_metric(stage, "metric");
    }
    plumb_end(plumb_begin_with(plumb_node_get("by node"), PLUMB_POINT_STAGE | PLUMB_POINT_DEBUG));
}

static int half(int n)
{
    return n / 2;
}
PLUMB_WRAP_DEBUG(int, half, (int n), (n));
static int third(int n)
{
    return n / 3;
}
PLUMB_WRAP_STAGE_DEBUG(int, third, (int n), (n));

static int lines;
static void count_lines(int level, const char *text, void *arg)
{
    (void)level;
    (void)arg;
    if (strstr(text, "by declaration"))
        lines++;
}

static void debug_stages_and_wrappers_follow_the_same_switch(void **state)
{
    static const char *const nodes[] = {"by declaration", "by node", "half", "third"};
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, count_lines, NULL);
    lines = 0;
    for (int on = 0; on < 2; on++) {
        plumb_set_debug(on);
        for (int i = 0; i < 3; i++) {
            debug_stages();
            assert_int_equal(half_plumb(8), 4);
            assert_int_equal(third_plumb(9), 3);
        }
        assert_int_equal(depth_now(), 0);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(record_count(nodes[i]), on ? 3 : 0);
        assert_int_equal(lines != 0, on);
    }
    plumb_set_debug(0);
    debug_stages();
    half_plumb(8);
    third_plumb(9);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(record_count(nodes[i]), 3);
    plumb_set_log(0, NULL, NULL);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(off_it_leaves_no_row_and_makes_no_call),
        IN_A_RUN(it_can_be_switched_while_the_program_runs),
        IN_A_RUN(switched_inside_the_span_it_stays_balanced),
        IN_A_RUN(an_option_switches_it_on),
        IN_A_RUN(the_variable_switches_it_on_by_the_boolean_rule),
        IN_A_RUN(debug_stages_and_wrappers_follow_the_same_switch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
