/* Strict JSON, byte by byte. */
#include "codec/json_write.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/decimal.h"

static struct plumb_buf buf;
static struct plumb_json json;

static int setup(void **state)
{
    (void)state;
    plumb_json_init(&json, &buf, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plumb_buf_fini(&buf);
    return 0;
}

static const char *written_f64(double v)
{
    plumb_buf_fini(&buf);
    plumb_json_init(&json, &buf, 0);
    plumb_json_f64(&json, v);
    return buf.data;
}

static const char *written_fixed(double v, int decimals)
{
    plumb_buf_fini(&buf);
    plumb_json_init(&json, &buf, 0);
    plumb_json_fixed(&json, v, decimals);
    return buf.data;
}

static const char *written_str(const char *text)
{
    plumb_buf_fini(&buf);
    plumb_json_init(&json, &buf, 0);
    plumb_json_str(&json, text);
    return buf.data;
}

static void write_sample(int indent)
{
    plumb_json_init(&json, &buf, indent);
    plumb_json_object(&json);
    plumb_json_key(&json, "a");
    plumb_json_array(&json);
    plumb_json_i64(&json, INT64_MIN);
    plumb_json_u64(&json, UINT64_MAX);
    plumb_json_array_end(&json);
    plumb_json_key(&json, "b");
    plumb_json_array_inline(&json);
    plumb_json_bool(&json, true);
    plumb_json_object(&json);
    plumb_json_key(&json, "c");
    plumb_json_null(&json);
    plumb_json_key(&json, "d");
    plumb_json_bool(&json, false);
    plumb_json_object_end(&json);
    plumb_json_array_end(&json);
    plumb_json_key(&json, "e");
    plumb_json_object(&json);
    plumb_json_object_end(&json);
    plumb_json_key(&json, "f");
    plumb_json_array(&json);
    plumb_json_array_end(&json);
    plumb_json_key(&json, "g");
    plumb_json_object_inline(&json);
    plumb_json_key(&json, "h");
    plumb_json_array(&json);
    plumb_json_i64(&json, 1);
    plumb_json_i64(&json, 2);
    plumb_json_array_end(&json);
    plumb_json_object_end(&json);
    plumb_json_object_end(&json);
}

static void compact_output_has_no_blanks(void **state)
{
    (void)state;
    write_sample(0);
    assert_string_equal(buf.data, "{\"a\":[-9223372036854775808,18446744073709551615],"
                                  "\"b\":[true,{\"c\":null,\"d\":false}],\"e\":{},\"f\":[],"
                                  "\"g\":{\"h\":[1,2]}}");
}

static void indented_output_has_a_line_an_item_but_inline_containers(void **state)
{
    (void)state;
    write_sample(2);
    assert_string_equal(buf.data, "{\n"
                                  "  \"a\": [\n"
                                  "    -9223372036854775808,\n"
                                  "    18446744073709551615\n"
                                  "  ],\n"
                                  "  \"b\": [true, {\"c\": null, \"d\": false}],\n"
                                  "  \"e\": {},\n"
                                  "  \"f\": [],\n"
                                  "  \"g\": {\"h\": [1, 2]}\n"
                                  "}");
}

static void control_characters_quotes_and_backslashes_are_escaped(void **state)
{
    char text[34];
    (void)state;
    assert_string_equal(written_str("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    assert_string_equal(written_str("\n\t\x1f"), "\"\\u000a\\u0009\\u001f\"");
    for (int i = 0; i < 0x1f; i++)
        text[i] = (char)(i + 1);
    text[0x1f] = '\0';
    written_str(text);
    for (size_t i = 0; i < buf.len; i++)
        assert_in_range(buf.data[i], 0x20, 0x7e);
}

static void utf8_passes_and_other_bytes_become_hex(void **state)
{
    (void)state;
    assert_string_equal(written_str("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
                        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_string_equal(written_str("a\xff\xc3"), "\"a\\\\xff\\\\xc3\"");
    assert_string_equal(written_str("\xed\xa0\x80"), "\"\\\\xed\\\\xa0\\\\x80\"");
    assert_string_equal(written_str("\xe2\x82"), "\"\\\\xe2\\\\x82\"");
}

static void distinct_strings_stay_distinct(void **state)
{
    (void)state;
    assert_string_equal(written_str("\\xff"), "\"\\\\x5cxff\"");
    assert_string_equal(written_str("\\xfg"), "\"\\\\xfg\"");
    assert_string_equal(written_str("\\x"), "\"\\\\x\"");
}

static void a_key_of_300_bytes_is_kept_whole(void **state)
{
    char name[301];
    (void)state;
    memset(name, 'n', 300);
    name[300] = '\0';
    plumb_json_object(&json);
    plumb_json_key(&json, name);
    plumb_json_str(&json, NULL);
    plumb_json_object_end(&json);
    assert_int_equal(buf.len, 300 + strlen("{\"\":null}"));
    assert_memory_equal(buf.data + 2, name, 300);
}

static void doubles_read_back_and_are_short(void **state)
{
    static const double values[] = {0.1,     1e21,
                                    DBL_MAX, DBL_MIN,
                                    5e-324,  1.0 / 3,
                                    -123.25, 4503599627370497.5,
                                    1e-7,    2.178333333333333,
                                    1};
    uint64_t x = 88172645463325252u;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        assert_true(strtod(written_f64(values[i]), NULL) == values[i]);
    for (int i = 0; i < 20000; i++) {
        double v;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(&v, &x, sizeof v);
        if (isfinite(v))
            assert_true(strtod(written_f64(v), NULL) == v);
    }
    assert_string_equal(written_f64(0.1), "0.1");
    assert_string_equal(written_f64(2.178333333333333), "2.178333333333333");
    assert_string_equal(written_f64(4.6), "4.6");
    assert_string_equal(written_f64(3), "3");
    assert_string_equal(written_f64(1e300), "1e+300");
}

static void numbers_that_json_lacks_become_null(void **state)
{
    (void)state;
    assert_string_equal(written_f64(NAN), "null");
    assert_string_equal(plumb_json_special(NAN), "NaN");
    assert_string_equal(plumb_json_special(INFINITY), "Infinity");
    assert_string_equal(plumb_json_special(-INFINITY), "-Infinity");
    assert_null(plumb_json_special(1e308));
    assert_string_equal(written_f64(-INFINITY), "null");
    assert_string_equal(written_fixed(NAN, 3), "null");
    assert_string_equal(written_fixed(INFINITY, 3), "null");
}

static void fixed_numbers_are_rounded(void **state)
{
    (void)state;
    assert_string_equal(written_fixed(1.2346, 3), "1.235");
    assert_string_equal(written_fixed(-0.0004, 3), "0.000");
    assert_string_equal(written_fixed(-0.0, 0), "0");
    assert_string_equal(written_fixed(-0.6, 0), "-1");
    assert_string_equal(written_fixed(2, -1), "2");
    assert_int_equal(strlen(written_fixed(DBL_MAX, 99)), 309 + 1 + 20);
}

static void any_separator_of_a_locale_becomes_a_point(void **state)
{
    static const char *const from[] = {"1,5", "-1\331\2535e-10", "12", "1.5"};
    static const char *const to[] = {"1.5", "-1.5e-10", "12", "1.5"};
    char number[32];
    (void)state;
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        snprintf(number, sizeof number, "%s", from[i]);
        plumb_decimal_point(number);
        assert_string_equal(number, to[i]);
    }
}

static void a_host_with_a_decimal_comma_gets_points(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    const char *found = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]);
    if (!found)
        skip();
    assert_string_equal(written_f64(0.1), "0.1");
    assert_string_equal(written_f64(1.0 / 3), "0.3333333333333333");
    assert_string_equal(written_fixed(2.5, 2), "2.50");
    setlocale(LC_NUMERIC, "C");
}

static void nesting_beyond_the_bound_fails_the_buffer(void **state)
{
    (void)state;
    for (int i = 0; i < 63; i++)
        plumb_json_array(&json);
    assert_false(buf.failed);
    plumb_json_array(&json);
    assert_true(buf.failed);
    for (int i = 0; i < 64; i++)
        plumb_json_array_end(&json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void millionths_have_six_decimals(void **state)
{
    (void)state;
    plumb_json_array(&json);
    plumb_json_millionths(&json, 1795308040400968);
    plumb_json_millionths(&json, 7);
    plumb_json_millionths(&json, 1000000);
    plumb_json_array_end(&json);
    assert_string_equal(buf.data, "[1795308040.400968,0.000007,1.000000]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(millionths_have_six_decimals),
        TEST(compact_output_has_no_blanks),
        TEST(indented_output_has_a_line_an_item_but_inline_containers),
        TEST(control_characters_quotes_and_backslashes_are_escaped),
        TEST(utf8_passes_and_other_bytes_become_hex),
        TEST(distinct_strings_stay_distinct),
        TEST(a_key_of_300_bytes_is_kept_whole),
        TEST(doubles_read_back_and_are_short),
        TEST(numbers_that_json_lacks_become_null),
        TEST(fixed_numbers_are_rounded),
        TEST(any_separator_of_a_locale_becomes_a_point),
        TEST(a_host_with_a_decimal_comma_gets_points),
        TEST(nesting_beyond_the_bound_fails_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
