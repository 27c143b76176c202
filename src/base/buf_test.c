/* The growing byte buffer. */
#include "base/buf.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void appended_pieces_stand_one_after_the_other(void **state)
{
    struct plumb_buf b = {0};
    (void)state;
    plumb_buf_str(&b, "ab");
    plumb_buf_char(&b, 'c');
    plumb_buf_append(&b, "\0d", 2);
    plumb_buf_printf(&b, "%d-%s", 42, "x");
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.data, "abc\0d42-x", 10);
    assert_false(b.failed);
    plumb_buf_fini(&b);
    assert_null(b.data);
}

static void it_grows_by_any_amount(void **state)
{
    struct plumb_buf b = {0};
    char piece[1000];
    size_t len = 0;
    (void)state;
    memset(piece, 'y', sizeof piece);
    for (size_t n = 0; n < sizeof piece; n += 7) {
        plumb_buf_append(&b, piece, n);
        len += n;
        plumb_buf_printf(&b, "%.*s", (int)n, piece);
        len += n;
        assert_int_equal(b.len, len);
        assert_true(b.cap > b.len);
        assert_int_equal(b.data[b.len], 0);
    }
    assert_int_equal(strspn(b.data, "y"), len);
    plumb_buf_fini(&b);
}

static void nothing_appended_still_gives_a_string(void **state)
{
    struct plumb_buf b = {0};
    (void)state;
    plumb_buf_str(&b, "");
    assert_string_equal(b.data, "");
    plumb_buf_fini(&b);
}

static void a_failure_is_remembered_and_keeps_what_was_there(void **state)
{
    struct plumb_buf b = {0};
    (void)state;
    plumb_buf_str(&b, "kept");
    plumb_buf_append(&b, "", SIZE_MAX - 2);
    assert_true(b.failed);
    plumb_buf_str(&b, "more");
    plumb_buf_printf(&b, "%d", 1);
    assert_string_equal(b.data, "kept");
    assert_int_equal(b.len, 4);
    plumb_buf_fini(&b);
    assert_false(b.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_pieces_stand_one_after_the_other),
        cmocka_unit_test(it_grows_by_any_amount),
        cmocka_unit_test(nothing_appended_still_gives_a_string),
        cmocka_unit_test(a_failure_is_remembered_and_keeps_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
