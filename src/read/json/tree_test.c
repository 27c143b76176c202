/* tree_test.c: a document as a tree holds what the text says, and nothing else is accepted. */
#include "read/json/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "read/json/scan.h"

/* From memory of exactly its size, so that a look beyond it is a report of the sanitizer. */
static int read_text(struct plumb_json_tree *out, const char *text, unsigned flags,
                     plumb_error *err)
{
    size_t n = strlen(text);
    char *exact = malloc(n ? n : 1);
    int rc;
    assert_non_null(exact);
    memcpy(exact, text, n);
    rc = plumb_json_tree_read(out, exact, n, flags, "x.json", err);
    memset(exact, '!', n);
    free(exact);
    return rc;
}

static void values_are_what_the_text_says(void **state)
{
    static const char text[] =
        "{\"a\": [1, -2.5, true, false, null, \"t\\u00e9\\n\"], \"empty\": {}, \"none\": [],\n"
        " \"\\u0061b\": {\"a\": {\"a\": \"deep\"}}, \"minus\": -9223372036854775808,"
        " \"big\": 18446744073709551615, \"bigger\": -92233720368547758080, \"real\": 1e19}";
    struct plumb_json_tree tree;
    const struct plumb_json_value *a;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(read_text(&tree, text, 0, &err), PLUMB_OK);
    assert_int_equal(plumb_json_count(tree.root), 8);
    a = plumb_json_get(tree.root, "a");
    assert_int_equal(plumb_json_count(a), 6);
    assert_int_equal(plumb_json_whole(plumb_json_at(a, 0)), 1);
    assert_true(plumb_json_as_real(plumb_json_at(a, 1)) == -2.5);
    assert_true(plumb_json_is(plumb_json_at(a, 2), PLUMB_JSON_IS_TRUE));
    assert_true(plumb_json_is(plumb_json_at(a, 3), PLUMB_JSON_IS_FALSE));
    assert_true(plumb_json_is(plumb_json_at(a, 4), PLUMB_JSON_IS_NULL));
    assert_string_equal(plumb_json_text(plumb_json_at(a, 5)), "t\xc3\xa9\n");
    assert_null(plumb_json_at(a, 6));
    assert_int_equal(plumb_json_count(plumb_json_get(tree.root, "empty")), 0);
    assert_true(plumb_json_is(plumb_json_get(tree.root, "none"), PLUMB_JSON_IS_ARRAY));
    a = plumb_json_get(plumb_json_get(plumb_json_get(tree.root, "ab"), "a"), "a");
    assert_string_equal(plumb_json_text(a), "deep");
    assert_string_equal(plumb_json_at(tree.root, 3)->name, "ab");
    assert_true(plumb_json_whole(plumb_json_get(tree.root, "minus")) == INT64_MIN);
    assert_true(plumb_json_is(plumb_json_get(tree.root, "big"), PLUMB_JSON_IS_BIG));
    assert_string_equal(plumb_json_get(tree.root, "big")->text, "18446744073709551615");
    assert_string_equal(plumb_json_get(tree.root, "bigger")->text, "-92233720368547758080");
    assert_true(plumb_json_as_real(plumb_json_get(tree.root, "big")) == 18446744073709551615.0);
    assert_true(plumb_json_is(plumb_json_get(tree.root, "real"), PLUMB_JSON_IS_REAL));
    assert_true(plumb_json_get(tree.root, "real")->real == 1e19);
    plumb_json_tree_fini(&tree);
}

static void what_is_not_there_is_nothing(void **state)
{
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(read_text(&tree, "\"text\"", 0, &err), PLUMB_OK);
    assert_null(plumb_json_get(tree.root, "a"));
    assert_null(plumb_json_get(NULL, "a"));
    assert_null(plumb_json_at(tree.root, 0));
    assert_null(plumb_json_text(NULL));
    assert_int_equal(plumb_json_whole(tree.root), 0);
    assert_true(plumb_json_as_real(tree.root) == 0);
    assert_false(plumb_json_is_number(tree.root));
    plumb_json_tree_fini(&tree);
    plumb_json_tree_fini(&tree);
}

