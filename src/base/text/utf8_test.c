/* Well-formed UTF-8, against every code point and the usual malformed forms. */
#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static size_t encode(uint32_t c, char *out)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (char)(marks[n] | c);
    out[n] = '\0';
    return n;
}

static void every_code_point_is_a_sequence_and_no_surrogate_is(void **state)
{
    char text[8];
    (void)state;
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        size_t n = encode(c, text);
        int surrogate = c >= 0xd800 && c <= 0xdfff;
        if (plumb_utf8_sequence(text) != (surrogate ? 0 : n))
            fail_msg("U+%04x", (unsigned)c);
        if (plumb_utf8_valid(text) == surrogate)
            fail_msg("U+%04x", (unsigned)c);
    }
}

static void malformed_bytes_are_none(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xe0\x9f\xbf",
        "\xe2\x82",
        "\xed\xa0\x80",
        "\xf0\x90",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5",
        "\xff",
        "\xe2\x28\xa1",
        "\xf0\x9f\x98",
        "a\xff",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(plumb_utf8_valid(bad[i]));
        if (bad[i][0] != 'a')
            assert_int_equal(plumb_utf8_sequence(bad[i]), 0);
    }
    assert_int_equal(plumb_utf8_sequence(""), 0);
    assert_true(plumb_utf8_valid(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_a_sequence_and_no_surrogate_is),
        cmocka_unit_test(malformed_bytes_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
