/* Tests of the alignment of two sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diverge/sequence.h"

static float same_letter(void *arg, uint32_t i, uint32_t j)
{
    (void)arg;
    return i == j ? 1 : 0;
}

/* The letters of `a` that found a partner in `b`. */
static void aligned(const char *a, const char *b, const char *expected, uint64_t budget, int whole)
{
    uint32_t items_a[4096];
    uint32_t items_b[4096];
    uint32_t partner[4096];
    char out[4096];
    size_t n = 0;
    uint32_t last = 0;
    plumb_error err = {0, ""};
    for (size_t i = 0; i < strlen(a); i++)
        items_a[i] = (uint32_t)a[i];
    for (size_t i = 0; i < strlen(b); i++)
        items_b[i] = (uint32_t)b[i];
    struct plumb_sequence s = {
        items_a, items_b, (uint32_t)strlen(a), (uint32_t)strlen(b), same_letter, NULL, budget};
    assert_int_equal(plumb_sequence_align(partner, &s, &err), whole);
    for (size_t i = 0; i < strlen(a); i++) {
        if (partner[i] == PLUMB_SEQUENCE_NONE)
            continue;
        assert_int_equal(a[i], b[partner[i]]);
        assert_true(n == 0 || partner[i] > last);
        last = partner[i];
        out[n++] = a[i];
    }
    out[n] = '\0';
    if (expected)
        assert_string_equal(out, expected);
}

static void the_longest_common_part_is_found(void **state)
{
    (void)state;
    aligned("abcd", "abcd", "abcd", 0, 1);
    aligned("abcd", "xaybzcwd", "abcd", 0, 1);
    aligned("xaxbxcx", "abc", "abc", 0, 1);
    aligned("abc", "xyz", "", 0, 1);
    aligned("", "abc", "", 0, 1);
    aligned("abc", "", "", 0, 1);
    aligned("abcabba", "cbabac", NULL, 0, 1);
}

static void a_band_finds_what_lies_near_the_diagonal(void **state)
{
    char a[4000];
    char b[4000];
    (void)state;
    for (size_t i = 0; i < sizeof a - 1; i++)
        a[i] = b[i] = (char)(33 + i * 7 % 90);
    a[sizeof a - 1] = b[sizeof b - 1] = '\0';
    aligned(a, b, a, 1000, 0);
    memmove(b, b + 9, sizeof b - 9); /* nine are missing at the begin */
    aligned(a, b, a + 9, 1000, 0);
}

static void what_scores_highest_wins_not_what_comes_first(void **state)
{
    static const uint32_t a[] = {0}, b[] = {0, 1, 2};
    uint32_t partner[1];
    plumb_error err = {0, ""};
    struct plumb_sequence s = {a, b, 1, 3, same_letter, NULL, 0};
    (void)state;
    s.a = (uint32_t[]){1};
    assert_int_equal(plumb_sequence_align(partner, &s, &err), 1);
    assert_int_equal(partner[0], 1);
}

static void the_longest_rising_run_is_kept(void **state)
{
    static const uint32_t values[] = {5, 1, 2, PLUMB_SEQUENCE_NONE, 9, 3, 4};
    static const uint8_t expected[] = {0, 1, 1, 0, 0, 1, 1};
    uint8_t keep[7];
    (void)state;
    assert_int_equal(plumb_sequence_rising(keep, values, 7, NULL), 0);
    assert_memory_equal(keep, expected, sizeof expected);
    assert_int_equal(plumb_sequence_rising(keep, values, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_common_part_is_found),
        cmocka_unit_test(a_band_finds_what_lies_near_the_diagonal),
        cmocka_unit_test(what_scores_highest_wins_not_what_comes_first),
        cmocka_unit_test(the_longest_rising_run_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
