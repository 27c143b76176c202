/* Misspelt words and what they were meant to be. */
#include "base/text/nearest.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void edits_are_counted(void **state)
{
    (void)state;
    assert_int_equal(plumb_edit_distance("", "", 3), 0);
    assert_int_equal(plumb_edit_distance("abc", "", 9), 3);
    assert_int_equal(plumb_edit_distance("", "abc", 9), 3);
    assert_int_equal(plumb_edit_distance("kitten", "sitting", 9), 3);
    assert_int_equal(plumb_edit_distance("REGION", "regions", 9), 1);
    assert_int_equal(plumb_edit_distance("DRI", "DIR", 9), 1);
    assert_int_equal(plumb_edit_distance("abcdef", "fedcba", 9), 5);
}

static void more_than_the_limit_is_the_limit_and_one(void **state)
{
    char word[80];
    (void)state;
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(plumb_edit_distance("abc", "xyz", 1), 2);
    assert_int_equal(plumb_edit_distance(word, word, 5), 6);
    word[63] = '\0';
    assert_int_equal(plumb_edit_distance(word, word, 5), 0);
}

static void the_distance_is_symmetric_and_bounded_by_the_lengths(void **state)
{
    static const char *const words[] = {"SYNC", "SKIP_FIRST", "SIGNALS", "RING", "R", "MAX_NODES"};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 6; k++) {
            size_t d = plumb_edit_distance(words[i], words[k], 99);
            size_t a = strlen(words[i]);
            size_t b = strlen(words[k]);
            assert_int_equal(d, plumb_edit_distance(words[k], words[i], 99));
            assert_in_range(d, a > b ? a - b : b - a, a > b ? a : b);
            assert_int_equal(d == 0, i == k);
        }
    }
}

static const char *best_of(const char *word)
{
    static const char *const candidates[] = {"DIR", "RUN_DIR", "SKIP_FIRST", "SYNC", "LOG"};
    struct plumb_nearest n = plumb_nearest_start(word);
    for (size_t i = 0; i < 5; i++)
        plumb_nearest_offer(&n, candidates[i]);
    return n.best;
}

static void the_nearest_word_is_found_or_none(void **state)
{
    (void)state;
    assert_string_equal(best_of("DIRS"), "DIR");
    assert_string_equal(best_of("SKIPFIRST"), "SKIP_FIRST");
    assert_string_equal(best_of("skip_frist"), "SKIP_FIRST");
    assert_string_equal(best_of("LGO"), "LOG");
    assert_string_equal(best_of("SYNC"), "SYNC");
    assert_null(best_of("TELEMETRY"));
    assert_null(best_of("XY"));
    assert_null(best_of(""));
    struct plumb_nearest n = plumb_nearest_start("a");
    plumb_nearest_offer(&n, "");
    assert_null(n.best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits_are_counted),
        cmocka_unit_test(more_than_the_limit_is_the_limit_and_one),
        cmocka_unit_test(the_distance_is_symmetric_and_bounded_by_the_lengths),
        cmocka_unit_test(the_nearest_word_is_found_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