static void python_writes_numbers_that_json_lacks(void **state)
{
    static const char text[] = "[NaN, Infinity, -Infinity, \"NaN\", 12345678901234567890123]";
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(read_text(&tree, text, 0, &err), PLUMB_ERR_FORMAT);
    assert_int_equal(read_text(&tree, text, PLUMB_JSON_NAN, &err), PLUMB_OK);
    assert_true(isnan(plumb_json_at(tree.root, 0)->real));
    assert_true(plumb_json_at(tree.root, 1)->real == (double)INFINITY);
    assert_true(plumb_json_at(tree.root, 2)->real == (double)-INFINITY);
    assert_string_equal(plumb_json_text(plumb_json_at(tree.root, 3)), "NaN");
    assert_string_equal(plumb_json_at(tree.root, 4)->text, "12345678901234567890123");
    plumb_json_tree_fini(&tree);
}

static void assert_refused(const char *text, const char *says)
{
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    assert_int_equal(read_text(&tree, text, 0, &err), PLUMB_ERR_FORMAT);
    assert_null(tree.root);
    if (!strstr(err.message, says))
        fail_msg("%s: %s", text, err.message);
}

static void names_that_come_twice_are_refused_however_they_are_spelled(void **state)
{
    struct plumb_buf many = {0};
    (void)state;
    assert_refused("{\"a\": 1,\n \"a\": 2}",
                   "line 2, column 9: the object that ends here has 'a' twice");
    assert_refused("{\"a\": 1, \"\\u0061\": 2}", "has 'a' twice");
    assert_refused("[{\"a\": {\"b\": 1, \"b\" : 2}}]", "has 'b' twice");
    /* More names than the scan has slots, and longer ones than a slot holds. */
    plumb_buf_char(&many, '{');
    for (int i = 0; i < 200; i++)
        plumb_buf_printf(
            &many, "\"a name that is longer than a slot %d\": 1, \"n%d\": {\"a\": 1}, ", i, i);
    plumb_buf_str(&many, "\"n150\": 0}");
    assert_false(many.failed);
    assert_refused(many.data, "has 'n150' twice");
    many.len -= strlen("150\": 0}");
    plumb_buf_str(&many, "\": 0}");
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    assert_int_equal(read_text(&tree, many.data, 0, &err), PLUMB_OK);
    assert_int_equal(plumb_json_count(tree.root), 401);
    assert_int_equal(plumb_json_count(plumb_json_get(tree.root, "n199")), 1);
    plumb_json_tree_fini(&tree);
    plumb_buf_fini(&many);
}

static void texts_that_are_not_json_are_refused(void **state)
{
    (void)state;
    assert_refused("", "line 1, column 1: it ends in the middle of a value");
    assert_refused("{\"a\": \"x\\u0000y\"}", "a string holds the character NUL");
    assert_refused("{\"x\\u0000y\": 1}", "a string holds the character NUL");
    assert_refused("[1] 2", "something follows the value");
    assert_refused("[1,]", "");
    assert_refused("[1e999]", "");
    assert_refused("[\"\xff\"]", "");
}

static void it_goes_as_deep_as_the_scan(void **state)
{
    enum { DEEP = PLUMB_JSON_MAX_DEPTH };
    static char text[2 * DEEP + 3];
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    const struct plumb_json_value *v;
    size_t depth = 0;
    (void)state;
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    assert_int_equal(read_text(&tree, text, 0, &err), PLUMB_OK);
    for (v = tree.root; v; v = plumb_json_at(v, 0))
        depth++;
    assert_int_equal(depth, DEEP);
    plumb_json_tree_fini(&tree);
    memset(text, '[', DEEP + 1);
    memset(text + DEEP + 1, ']', DEEP + 1);
    assert_refused(text, "nested too deeply");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_what_the_text_says),
        cmocka_unit_test(what_is_not_there_is_nothing),
        cmocka_unit_test(python_writes_numbers_that_json_lacks),
        cmocka_unit_test(names_that_come_twice_are_refused_however_they_are_spelled),
        cmocka_unit_test(texts_that_are_not_json_are_refused),
        cmocka_unit_test(it_goes_as_deep_as_the_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
