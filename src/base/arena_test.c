/* Memory that is freed as a whole. */
#include "base/arena.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    struct plumb_arena a = {0};
    unsigned char *pieces[200];
    (void)state;
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = plumb_arena_alloc(&a, i * 13);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t k = 0; k < i * 13; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)i, i * 13);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t k = 0; k < i * 13; k++)
            assert_int_equal(pieces[i][k], (unsigned char)i);
    assert_false(a.failed);
    plumb_arena_fini(&a);
    assert_null(a.blocks);
}

static void a_large_piece_does_not_lose_the_room_of_the_block_in_use(void **state)
{
    struct plumb_arena a = {0};
    (void)state;
    char *before = plumb_arena_alloc(&a, 16);
    char *large = plumb_arena_alloc(&a, (size_t)3 << 20);
    char *after = plumb_arena_alloc(&a, 16);
    assert_non_null(large);
    large[((size_t)3 << 20) - 1] = 1;
    assert_ptr_equal(after, before + 16);
    plumb_arena_fini(&a);
}

static void strings_are_copied(void **state)
{
    struct plumb_arena a = {0};
    (void)state;
    assert_string_equal(plumb_arena_strdup(&a, "text"), "text");
    assert_null(plumb_arena_strdup(&a, NULL));
    assert_string_equal(plumb_arena_strndup(&a, "text", 2), "te");
    assert_string_equal(plumb_arena_strndup(&a, "te", 20), "te");
    assert_string_equal(plumb_arena_printf(&a, "%s.%d", "block", 3), "block.3");
    assert_false(a.failed);
    plumb_arena_fini(&a);
}

static void an_array_grows_and_keeps_its_elements(void **state)
{
    struct plumb_arena a = {0};
    uint32_t *array = NULL;
    size_t cap = 0;
    (void)state;
    for (size_t i = 0; i < 5000; i++) {
        array = plumb_arena_grow(&a, array, &cap, i + 1, sizeof *array);
        assert_non_null(array);
        assert_true(cap > i);
        assert_int_equal(array[i], 0);
        array[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(array[i], i);
    assert_ptr_equal(plumb_arena_grow(&a, array, &cap, cap, sizeof *array), array);
    plumb_arena_fini(&a);
}

static void impossible_sizes_fail_and_are_remembered(void **state)
{
    struct plumb_arena a = {0};
    uint64_t *array = NULL;
    size_t cap = 0;
    (void)state;
    assert_null(plumb_arena_alloc(&a, SIZE_MAX));
    assert_true(a.failed);
    a.failed = false;
    assert_null(plumb_arena_grow(&a, array, &cap, SIZE_MAX / 4, sizeof *array));
    assert_true(a.failed);
    assert_int_equal(cap, 0);
    assert_non_null(plumb_arena_alloc(&a, 8));
    plumb_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(a_large_piece_does_not_lose_the_room_of_the_block_in_use),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(an_array_grows_and_keeps_its_elements),
        cmocka_unit_test(impossible_sizes_fail_and_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
