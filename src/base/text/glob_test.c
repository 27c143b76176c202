/* The patterns mean what they mean to fnmatch(). */
#include "base/text/glob.h"

#include <fnmatch.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *text)
{
    return plumb_glob_matches(pattern, strlen(pattern), text);
}

static void names_of_functions_match(void **state)
{
    (void)state;
    assert_true(matches("*_forward", "sos_forward"));
    assert_true(matches("*_forward", "_forward"));
    assert_false(matches("*_forward", "sos_forward_f64"));
    assert_true(matches("dnnl_*_execute*", "dnnl_primitive_execute_v2"));
    assert_true(matches("b?quad_[fd]??", "biquad_f32"));
    assert_false(matches("b?quad_[fd]??", "biquad_i32"));
    assert_true(matches("[!_]*", "main"));
    assert_false(matches("[!_]*", "_init"));
    assert_true(matches("", ""));
    assert_false(matches("", "x"));
}

static void a_pattern_ends_at_its_length(void **state)
{
    (void)state;
    assert_true(plumb_glob_matches("sin,cos", 3, "sin"));
    assert_false(plumb_glob_matches("sin,cos", 3, "sin,cos"));
    assert_true(plumb_glob_matches("[a,b]", 2, "[a"));
}

/* Fills in `length` letters of the alphabet, chosen by the digits of `number`. */
static void spell(char *out, int length, const char *alphabet, uint64_t number)
{
    size_t n = strlen(alphabet);
    for (int i = 0; i < length; i++, number /= n)
        out[i] = alphabet[number % n];
    out[length] = '\0';
}

static void patterns_mean_what_fnmatch_takes_them_for(void **state)
{
    static const char alphabet[] = "ab*?[]-!";
    char pattern[8], text[8];
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 300000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        spell(pattern, (int)(seed >> 60) % 7, alphabet, seed >> 20);
        spell(text, (int)(seed >> 56 & 15) % 5, "ab-]", seed >> 10);
        if (matches(pattern, text) != (fnmatch(pattern, text, FNM_NOESCAPE) == 0))
            fail_msg("'%s' and '%s'", pattern, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_functions_match),
        cmocka_unit_test(a_pattern_ends_at_its_length),
        cmocka_unit_test(patterns_mean_what_fnmatch_takes_them_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
