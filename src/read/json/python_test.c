/* Tests of python.c: what strict readers refuse becomes a string, and nothing else changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "read/json/python.h"

/* In memory of exactly its size, so that a byte too many is seen. */
static void assert_becomes(const char *text, const char *expected)
{
    struct plumb_buf out = {0};
    size_t n = strlen(text);
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    plumb_python_json(&out, exact, n);
    assert_false(out.failed);
    assert_string_equal(out.data, expected);
    free(exact);
    plumb_buf_fini(&out);
}

static void assert_stays(const char *text)
{
    assert_becomes(text, text);
}

static void words_that_json_lacks_become_strings(void **state)
{
    (void)state;
    assert_becomes("[NaN,Infinity, -Infinity]", "[\"NaN\",\"Infinity\", \"-Infinity\"]");
    assert_becomes("NaN", "\"NaN\"");
    assert_becomes("{\"a\":NaN\n}", "{\"a\":\"NaN\"\n}");
}

static void numbers_of_more_than_64_bits_become_strings(void **state)
{
    (void)state;
    assert_becomes("[9223372036854775808]", "[\"9223372036854775808\"]");
    assert_becomes("[-9223372036854775809]", "[\"-9223372036854775809\"]");
    assert_becomes("10000000000000000000000", "\"10000000000000000000000\"");
    assert_stays("[9223372036854775807, -9223372036854775808]");
    assert_stays("[99223372036854775808.5, 99223372036854775808e3]");
    assert_stays("[00000000000000000000001]");
}

static void everything_else_stays(void **state)
{
    (void)state;
    assert_stays("");
    assert_stays("{\"NaN\": [1, -2.5e-3, true, null, \"x NaN \\\" Infinity\\\\\"]}");
    assert_stays("[NaNs, xNaN, +Infinity, --Infinity, nan]");
    assert_stays("\"NaN");
    assert_stays("\"NaN\\");
    assert_stays("\"\\\\\\\"NaN");
    assert_stays("{[}-\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_json_lacks_become_strings),
        cmocka_unit_test(numbers_of_more_than_64_bits_become_strings),
        cmocka_unit_test(everything_else_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
