/* A message of the library is one line of plain text, whatever names and values are in it. */
#include "base/log.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char said[2048]; /* of several question marks each stands alone: C has trigraphs */

static void keep(int level, const char *line, void *arg)
{
    (void)level;
    (void)arg;
    strncpy(said, line, sizeof said - 1);
}

static void nothing_from_outside_speaks_to_the_terminal(void **state)
{
    (void)state;
    plumb_say("plumb: '%s'", "a\nb\x1b[31m\x7f\t");
    assert_string_equal(said, "plumb: 'a?b?[31m?"
                              "?'");
    plumb_say("plumb: '%s'", "\xc2\x9b"
                             "31m"); /* CSI as one character */
    assert_string_equal(said, "plumb: '?"
                              "?31m'");
    plumb_log(PLUMB_LOG_WARN, "%s", "\x1b]0;title\x07");
    assert_string_equal(said, "?]0;title?");
}

static void what_is_no_utf_8_is_marked_and_the_rest_stays(void **state)
{
    (void)state;
    plumb_say("%s", "caf\xc3\xa9 \xff\xfe \xe6\x96\x87 \xed\xa0\x80");
    assert_string_equal(said, "caf\xc3\xa9 ?"
                              "? \xe6\x96\x87 ?"
                              "?"
                              "?");
}

static void a_line_that_is_cut_within_a_character_stays_valid(void **state)
{
    char text[1100];
    (void)state;
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    plumb_say("x%s", text);
    assert_int_equal(strlen(said), 1022);
    assert_int_equal(said[1021], '?');
    plumb_say("%s", text);
    assert_int_equal((unsigned char)said[1021], 0xa9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_from_outside_speaks_to_the_terminal),
        cmocka_unit_test(what_is_no_utf_8_is_marked_and_the_rest_stays),
        cmocka_unit_test(a_line_that_is_cut_within_a_character_stays_valid),
    };
    plumb_log_set(PLUMB_LOG_WARN, keep, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
