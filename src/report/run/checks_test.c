/* Tests of checks.c: columns, colours that take no width, texts that could break a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/run/checks.h"

static const plumb_check checks[] = {
    {"clock", PLUMB_CHECK_SEEN, "ticks", ""},
    {"a name of twenty-two", PLUMB_CHECK_BLOCKED, "line\nbreak", "mend\033it"},
    {"later", 7, "a state of a newer plumb", ""},
};

static void assert_text(size_t n, bool colour, const char *expected)
{
    struct plumb_buf out = {0};
    plumb_buf_str(&out, "");
    plumb_checks_text(&out, checks, n, colour);
    assert_false(out.failed);
    assert_string_equal(out.data, expected);
    plumb_buf_fini(&out);
}

static void details_begin_in_one_column_whatever_the_names_are(void **state)
{
    (void)state;
    assert_text(0, false, "");
    assert_text(1, false, "seen      clock          ticks");
    assert_text(3, false,
                "seen      clock                ticks\n"
                "blocked   a name of twenty-two line\\x0abreak (cure: mend\\x1bit)\n"
                "blocked   later                a state of a newer plumb");
}

static void colours_take_no_width(void **state)
{
    (void)state;
    assert_text(2, true,
                "\033[32mseen    \033[0m  clock                ticks\n"
                "\033[31mblocked \033[0m  a name of twenty-two line\\x0abreak (cure: mend\\x1bit)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details_begin_in_one_column_whatever_the_names_are),
        cmocka_unit_test(colours_take_no_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
