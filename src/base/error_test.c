/* The one line of a plumb_error. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/utf8.h"

static void it_returns_the_code_and_writes_both(void **state)
{
    plumb_error err;
    (void)state;
    assert_int_equal(plumb_fail(&err, PLUMB_ERR_IO, "cannot read '%s'", "x"), PLUMB_ERR_IO);
    assert_int_equal(err.code, PLUMB_ERR_IO);
    assert_string_equal(err.message, "cannot read 'x'");
}

static void no_error_struct_is_needed_and_errno_stays(void **state)
{
    (void)state;
    errno = EXDEV;
    assert_int_equal(plumb_fail(NULL, PLUMB_ERR_ARG, "%d", 1), PLUMB_ERR_ARG);
    assert_int_equal(errno, EXDEV);
}

static void the_text_stays_one_line(void **state)
{
    plumb_error err;
    (void)state;
    plumb_fail(&err, PLUMB_ERR_ARG, "a\nb\tc\x7f%s", "\x1b[31m");
    assert_string_equal(err.message, "a?b?c??[31m");
}

static void the_message_before_can_be_part_of_the_next(void **state)
{
    plumb_error err;
    (void)state;
    plumb_fail(&err, PLUMB_ERR_IO, "inner");
    plumb_fail(&err, err.code, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

static void a_long_text_is_cut_between_characters(void **state)
{
    char text[1024];
    plumb_error err;
    (void)state;
    for (size_t offset = 0; offset < 4; offset++) {
        memset(text, 'x', sizeof text);
        for (size_t i = offset; i + 3 < sizeof text - 1; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        text[sizeof text - 1] = '\0';
        plumb_fail(&err, PLUMB_ERR_ARG, "%s", text);
        assert_true(plumb_utf8_valid(err.message));
        assert_in_range(strlen(err.message), sizeof err.message - 4, sizeof err.message - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_returns_the_code_and_writes_both),
        cmocka_unit_test(no_error_struct_is_needed_and_errno_stays),
        cmocka_unit_test(the_text_stays_one_line),
        cmocka_unit_test(the_message_before_can_be_part_of_the_next),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
