/* TX-15: a timed operation gives its seconds and one line "<name> completed in <3 decimals>s", also
 * when it is left by an error; level and logger may be its own; silent by default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stderr.h"
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

/* The seconds of the line, which must be `name` and a time of three decimals. */
static double line_seconds(const char *name)
{
    char pattern[300];
    double seconds = -1;
    int used = 0;
    snprintf(pattern, sizeof pattern, "%s completed in %%lfs%%n", name);
    if (sscanf(line, pattern, &seconds, &used) != 1 || used != (int)strlen(line))
        fail_msg("'%s' is not '%s completed in <seconds>s'", line, name);
    assert_ptr_equal(strchr(line, '.') + 5, line + used);
    return seconds;
}

static void assert_seconds_of(const plumb_timed *timed)
{
    double seconds = line_seconds(timed->operation_name);
    assert_true(seconds >= timed->elapsed_seconds - 0.000501);
    assert_true(seconds <= timed->elapsed_seconds + 0.000501);
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
    uint64_t before, after;
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    before = record_now_ns();
    assert_int_equal(work(0, &timed), 7);
    after = record_now_ns();
    assert_string_equal(timed.operation_name, "load model");
    assert_true(timed.elapsed_seconds >= WORK_NS * 1e-9);
    assert_true(timed.elapsed_seconds <= (double)(after - before) * 1e-9);
    assert_int_equal(line_count, 1);
    assert_int_equal(line_level, PLUMB_LOG_INFO);
    assert_seconds_of(&timed);
}

static void an_error_is_logged_alike_and_passed_on(void **state)
{
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    assert_int_equal(work(1, NULL), -1);
    assert_int_equal(line_count, 1);
    assert_true(line_seconds("load model") >= WORK_NS * 1e-9 - 0.0005);
}

/* First of all tests, before a level is set. stderr goes to a file in the meantime, because a line
 * would go there. */
static void it_is_silent_by_default(void **state)
{
    plumb_timed timed, own;
    struct stat written;
    int real = dup(STDERR_FILENO), file = open("stderr.txt", O_CREAT | O_TRUNC | O_RDWR, 0600);
    (void)state;
    assert_true(real >= 0 && file >= 0);
    assert_null(getenv("PLUMB_LOG"));
    assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
    plumb_stderr_remember();
    assert_int_equal(work(0, &timed), 7);
    own = plumb_timed_begin_with("own", PLUMB_LOG_WARN, take_line, NULL);
    plumb_timed_end(&own);
    record_start();
    work(0, &timed);
    record_stop();
    assert_int_equal(dup2(real, STDERR_FILENO), STDERR_FILENO);
    plumb_stderr_remember();
    assert_int_equal(fstat(file, &written), 0);
    close(file);
    close(real);
    assert_int_equal(written.st_size, 0);
    assert_int_equal(line_count, 0);
    assert_true(timed.elapsed_seconds >= WORK_NS * 1e-9);
}

static void a_lower_level_silences_it_and_it_measures_all_the_same(void **state)
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

/* ---- Level and logger of one operation ------------------------------------------------------- */

static char own_line[512];
static int own_level, own_count;

static void take_own_line(int level, const char *text, void *arg)
{
    assert_ptr_equal(arg, &own_count);
    own_level = level;
    own_count++;
    snprintf(own_line, sizeof own_line, "%s", text);
}

static void an_operation_may_have_its_own_level(void **state)
{
    (void)state;
    plumb_set_log(PLUMB_LOG_WARN, take_line, NULL);
    {
        PLUMB_TIMED_WITH(info, "info", PLUMB_LOG_INFO, NULL, NULL);
        PLUMB_TIMED_WITH(warned, "warn", PLUMB_LOG_WARN, NULL, NULL);
    }
    assert_int_equal(line_count, 1);
    assert_int_equal(line_level, PLUMB_LOG_WARN);
    line_seconds("warn");
    plumb_set_log(PLUMB_LOG_DEBUG, take_line, NULL);
    {
        PLUMB_TIMED_WITH(detail, "detail", PLUMB_LOG_DEBUG, NULL, NULL);
    }
    assert_int_equal(line_count, 2);
    assert_int_equal(line_level, PLUMB_LOG_DEBUG);
}

static void an_operation_may_have_its_own_logger(void **state)
{
    (void)state;
    own_count = 0;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    {
        PLUMB_TIMED_WITH(own, "own\x1b[0m", PLUMB_LOG_ERROR, take_own_line, &own_count);
    }
    assert_int_equal(own_count, 1);
    assert_int_equal(own_level, PLUMB_LOG_ERROR);
    assert_int_equal(strncmp(own_line, "own?[0m completed in ", 21), 0);
    assert_int_equal(line_count, 0);
    {
        PLUMB_TIMED_WITH(own, "too low", PLUMB_LOG_DEBUG, take_own_line, &own_count);
    }
    plumb_set_log(0, take_line, NULL);
    {
        PLUMB_TIMED_WITH(own, "silent", PLUMB_LOG_ERROR, take_own_line, &own_count);
    }
    assert_int_equal(own_count, 1);
}

static void without_a_name_its_name_is_empty(void **state)
{
    plumb_timed timed = plumb_timed_begin(NULL);
    (void)state;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    assert_string_equal(timed.operation_name, "");
    plumb_timed_end(&timed);
    assert_int_equal(line_count, 1);
    line_seconds("");
}

/* ---- Wrapped functions ----------------------------------------------------------------------- */

static int add(int a, int b)
{
    record_work_ns(1000000);
    return a + b;
}
PLUMB_TIMED_WRAP(int, add, (int a, int b), (a, b));

static void put(int *out)
{
    *out = 7;
}
PLUMB_TIMED_WRAP_VOID(put, (int *out), (out));

static int twice(int n)
{
    return 2 * n;
}
PLUMB_TIMED_WRAP_WITH(int, twice, (int n), (n), PLUMB_LOG_WARN, take_own_line, &own_count);

static void a_wrapped_function_is_called_by_its_name_and_returns_what_it_returns(void **state)
{
    int out = 0;
    (void)state;
    own_count = 0;
    plumb_set_log(PLUMB_LOG_INFO, take_line, NULL);
    assert_int_equal(add_timed(2, 3), 5);
    assert_int_equal(line_count, 1);
    assert_true(line_seconds("add") >= 0.0005);
    put_timed(&out);
    assert_int_equal(out, 7);
    line_seconds("put");
    assert_int_equal(twice_timed(4), 8);
    assert_int_equal(line_count, 2);
    assert_int_equal(own_count, 1);
    assert_int_equal(own_level, PLUMB_LOG_WARN);
    assert_int_equal(strncmp(own_line, "twice completed in ", 19), 0);
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
        cmocka_unit_test_setup(it_is_silent_by_default, setup),
        LISTENED(it_gives_the_elapsed_seconds_and_one_line),
        LISTENED(an_error_is_logged_alike_and_passed_on),
        LISTENED(a_lower_level_silences_it_and_it_measures_all_the_same),
        LISTENED(an_operation_may_have_its_own_level),
        LISTENED(an_operation_may_have_its_own_logger),
        LISTENED(without_a_name_its_name_is_empty),
        LISTENED(a_wrapped_function_is_called_by_its_name_and_returns_what_it_returns),
        LISTENED(a_second_end_does_nothing),
        LISTENED(a_long_name_is_cut_not_overrun),
        LISTENED(it_works_beside_a_run_and_leaves_no_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
