/* Tests of grid.c: widths, missing values, names that could break out, exact figures in CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "report/table/grid.h"

static const struct plumb_grid_column columns[] = {
    {"name", "Name", PLUMB_GRID_TEXT, NULL},    {"count", "Count", PLUMB_GRID_COUNT, "how often"},
    {"bytes", "MiB", PLUMB_GRID_BYTES, NULL},   {"ns", "ms", PLUMB_GRID_NS, NULL},
    {"percent", "%", PLUMB_GRID_PERCENT, NULL}, {"exact", "Exact", PLUMB_GRID_FLAG, NULL},
    {"never", "Never", PLUMB_GRID_COUNT, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void fill(struct plumb_grid *g)
{
    plumb_grid_init(g, columns, COLUMNS);
    plumb_grid_text(g, "a \"b\", |c|\xff\n");
    plumb_grid_whole(g, UINT64_MAX);
    plumb_grid_signed(g, -1572864);
    plumb_grid_whole(g, 1234567);
    plumb_grid_real(g, 12.345);
    plumb_grid_whole(g, 1);
    plumb_grid_none(g);
    plumb_grid_copy(g, "\xc3\xa9");
    plumb_grid_none(g);
    plumb_grid_none(g);
    plumb_grid_none(g);
    plumb_grid_real(g, NAN);
    plumb_grid_whole(g, 0);
    plumb_grid_none(g);
}

static void assert_written(void (*write)(const struct plumb_grid *, struct plumb_buf *),
                           const char *text)
{
    struct plumb_grid g;
    struct plumb_buf out = {0};
    fill(&g);
    write(&g, &out);
    assert_false(out.failed);
    assert_string_equal(out.data, text);
    plumb_buf_fini(&out);
    plumb_grid_fini(&g);
}

static void text_is_aligned_and_leaves_out_what_is_empty(void **state)
{
    (void)state;
    assert_written(plumb_grid_write,
                   "Name                               Count    MiB    ms     %  Exact\n"
                   "------------------------------------------------------------------\n"
                   "a \"b\", |c|\\xff\\x0a  18446744073709551615  -1.50  1.23  12.3    yes\n"
                   "\xc3\xa9                                                               no");
}

static void markdown_names_cannot_leave_their_cell(void **state)
{
    (void)state;
    assert_written(plumb_grid_md,
                   "| Name | Count | MiB | ms | % | Exact |\n"
                   "| :-- | --: | --: | --: | --: | --: |\n"
                   "| a \"b\", \\|c\\|\\\\xff\\\\x0a | 18446744073709551615 | -1.50 | 1.23 | 12.3 "
                   "| yes |\n"
                   "| \xc3\xa9 |  |  |  |  | no |");
}

static void csv_is_exact_and_has_every_column(void **state)
{
    (void)state;
    assert_written(
        plumb_grid_csv,
        "name,count,bytes,ns,percent,exact,never\n"
        "\"a \"\"b\"\", |c|\\xff\\x0a\",18446744073709551615,-1572864,1234567,12.345,1,\n"
        "\xc3\xa9,,,,,0,");
}

static void a_grid_without_rows_has_its_columns(void **state)
{
    struct plumb_grid g;
    struct plumb_buf out = {0};
    (void)state;
    plumb_grid_init(&g, columns, 2);
    assert_int_equal(plumb_grid_rows(&g), 0);
    assert_false(plumb_grid_shows(&g, 0));
    plumb_grid_csv(&g, &out);
    assert_string_equal(out.data, "name,count");
    plumb_grid_write(&g, &out);
    plumb_grid_md(&g, &out);
    assert_false(out.failed);
    plumb_buf_fini(&out);
    plumb_grid_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_aligned_and_leaves_out_what_is_empty),
        cmocka_unit_test(markdown_names_cannot_leave_their_cell),
        cmocka_unit_test(csv_is_exact_and_has_every_column),
        cmocka_unit_test(a_grid_without_rows_has_its_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
