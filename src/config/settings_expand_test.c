/* The patterns of paths. */
#include "config/settings.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *environment[] = {"HOME=/home/ada", "RANK=3", "EMPTY=", NULL};
static const struct plumb_expand values = {"node7", 4242, 5, environment};
static char out[64];
static plumb_error err;

static void expect(const char *pattern, const char *want)
{
    assert_int_equal(plumb_settings_expand(out, sizeof out, pattern, &values, &err), PLUMB_OK);
    assert_string_equal(out, want);
}

static void expect_failure(const char *pattern, const char *why)
{
    memset(out, 'x', sizeof out);
    assert_int_equal(plumb_settings_expand(out, sizeof out, pattern, &values, &err), PLUMB_ERR_ARG);
    assert_string_equal(out, "");
    assert_non_null(strstr(err.message, why));
}

static void each_sequence_is_expanded(void **state)
{
    (void)state;
    expect("runs/%h-%p-%r/%q{RANK}%%", "runs/node7-4242-5/3%");
    expect("%q{EMPTY}", "");
    expect("", "");
    expect("plain", "plain");
}

static void the_home_is_expanded_at_the_start_only(void **state)
{
    (void)state;
    expect("~/runs", "/home/ada/runs");
    expect("~", "/home/ada");
    expect("~eve/x", "~eve/x");
    expect("a/~/b", "a/~/b");
}

static void an_unknown_rank_is_zero(void **state)
{
    struct plumb_expand unknown = values;
    (void)state;
    unknown.rank = -1;
    assert_int_equal(plumb_settings_expand(out, sizeof out, "%r", &unknown, NULL), PLUMB_OK);
    assert_string_equal(out, "0");
}

static void a_variable_that_is_not_set_fails(void **state)
{
    struct plumb_expand homeless = values;
    char *none[] = {NULL};
    (void)state;
    expect_failure("%q{NOPE}", "NOPE is not set");
    expect_failure("%q{RAN}", "RAN is not set");
    homeless.environment = none;
    assert_int_equal(plumb_settings_expand(out, sizeof out, "~/x", &homeless, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "HOME"));
}

static void other_sequences_fail(void **state)
{
    (void)state;
    expect_failure("%x", "'%x'");
    expect_failure("a%", "'%'");
    expect_failure("%q", "'%q'");
    expect_failure("%qRANK", "'%q'");
    expect_failure("%q{RANK", "'%q'");
    expect_failure("%q{}", "name of a variable");
}

static void what_does_not_fit_fails(void **state)
{
    char pattern[80];
    (void)state;
    memset(pattern, 'a', sizeof pattern);
    pattern[64] = '\0';
    expect_failure(pattern, "longer than 63 bytes");
    pattern[63] = '\0';
    expect(pattern, pattern);
    pattern[62] = '%';
    pattern[61] = 'b';
    snprintf(pattern + 62, sizeof pattern - 62, "%%h");
    expect_failure(pattern, "longer than 63 bytes");
    assert_int_equal(plumb_settings_expand(out, 0, "", &values, NULL), PLUMB_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sequence_is_expanded),
        cmocka_unit_test(the_home_is_expanded_at_the_start_only),
        cmocka_unit_test(an_unknown_rank_is_zero),
        cmocka_unit_test(a_variable_that_is_not_set_fails),
        cmocka_unit_test(other_sequences_fail),
        cmocka_unit_test(what_does_not_fit_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
