/* FV-6: a process has one recording. A second request for it changes nothing, and the log says so;
 * a request for another one, with options of its own, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static char said[1024];

static void keep_line(int level, const char *line, void *arg)
{
    (void)arg;
    if (level == PLUMB_LOG_INFO && strstr(line, "goes on"))
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

static void asked_again_it_goes_on(void **state)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    char first[1024], again[1024];
    (void)state;
    o.log = keep_line;
    o.log_level = PLUMB_LOG_INFO;
    record_start_with(o);
    assert_int_equal(plumb_run_dir(first, sizeof first, &err), PLUMB_OK);
    {
        PLUMB_SPAN("before");
    }
    assert_int_equal(plumb_start(NULL, &err), PLUMB_OK);
    assert_int_equal(plumb_run_dir(again, sizeof again, &err), PLUMB_OK);
    assert_string_equal(first, again);
    assert_non_null(strstr(said, first));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    assert_int_equal(record_row("before").count, 1);
    record_stop();
}

static void another_is_refused(void **state)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    (void)state;
    record_start();
    assert_int_equal(plumb_start(&o, &err), PLUMB_ERR_STATE);
    assert_non_null(strstr(err.message, "a run is already open in '"));
    assert_true(plumb_is_recording());
    record_stop();
    record_start(); /* and when that one is over, it is not */
    record_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(asked_again_it_goes_on, record_close),
        cmocka_unit_test_teardown(another_is_refused, record_close)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
