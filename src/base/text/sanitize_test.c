/* Any name as the name of a file. */
#include "base/text/sanitize.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/utf8.h"

static char safe[PLUMB_SAFE_NAME_MAX + 1];

static const char *of(const char *name)
{
    memset(safe, 'Z', sizeof safe);
    plumb_sanitize(safe, name);
    return safe;
}

static bool is_file_name(const char *name)
{
    size_t len = strnlen(name, PLUMB_SAFE_NAME_MAX + 1);
    if (len == 0 || len > PLUMB_SAFE_NAME_MAX || strchr(name, '/') || !plumb_utf8_valid(name))
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void plain_names_stay_as_they_are(void **state)
{
    static const char *const names[] = {
        "vae_decode",           "block.3", "a b", "...", ".hidden", "\\",
        "\xc3\xa4\xe2\x82\xac", "-",       "a-1", "~"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_string_equal(of(names[i]), names[i]);
}

static void exactly_100_bytes_are_kept_and_101_are_cut(void **state)
{
    char name[102];
    (void)state;
    memset(name, 'n', sizeof name);
    name[101] = '\0';
    assert_int_equal(strlen(of(name)), PLUMB_SAFE_NAME_MAX);
    assert_string_not_equal(safe, name);
    name[100] = '\0';
    assert_string_equal(of(name), name);
}

static void hostile_names_become_file_names(void **state)
{
    char all[256];
    static const char *const names[] = {
        "",     ".",    "..",   "/",        "../x",      "a/b",      "\n",
        "\x7f", "\xff", "\x80", "\xc2\x85", "a\x1b[31m", "\xe2\x82", "../../../etc/passwd",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(is_file_name(of(names[i])));
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    assert_true(is_file_name(of(all)));
    assert_null(strchr(of("../x"), '/'));
    assert_memory_equal(safe, ".._x-", 5);
}

static void a_cut_falls_between_characters(void **state)
{
    char name[400];
    (void)state;
    for (size_t offset = 0; offset < 4; offset++) {
        memset(name, 'x', sizeof name);
        for (size_t i = offset; i + 4 < sizeof name - 1; i += 4)
            memcpy(name + i, "\xf0\x9f\x98\x80", 4);
        name[sizeof name - 1] = '\0';
        assert_true(is_file_name(of(name)));
    }
}

static void distinct_names_stay_distinct(void **state)
{
    static char made[600][PLUMB_SAFE_NAME_MAX + 1];
    char name[320];
    size_t n = 0;
    static const char *const names[] = {"",   "_",   "/",   ".",    "..",
                                        "__", "a/b", "a_b", "a\nb", "a\377b"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        plumb_sanitize(made[n++], names[i]);
    for (int i = 0; i < 200; i++) { /* equal but for what is cut off */
        memset(name, 'n', 300);
        snprintf(name + 300, sizeof name - 300, "%d", i);
        plumb_sanitize(made[n++], name);
    }
    for (int c = 1; c < 256; c++) {
        snprintf(name, sizeof name, "a%c", c);
        plumb_sanitize(made[n++], name);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(made[i], made[k]);
}

static void a_name_that_looks_made_is_told_from_a_made_one(void **state)
{
    char made[PLUMB_SAFE_NAME_MAX + 1];
    (void)state;
    plumb_sanitize(made, "a/b");
    assert_string_not_equal(of(made), made);
    assert_true(is_file_name(safe));
}

static void words_stand_in_command_lines_and_stay_distinct(void **state)
{
    static const char *const plain[] = {"vae_decode", "block.3", "a-1", "_", "9"};
    static const char *const odd[] = {
        "a b", "a_b",      "a/b", "a\tb", "a'b",  "$(a)",  "-x",    ".x",    "_x",
        "",    "\xc3\xa4", "..",  "a;b",  "a*/b", "a_b_c", "a b c", "a b_c", "a_b-0123456789ab"};
    static char made[sizeof odd / sizeof odd[0]][PLUMB_SAFE_NAME_MAX + 1];
    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        plumb_sanitize_word(safe, plain[i]);
        assert_string_equal(safe, plain[i]);
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        plumb_sanitize_word(made[i], odd[i]);
        assert_true(is_file_name(made[i]));
        assert_int_equal(strspn(made[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789._-"),
                         strlen(made[i]));
        assert_null(strchr(".-", made[i][0]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(made[i], made[k]);
    }
    assert_string_equal(made[0], "a_b-99190483dead"); /* names of files do not change */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_stay_as_they_are),
        cmocka_unit_test(exactly_100_bytes_are_kept_and_101_are_cut),
        cmocka_unit_test(hostile_names_become_file_names),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(distinct_names_stay_distinct),
        cmocka_unit_test(a_name_that_looks_made_is_told_from_a_made_one),
        cmocka_unit_test(words_stand_in_command_lines_and_stay_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
