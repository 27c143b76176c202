/* text_table_test.c: the places of a table's cells. */
#include "summary/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct plumb_text_table *t, const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        plumb_text_put(t, cells[i]);
}

static void names_are_left_figures_right_and_nothing_trails(void **state)
{
    static const char *const cells[] = {"Node", "Count", "Note",     "denoise", "5",
                                        "",     "é",     "12345678", "x"};
    struct plumb_text_column columns[] = {
        {.left = true, .width = 4}, {.gap = 1, .width = 5}, {.left = true, .gap = 2}};
    struct plumb_text_table t;
    struct plumb_buf out = {0};
    (void)state;
    plumb_text_table_init(&t, columns, 3);
    add(&t, cells, 9);
    for (int i = 0; i < 3; i++) {
        plumb_text_line(&t, 0, &out);
        if (i == 0)
            plumb_text_rule(&t, &out);
    }
    assert_string_equal(out.data, "Node       Count  Note\n"
                                  "----------------------\n"
                                  "denoise        5\n"
                                  "é       12345678  x\n");
    assert_int_equal(plumb_text_width(&t, 2), 7 + 1 + 8);
    plumb_text_table_fini(&t);
    plumb_buf_fini(&out);
}

static void a_cell_that_is_too_wide_moves_its_line_alone(void **state)
{
    static const char *const cells[] = {"abc", "1", "abcdef", "2", "abcd", "3"};
    struct plumb_text_column columns[] = {{.left = true, .width = 2, .most = 4},
                                          {.gap = 1, .width = 3, .most = 3}};
    struct plumb_text_table t;
    struct plumb_buf out = {0};
    (void)state;
    plumb_text_table_init(&t, columns, 2);
    add(&t, cells, 6);
    for (int i = 0; i < 3; i++)
        plumb_text_line(&t, 0, &out);
    assert_string_equal(out.data, "abc    1\n"
                                  "abcdef   2\n"
                                  "abcd   3\n");
    plumb_text_table_fini(&t);
    plumb_buf_fini(&out);
}

static void hidden_columns_leave_no_gap_and_skipped_ones_are_the_callers(void **state)
{
    static const char *const cells[] = {"kind", "a", "1", "kind", "b", "2"};
    struct plumb_text_column columns[] = {
        {.left = true, .hidden = true}, {.left = true, .gap = 1}, {.gap = 1, .width = 3}};
    struct plumb_text_table t;
    struct plumb_buf out = {0};
    (void)state;
    plumb_text_table_init(&t, columns, 3);
    add(&t, cells, 6);
    plumb_text_line(&t, 0, &out);
    plumb_buf_str(&out, "S");
    plumb_text_line(&t, 2, &out);
    plumb_text_rule(&t, &out);
    assert_string_equal(out.data, "a   1\n"
                                  "S   2\n"
                                  "-----\n");
    plumb_text_table_fini(&t);
    plumb_buf_fini(&out);
}

static void names_cannot_steer_a_terminal(void **state)
{
    struct plumb_text_column columns[] = {{.left = true}};
    struct plumb_text_table t;
    struct plumb_buf out = {0};
    (void)state;
    plumb_text_table_init(&t, columns, 1);
    plumb_text_put(&t, "a\x1b[1m\n");
    plumb_text_line(&t, 0, &out);
    plumb_text_rule(&t, &out);
    assert_string_equal(out.data, "a\\x1b[1m\\x0a\n------------\n");
    plumb_text_table_fini(&t);
    plumb_buf_fini(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_left_figures_right_and_nothing_trails),
        cmocka_unit_test(a_cell_that_is_too_wide_moves_its_line_alone),
        cmocka_unit_test(hidden_columns_leave_no_gap_and_skipped_ones_are_the_callers),
        cmocka_unit_test(names_cannot_steer_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
