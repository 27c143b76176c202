/* Tests of pattern.c. */
#include "config/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *text)
{
    struct plumb_pattern p;
    plumb_error err = {0, ""};
    if (plumb_pattern_init(&p, pattern, &err) < 0)
        fail_msg("%s", err.message);
    bool found = plumb_pattern_matches(&p, text);
    plumb_pattern_fini(&p);
    return found;
}

static void expressions_are_searched_for(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool found;
    } cases[] = {
        {"", "anything", true},
        {"attn", "block.3.attn.out", true},
        {"^attn", "block.3.attn", false},
        {"^block\\.layers\\.[0-9]+$", "block.layers.12", true},
        {"^block\\.layers\\.[0-9]+$", "block.layers.12.mlp", false},
        {"^block\\.layers\\.\\d+$", "block.layers.12", true},
        {"^block\\.\\d{1,2}$", "block.123", false},
        {"^\\w+$", "self_attention9", true},
        {"^\\w+$", "a.b", false},
        {"\\W", "a.b", true},
        {"a\\sb", "a\tb", true},
        {"^\\S+\\D$", "12x", true},
        {"^[\\d.]+$", "1.2.3", true},
        {"^[^\\d]+$", "abc", true},
        {"^[^\\d]+$", "abc1", false},
        {"^[\\w.-]+$", "a-b.c_d", true},
        {"^[\\]x]+$", "x]x", true},
        {"^[]x]+$", "x]x", true},
        {"^[\\^a]+$", "^a", true},
        {"^[a\\-z]+$", "b", false},
        {"^[a\\-z]+$", "a-z", true},
        {"^[-\\]a]+$", "a-]", true},
        {"^[-\\]a]+$", "_", false},
        {"^[a\\^-]+$", "a^-", true},
        {"^[a\\^-]+$", "b", false},
        {"^[[:alpha:]]+$", "abc", true},
        {"^[\\\\]$", "\\", true},
        {"^(?:a|b)+$", "abba", true},
        {"\\bmlp\\b", "x.mlp.y", true},
        {"\\bmlp\\b", "x.mlps.y", false},
        {"a{2}", "baab", true},
        {"\\$", "a$", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (matches(cases[i].pattern, cases[i].text) != cases[i].found)
            fail_msg("'%s' in '%s': not %d", cases[i].pattern, cases[i].text, cases[i].found);
}

static void bad_expressions_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *pattern, *why;
    } cases[] = {
        {"(", "'(' is not a regular expression: Unmatched ( or \\("},
        {"[a", "'[a' is not a regular expression: a bracket is not closed"},
        {"a\\", "'a\\' is not a regular expression: it ends in a backslash"},
        {"[\\D]", "'[\\D]' is not a regular expression: \\D, \\W and \\S cannot stand in brackets"},
        {"[[:alpha]", "'[[:alpha]' is not a regular expression: a class in brackets is not closed"},
        {"(?=x)",
         "'(?=x)' is not a regular expression: of the groups that begin with (? only (?: is known"},
        {"\\1", "'\\1' is not a regular expression: a letter or digit after a backslash that means "
                "nothing here"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plumb_pattern p;
        plumb_error err = {0, ""};
        assert_int_equal(plumb_pattern_init(&p, cases[i].pattern, &err), PLUMB_ERR_ARG);
        assert_string_equal(err.message, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_searched_for),
        cmocka_unit_test(bad_expressions_are_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
