/* Tests of texts and keys that are stored once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/map.h"
#include "base/strings/strings.h"
#include "hash_alike.h"

static uint32_t put(struct plumb_strings *s, const char *a, const char *b)
{
    const char *const key[] = {a, b};
    return plumb_strings_put_key(s, key, 2);
}

static void keys_are_one_where_each_text_is_equal(void **state)
{
    struct plumb_strings s = {.at = NULL};
    const char *const known[] = {"a", "bc"}, *const unknown[] = {"abc", "x"};
    (void)state;
    assert_int_equal(plumb_strings_find_key(&s, known, 2), UINT32_MAX);
    uint32_t first = put(&s, "a", "bc");
    assert_int_not_equal(first, 0);
    assert_int_not_equal(put(&s, "ab", "c"), first);
    assert_int_not_equal(put(&s, "", "abc"), first);
    assert_int_not_equal(put(&s, "a2:bc", ""), first);
    assert_int_equal(put(&s, "a", "bc"), first);
    assert_int_equal(plumb_strings_find_key(&s, known, 2), first);
    assert_int_equal(plumb_strings_find_key(&s, known, 1), UINT32_MAX);
    assert_int_equal(plumb_strings_find_key(&s, unknown, 2), UINT32_MAX);
    assert_int_not_equal(put(&s, "", ""), 0);
    plumb_strings_fini(&s);
}

static void keys_with_one_hash_stay_two(void **state)
{
    struct plumb_strings s = {.at = NULL};
    (void)state;
    assert_true(plumb_hash_text(ALIKE_A) == plumb_hash_text(ALIKE_B));
    assert_true(plumb_hash_text(ALIKE_A ".7") == plumb_hash_text(ALIKE_B ".7"));
    uint32_t a = put(&s, "x", ALIKE_A), b = put(&s, "x", ALIKE_B);
    assert_int_not_equal(a, b);
    assert_int_equal(put(&s, "x", ALIKE_A), a);
    plumb_strings_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_one_where_each_text_is_equal),
        cmocka_unit_test(keys_with_one_hash_stay_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
