/* TX-15: a timed operation gives its seconds and, at info, one line "<name> completed in <3
 * decimals>s", also when it is left by an error; silent by default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

enum { WORK_NS = 12000000 };

static char line[512];
static int line_level, line_count;

static void take_line(int level, const char *text, void *arg)
{
    (void)arg;
    line_level = level;
    line_count++;
    snprintf(line, sizeof line, "%s", text);
}

static int setup(void **state)
{
    (void)state;
    line_count = 0;
    line[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plumb_set_log(0, NULL, NULL);
    return 0;
}

static int work(int fail, plumb_timed *out)
{
    PLUMB_TIMED(timed, "load model");
    assert_string_equal(timed.operation_name, "load model");
    record_work_ns(WORK_NS);
    if (fail)
        return -1;
    plumb_timed_end(&timed);
    *out = timed;
    return 7;
}

static void it_gives_the_elapsed_seconds_and_one_line(void **state)
{
    plumb_timed timed;
    char want[128];
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    assert_int_equal(work(0, &timed), 7);
    assert_string_equal(timed.operation_name, "load model");
    assert_true(timed.elapsed_seconds >= WORK_NS * 1e-9);
    assert_int_equal(line_count, 1);
    assert_int_equal(line_level, PLUMB_LOG_INFO);
    snprintf(want, sizeof want, "load model completed in %.3fs", timed.elapsed_seconds);
    assert_string_equal(line, want);
}

static void an_error_is_logged_alike_and_passed_on(void **state)
{
    double seconds = 0;
    int used = 0;
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    assert_int_equal(work(1, NULL), -1);
    assert_int_equal(line_count, 1);
    assert_int_equal(sscanf(line, "load model completed in %lfs%n", &seconds, &used), 1);
    assert_int_equal(used, strlen(line));
    assert_true(seconds >= WORK_NS * 1e-9 - 0.0005);
}

static void it_is_silent_by_default_and_measures_all_the_same(void **state)
{
    plumb_timed timed;
    (void)state;
    plumb_set_log(0, take_line, NULL);
    assert_int_equal(work(0, &timed), 7);
    plumb_set_log(PLUMB_LOG_WARN, take_line, NULL);
    work(0, &timed);
    assert_int_equal(line_count, 0);
    assert_true(timed.elapsed_seconds >= WORK_NS * 1e-9);
}

static void a_second_end_does_nothing(void **state)
{
    plumb_timed timed = plumb_timed_begin("once");
    double seconds;
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    plumb_timed_end(&timed);
    seconds = timed.elapsed_seconds;
    record_work_ns(100000);
    plumb_timed_end(&timed);
    assert_int_equal(line_count, 1);
    assert_true(timed.elapsed_seconds == seconds);
}

static void a_long_name_is_cut_not_overrun(void **state)
{
    char name[1000];
    plumb_timed timed;
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    timed = plumb_timed_begin(name);
    plumb_timed_end(&timed);
    assert_int_equal(line_count, 1);
    assert_int_equal(strncmp(line, name, 200), 0);
    assert_non_null(strstr(line, " completed in "));
}

static void it_works_beside_a_run_and_leaves_no_row(void **state)
{
    plumb_timed timed;
    (void)state;
    record_start();
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    work(0, &timed);
    assert_int_equal(line_count, 1);
    assert_null(record_row("load model").node);
    plumb_set_log(0, NULL, NULL);
    record_stop();
}

int main(void)
{
#define LISTENED(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        LISTENED(it_gives_the_elapsed_seconds_and_one_line),
        LISTENED(an_error_is_logged_alike_and_passed_on),
        LISTENED(it_is_silent_by_default_and_measures_all_the_same),
        LISTENED(a_second_end_does_nothing),
        LISTENED(a_long_name_is_cut_not_overrun),
        LISTENED(it_works_beside_a_run_and_leaves_no_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
