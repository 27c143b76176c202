/* Tests of trace_context.c: the examples of the W3C recommendation, and what breaks each rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/trace_context.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static void a_valid_traceparent_is_taken_apart(void **state)
{
    struct plumb_trace_context c;
    (void)state;
    assert_null(plumb_traceparent_read(&c, "00-" TRACE "-" PARENT "-01"));
    assert_string_equal(c.trace_id, TRACE);
    assert_string_equal(c.parent_id, PARENT);
    assert_int_equal(c.flags, 1);
    assert_null(plumb_traceparent_read(&c, "00-" TRACE "-" PARENT "-a9"));
    assert_int_equal(c.flags, 0xa9);
}

static void a_later_version_has_a_known_part(void **state)
{
    struct plumb_trace_context c;
    (void)state;
    assert_null(plumb_traceparent_read(&c, "cc-" TRACE "-" PARENT "-01"));
    assert_null(plumb_traceparent_read(&c, "cc-" TRACE "-" PARENT "-01-what-the-future-brings"));
    assert_string_equal(c.parent_id, PARENT);
    assert_non_null(plumb_traceparent_read(&c, "cc-" TRACE "-" PARENT "-01.what"));
}

static void what_breaks_a_rule_is_ignored(void **state)
{
    static const char *const bad[] = {
        "",
        "00",
        "00-" TRACE "-" PARENT "-0",
        "00-" TRACE "-" PARENT "-01-",
        "00-" TRACE "-" PARENT "-011",
        "ff-" TRACE "-" PARENT "-01",
        "0g-" TRACE "-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
        "00-" TRACE "-B7AD6B7169203331-01",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "." PARENT "-01",
        "00-" TRACE "-" PARENT "-0x",
        " 00-" TRACE "-" PARENT "-01",
    };
    struct plumb_trace_context c;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!plumb_traceparent_read(&c, bad[i]))
            fail_msg("'%s' is taken", bad[i]);
}

static void a_tracestate_is_a_list(void **state)
{
    static const char *const good[] = {"",
                                       "congo=t61rcWkgMzE",
                                       "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
                                       "a=1, b=2 ,\tc=3",
                                       "a=1,,b=2",
                                       "fw529a3039@dt=FfA-YjQ7",
                                       "0tenant@sys=1",
                                       "a=b c",
                                       "a_-*/=~!"};
    static const char *const bad[] = {
        "a",    "=1",   "A=1",   "a=",     "a=b=c",  "a=1,a=2", "1a=2",
        "a@=1", "@b=1", "a@B=1", "a=\x01", "a=\x80", "a b=1",   "a@toolongasystemname=1"};
    char many[512] = "";
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (plumb_tracestate_check(good[i]))
            fail_msg("'%s': %s", good[i], plumb_tracestate_check(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!plumb_tracestate_check(bad[i]))
            fail_msg("'%s' is taken", bad[i]);
    for (int i = 0; i < 32; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "k%d=1,", i);
    assert_null(plumb_tracestate_check(many));
    strcat(many, "z=1");
    assert_non_null(plumb_tracestate_check(many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_traceparent_is_taken_apart),
        cmocka_unit_test(a_later_version_has_a_known_part),
        cmocka_unit_test(what_breaks_a_rule_is_ignored),
        cmocka_unit_test(a_tracestate_is_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
