/* Tests of the forms of a comparison: every format takes any input, no name can break out of any
 * format, and each comparison states its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/compare/view.h"
#include "timing_fixture.h"

static const char *const labels[] = {"old", "new"};

static void add(struct plumb_compare *c, struct plumb_timing *t, const char *path)
{
    plumb_error err = {0, ""};
    if (plumb_compare_add(c, t, false, path, NULL, &err) < 0)
        fail_msg("%s", err.message);
    plumb_timing_fini(t);
}

/* The rich fixture against the golden one: nothing in common, hostile names, two pipelines. */
static void compare_strangers(struct plumb_compare *c)
{
    plumb_compare_options o = plumb_compare_options_default();
    struct plumb_timing t;
    plumb_error err = {0, ""};
    o.allow = PLUMB_ALLOW_ALL;
    if (plumb_compare_init(c, &o, 1, 1, &err) < 0)
        fail_msg("%s", err.message);
    fixture_rich(&t);
    t.host = "a \"host\"\nof two lines";
    t.nodes[0].name = "a|b, \"c\"\x1b[31m\n<script>";
    add(c, &t, "runs/\"rich\"");
    fixture_golden(&t);
    t.start_unix_ns++;
    add(c, &t, "runs/golden");
    if (plumb_compare_finish(c, &err) < 0)
        fail_msg("%s", err.message);
}

static char *rendered(const struct plumb_compare *c, plumb_compare_view view, const char *remarks)
{
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    if (plumb_compare_render(&out, c, &view, labels, remarks, &err) < 0)
        fail_msg("%s", err.message);
    return out.data;
}

static plumb_compare_view form(const char *format)
{
    plumb_compare_view v = plumb_compare_view_default();
    v.format = format;
    return v;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

static void an_unknown_format_or_order_is_an_error(void **state)
{
    struct plumb_compare c;
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    plumb_compare_view view = form("xml");
    (void)state;
    compare_strangers(&c);
    assert_int_equal(plumb_compare_render(&out, &c, &view, labels, "", &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "unknown format 'xml': it is text, json, csv or md");
    view = form("text");
    view.sort = 5;
    assert_int_equal(plumb_compare_render(&out, &c, &view, labels, "", &err), PLUMB_ERR_ARG);
    assert_null(out.data);
    plumb_compare_fini(&c);
}

static void no_line_of_text_or_markdown_is_broken_by_a_name(void **state)
{
    struct plumb_compare c;
    (void)state;
    compare_strangers(&c);
    char *text = rendered(&c, form("text"), "");
    has(text, "\nprog             a|b, \"c\"\\x1b[31m\\x0a<script>");
    has(text, "\naudio            frame ");
    has(text, "\nNote: compared all the same: ");
    has(text, "host 'a \"host\"\\x0aof two lines' and 'box'");
    assert_null(strchr(text, '\x1b'));
    free(text);
    text = rendered(&c, form("md"), "");
    has(text, "\n| prog | a\\|b, \"c\"\\\\x1b\\[31m\\\\x0a\\<script> | inference |");
    has(text, "\n- compared all the same: ");
    free(text);
    plumb_compare_fini(&c);
}

static void every_line_of_csv_has_as_many_fields_as_the_header(void **state)
{
    struct plumb_compare c;
    size_t commas = 0;
    (void)state;
    compare_strangers(&c);
    char *text = rendered(&c, form("csv"), "");
    has(text, "\nnode,prog,\"a|b, \"\"c\"\"\\x1b[31m\\x0a<script>\",inference,ms,");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t n = 0;
        bool quoted = false;
        for (const char *p = line; *p; p++) {
            quoted ^= *p == '"';
            n += *p == ',' && !quoted;
        }
        if (commas == 0)
            commas = n;
        assert_int_equal(n, commas);
    }
    free(text);
    plumb_compare_fini(&c);
}

static void json_is_one_valid_object_whatever_the_names(void **state)
{
    struct plumb_compare c;
    json_error_t why;
    (void)state;
    compare_strangers(&c);
    char *text = rendered(&c, form("json"), "A: recovered\nB: \"odd\"\n");
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        fail_msg("line %d: %s", why.line, why.text);
    assert_string_equal(json_string_value(json_object_get(root, "format")), "plumb-comparison");
    const json_t *rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), c.nodes.count);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "node")),
                        "a|b, \"c\"\x1b[31m\n<script>");
    const json_t *remarks = json_object_get(root, "remarks");
    assert_int_equal(json_array_size(remarks), 2);
    assert_string_equal(json_string_value(json_array_get(remarks, 1)), "B: \"odd\"");
    const json_t *runs = json_object_get(json_object_get(root, "a"), "runs");
    assert_string_equal(json_string_value(json_array_get(runs, 0)), "runs/\"rich\"");
    json_decref(root);
    free(text);
    plumb_compare_fini(&c);
}

static void top_hides_nodes_and_says_how_many(void **state)
{
    struct plumb_compare c;
    (void)state;
    compare_strangers(&c);
    plumb_compare_view view = form("text");
    view.top = 2;
    view.sort = PLUMB_COMPARE_B;
    char *text = rendered(&c, view, "");
    char more[32];
    snprintf(more, sizeof more, "\n(%zu more)\n", c.nodes.count - 2);
    has(text, more);
    const char *a = strstr(text, "node_a ");
    const char *b = strstr(text, "node_b ");
    assert_non_null(a);
    assert_non_null(b);
    assert_true(a < b); /* 10 ms, 5 ms */
    free(text);
    plumb_compare_fini(&c);
}

static void what_is_new_comes_first_by_percentage(void **state)
{
    struct plumb_compare c;
    (void)state;
    compare_strangers(&c);
    plumb_compare_view view = form("csv");
    view.sort = PLUMB_COMPARE_PERCENT;
    view.top = 2;
    char *text = rendered(&c, view, "");
    has(text, "\nnode,prog,node_b,");
    has(text, "\nnode,prog,node_a,");
    free(text);
    plumb_compare_fini(&c);
}

static void a_change_beyond_all_bounds_keeps_its_column(void **state)
{
    plumb_compare_options o = plumb_compare_options_default();
    struct plumb_compare c;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_compare_init(&c, &o, 1, 1, &err), PLUMB_OK);
    fixture_golden(&t);
    t.wall_clock_ns = 1;
    add(&c, &t, "a");
    fixture_golden(&t);
    t.start_unix_ns++;
    t.wall_clock_ns = UINT64_MAX;
    add(&c, &t, "b");
    assert_int_equal(plumb_compare_finish(&c, &err), PLUMB_OK);
    char *text = rendered(&c, form("text"), "");
    has(text, " >99999  worse\n");
    free(text);
    plumb_compare_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_format_or_order_is_an_error),
        cmocka_unit_test(no_line_of_text_or_markdown_is_broken_by_a_name),
        cmocka_unit_test(every_line_of_csv_has_as_many_fields_as_the_header),
        cmocka_unit_test(json_is_one_valid_object_whatever_the_names),
        cmocka_unit_test(top_hides_nodes_and_says_how_many),
        cmocka_unit_test(what_is_new_comes_first_by_percentage),
        cmocka_unit_test(a_change_beyond_all_bounds_keeps_its_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
