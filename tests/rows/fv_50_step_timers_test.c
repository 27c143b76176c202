/* FV-50: timers of one name add up within a step; the next log record takes and clears them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include <plumb/step_timer.h>

static char line[1024];
static int lines;

static void take_line(int level, const char *text, void *arg)
{
    (void)level;
    (void)arg;
    lines++;
    snprintf(line, sizeof line, "%s", text);
}

static char passed[256];

static void pass(void *arg, const char *name, double seconds)
{
    size_t n = strlen(passed);
    (void)arg;
    snprintf(passed + n, sizeof passed - n, "%s=%.3f;", name, seconds);
}

static void equal_names_add_up_and_a_flush_clears(void **state)
{
    plumb_step_timers timers = {0};
    char same[] = "data"; /* another address */
    (void)state;
    plumb_step_timers_add(&timers, "data", 100000000);
    plumb_step_timers_add(&timers, "forward", 2000000000);
    plumb_step_timers_add(&timers, same, 20000000);
    assert_int_equal(timers.count, 2);
    assert_int_equal(timers.timers[0].runs, 2);
    plumb_step_timers_flush(&timers, pass, NULL);
    assert_string_equal(passed, "data=0.120;forward=2.000;");
    assert_int_equal(timers.count, 0);
    passed[0] = 0;
    plumb_step_timers_flush(&timers, pass, NULL);
    assert_string_equal(passed, "");
    plumb_step_timers_add(&timers, "data", 1000000);
    plumb_step_timers_flush(&timers, pass, NULL);
    assert_string_equal(passed, "data=0.001;");
}

static void the_log_record_has_the_sums_and_clears_them(void **state)
{
    plumb_step_timers timers = {0};
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    plumb_step_timers_log(&timers, PLUMB_LOG_INFO);
    assert_int_equal(lines, 0);
    plumb_step_timers_add(&timers, "data", 119600000);
    plumb_step_timers_add(&timers, "forward", 1034000000);
    plumb_step_timers_add(&timers, "data", 1000000);
    plumb_step_timers_log(&timers, PLUMB_LOG_INFO);
    assert_int_equal(lines, 1);
    assert_string_equal(line, "data 0.121s, forward 1.034s");
    plumb_step_timers_log(&timers, PLUMB_LOG_INFO);
    assert_int_equal(lines, 1);
    plumb_set_log(0, NULL, NULL);
}

static void a_scope_adds_its_time(void **state)
{
    plumb_step_timers timers = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        PLUMB_STEP_TIMED(&timers, "outer");
        PLUMB_STEP_TIMED(&timers, "inner");
        assert_int_equal(timers.count, i ? 2 : 0);
    }
    assert_int_equal(timers.count, 2); /* the inner one ended first */
    assert_string_equal(timers.timers[0].name, "inner");
    assert_int_equal(timers.timers[0].runs, 3);
    assert_int_equal(timers.timers[1].runs, 3);
    assert_true(timers.timers[1].ns >= timers.timers[0].ns);
}

static void names_beyond_the_last_are_counted(void **state)
{
    static char names[PLUMB_STEP_TIMERS + 2][8];
    plumb_step_timers timers = {0};
    (void)state;
    for (int i = 0; i < PLUMB_STEP_TIMERS + 2; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        plumb_step_timers_add(&timers, names[i], 1000000);
    }
    assert_int_equal(timers.count, PLUMB_STEP_TIMERS);
    assert_int_equal(timers.dropped, 2);
    plumb_step_timers_add(&timers, "t0", 1);
    assert_int_equal(timers.timers[0].ns, 1000001);
    plumb_step_timers_flush(&timers, NULL, NULL);
    assert_int_equal(timers.dropped, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_add_up_and_a_flush_clears),
        cmocka_unit_test(the_log_record_has_the_sums_and_clears_them),
        cmocka_unit_test(a_scope_adds_its_time),
        cmocka_unit_test(names_beyond_the_last_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
