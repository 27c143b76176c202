#include "codec/prom_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <plumb/stage.h>

static const char *name_of(const char *text)
{
    static char out[PLUMB_PROM_NAME];
    plumb_prom_name(out, text);
    return out;
}

static const char *value_of(const char *text)
{
    static char out[PLUMB_PROM_VALUE];
    size_t n = plumb_prom_value(out, text);
    assert_int_equal(n, strlen(out));
    return out;
}

static const char *labels_of(const plumb_pair *pairs)
{
    static char out[PLUMB_PROM_LABELS];
    plumb_prom_labels(out, pairs, 16);
    return out;
}

static void names_have_letters_digits_underscores_colons(void **state)
{
    char out[PLUMB_PROM_NAME];
    (void)state;
    assert_false(plumb_prom_name(out, "good:name_1"));
    assert_string_equal(out, "good:name_1");
    assert_true(plumb_prom_name(out, "a.b-c"));
    assert_string_equal(out, "a_b_c");
    assert_string_equal(name_of(""), "_");
    assert_string_equal(name_of("9lives"), "_9lives");
    assert_string_equal(name_of("\xc3\xb6"), "__");
}

static void long_names_differ_by_their_hash(void **state)
{
    char a[3000], one[PLUMB_PROM_NAME], two[PLUMB_PROM_NAME];
    (void)state;
    memset(a, 'n', sizeof a);
    a[sizeof a - 1] = '\0';
    assert_true(plumb_prom_name(one, a));
    a[sizeof a - 2] = 'm';
    assert_true(plumb_prom_name(two, a));
    assert_true(strlen(one) < PLUMB_PROM_NAME && strcmp(one, two) != 0);
}

static void changed_label_names_have_a_hash_and_taken_ones_a_prefix(void **state)
{
    char a[PLUMB_PROM_NAME], b[PLUMB_PROM_NAME];
    (void)state;
    plumb_prom_label(a, "a.b");
    plumb_prom_label(b, "a b");
    assert_true(strncmp(a, "a_b_", 4) == 0 && strcmp(a, b) != 0);
    plumb_prom_label(a, "le");
    assert_string_equal(a, "exported_le");
    plumb_prom_label(a, "__name__");
    assert_string_equal(a, "exported___name__");
    plumb_prom_label(a, "le2");
    assert_string_equal(a, "le2");
}

static void values_are_escaped_utf8(void **state)
{
    char wrong[PLUMB_PROM_VALUE], other[PLUMB_PROM_VALUE];
    (void)state;
    assert_string_equal(value_of("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    assert_string_equal(value_of("größe"), "größe");
    plumb_prom_value(wrong, "x\xff");
    plumb_prom_value(other, "x\xfe");
    assert_true(strncmp(wrong, "x\xef\xbf\xbd~", 5) == 0 && strcmp(wrong, other) != 0);
}

/* Cut before a character, never inside an escape. */
static void long_values_are_cut_at_a_character(void **state)
{
    char text[4000], out[PLUMB_PROM_VALUE];
    (void)state;
    for (size_t begin = 0; begin < 4; begin++) {
        memset(text, 'a', begin);
        for (size_t i = begin; i < sizeof text - 4; i += 3)
            memcpy(text + i, "\n\xc3\xb6", 4);
        size_t n = plumb_prom_value(out, text);
        assert_true(n < PLUMB_PROM_VALUE && n > PLUMB_PROM_VALUE - 20);
        assert_int_equal(out[n - 9], '~');
        assert_true(strcmp(out + n - 11, "\xc3") != 0 && (unsigned char)out[n - 10] != 0xc3);
    }
}

static void labels_are_sorted_and_given_once(void **state)
{
    const plumb_pair pairs[] = {{"b", "2"}, {"a", "x\"y"}, {"b", "3"}, {"c", NULL}, {NULL, NULL}};
    (void)state;
    assert_string_equal(labels_of(pairs), "a=\"x\\\"y\",b=\"3\",c=\"\"");
    assert_string_equal(labels_of(NULL), "");
}

static void labels_that_do_not_fit_are_left_out(void **state)
{
    plumb_pair pairs[17];
    char value[600], key[17][8];
    const char *out;
    (void)state;
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    for (int i = 0; i < 16; i++) {
        key[i][0] = (char)('a' + i);
        key[i][1] = '\0';
        pairs[i] = (plumb_pair){key[i], value};
    }
    pairs[16] = (plumb_pair){NULL, NULL};
    out = labels_of(pairs);
    assert_true(strlen(out) < PLUMB_PROM_LABELS);
    assert_int_equal(out[strlen(out) - 1], '"');
}

static void help_is_one_line(void **state)
{
    char out[64];
    (void)state;
    plumb_prom_help(out, sizeof out, "a\nb\\c \"d\"", false);
    assert_string_equal(out, "a\\nb\\\\c \"d\"");
    plumb_prom_help(out, sizeof out, "\"d\"", true);
    assert_string_equal(out, "\\\"d\\\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_letters_digits_underscores_colons),
        cmocka_unit_test(long_names_differ_by_their_hash),
        cmocka_unit_test(changed_label_names_have_a_hash_and_taken_ones_a_prefix),
        cmocka_unit_test(values_are_escaped_utf8),
        cmocka_unit_test(long_values_are_cut_at_a_character),
        cmocka_unit_test(labels_are_sorted_and_given_once),
        cmocka_unit_test(labels_that_do_not_fit_are_left_out),
        cmocka_unit_test(help_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
