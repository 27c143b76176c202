/* Tests of the formats: CSV, Markdown, JSON, the wide table, the call tree, the remarks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/run/render.h"
#include "timing_fixture.h"
#include <plumb/read/report.h>

static char *rendered(struct plumb_timing *t, const char *format, struct plumb_render_options o)
{
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    if (plumb_render(&out, t, format, &o, &err) < 0)
        fail_msg("%s", err.message);
    return out.data;
}

static void an_unknown_format_is_an_error(void **state)
{
    struct plumb_timing t;
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    struct plumb_render_options o = {.wide = false};
    (void)state;
    fixture_golden(&t);
    assert_int_equal(plumb_render(&out, &t, "xml", &o, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message,
                        "no format 'xml' of the table of nodes: there is text, json, csv, md, svg");
    assert_null(out.data);
    plumb_timing_fini(&t);
}

static void csv_quotes_what_would_break_a_line(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_golden(&t);
    t.nodes[1].name = "a \"b\", c\nd";
    char *text = rendered(&t, "csv", (struct plumb_render_options){.wide = false});
    assert_non_null(strstr(text, "\nprog,\"a \"\"b\"\", c\\x0ad\",inference,100,10,2,5,20,9.5,"));
    free(text);
    plumb_timing_fini(&t);
}

static void markdown_names_cannot_leave_their_cell(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_golden(&t);
    t.nodes[1].name = "a|b<script>[x](y)";
    char *text = rendered(&t, "md", (struct plumb_render_options){.wide = false});
    assert_non_null(strstr(text, "\n| a\\|b\\<script>\\[x](y) | inference | 100 |"));
    free(text);
    plumb_timing_fini(&t);
}

static void json_is_one_valid_object_whatever_the_names(void **state)
{
    struct plumb_timing t;
    json_error_t why;
    (void)state;
    fixture_rich(&t);
    struct plumb_render_options o = {.tree = true, .explain = true, .run = "a \"run\""};
    char *text = rendered(&t, "json", o);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        fail_msg("line %d: %s", why.line, why.text);
    assert_int_equal(json_array_size(json_object_get(root, "pipelines")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "tree")), 3);
    assert_string_equal(json_string_value(json_object_get(root, "run")), "a \"run\"");
    json_decref(root);
    free(text);
    plumb_timing_fini(&t);
}

/* Every form of every view. */
static void render_all(struct plumb_timing *t, const char *request)
{
    size_t n;
    const struct plumb_renderer *formats = plumb_renderers(&n);
    for (size_t i = 0; i < n; i++)
        for (uint32_t view = 0; view < PLUMB_VIEWS; view++)
            for (int tree = 0; tree < 2; tree++) {
                struct plumb_render_options o = {
                    .wide = true, .tree = tree, .explain = true, .view = view, .request = request};
                if (!formats[i].render[view])
                    continue;
                char *text = rendered(t, formats[i].name, o);
                assert_non_null(text);
                assert_true(text[0] != '\0');
                assert_true(text[strlen(text) - 1] != '\n');
                if (strcmp(formats[i].name, "json") == 0) {
                    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
                    assert_non_null(root);
                    json_decref(root);
                }
                free(text);
            }
}

static void every_form_takes_an_empty_report(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    render_all(&t, NULL);
    plumb_timing_fini(&t);
}

static void every_form_takes_whatever_a_report_holds(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_served(&t);
    render_all(&t, NULL);
    render_all(&t, "cat");
    render_all(&t, "bad\xff id");
    plumb_timing_fini(&t);
}

static void an_unknown_request_or_form_is_an_error(void **state)
{
    struct plumb_timing t;
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    struct plumb_render_options o = {.request = "dog"};
    (void)state;
    fixture_served(&t);
    assert_int_equal(plumb_render(&out, &t, "text", &o, &err), PLUMB_ERR_NOT_FOUND);
    assert_string_equal(err.message, "no request 'dog' among the 3 of the run");
    o = (struct plumb_render_options){.view = PLUMB_VIEW_SUMMARY};
    assert_int_equal(plumb_render(&out, &t, "csv", &o, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "no format 'csv' of the summary: there is text");
    o.view = PLUMB_VIEWS;
    assert_int_equal(plumb_render(&out, &t, "text", &o, &err), PLUMB_ERR_ARG);
    assert_null(out.data);
    plumb_timing_fini(&t);
}

static void the_tree_shows_siblings_by_total_and_counts_the_hidden(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_golden(&t);
    t.tree = plumb_arena_alloc(&t.arena, 4 * sizeof *t.tree);
    t.tree_count = 4;
    t.tree[0] = (struct plumb_timing_tree){PLUMB_TIMING_NONE, 0, 1, 10 * FIXTURE_MS, 0, false};
    t.tree[1] = (struct plumb_timing_tree){0, 1, 2, 3 * FIXTURE_MS, 0, false};
    t.tree[2] = (struct plumb_timing_tree){0, 0, 3, 4 * FIXTURE_MS, 0, false};
    t.tree[3] = (struct plumb_timing_tree){0, 0, 4, 1 * FIXTURE_MS, 0, false};
    struct plumb_tree_view view;
    struct plumb_summary_options o = {.top = 2};
    assert_int_equal(plumb_tree_init(&view, &t, &o, NULL), PLUMB_OK);
    assert_int_equal(view.count, 4);
    assert_int_equal(view.lines[0].place->count, 1);
    assert_int_equal(view.lines[1].place->count, 3);
    assert_int_equal(view.lines[1].depth, 1);
    assert_float_equal(view.lines[1].percent, 40.0, 1e-9);
    assert_int_equal(view.lines[2].place->count, 2);
    assert_int_equal(view.lines[3].hidden, 1);
    plumb_tree_fini(&view);
    /* Means are 1.5, 1.33 and 0.25 ms. */
    o = (struct plumb_summary_options){.sort = PLUMB_SUMMARY_MEAN};
    assert_int_equal(plumb_tree_init(&view, &t, &o, NULL), PLUMB_OK);
    assert_int_equal(view.lines[1].place->count, 2);
    assert_int_equal(view.lines[2].place->count, 3);
    assert_int_equal(view.lines[3].place->count, 4);
    plumb_tree_fini(&view);
    plumb_timing_fini(&t);
}

static void a_place_stays_when_one_below_it_is_chosen(void **state)
{
    struct plumb_timing t;
    struct plumb_tree_view view;
    struct plumb_summary_options o = {.phase = "val"};
    (void)state;
    fixture_rich(&t);
    t.tree[1].node = 2; /* frame of phase val, inside frame of inference */
    assert_int_equal(plumb_tree_init(&view, &t, &o, NULL), PLUMB_OK);
    assert_int_equal(view.count, 2);
    assert_string_equal(view.lines[0].node->phase, "inference");
    assert_string_equal(view.lines[1].node->phase, "val");
    assert_true(view.lines[1].switched);
    plumb_tree_fini(&view);
    plumb_timing_fini(&t);
}

static void roots_of_several_pipelines_say_whose_they_are(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    char *text = rendered(&t, "md", (struct plumb_render_options){.tree = true});
    assert_non_null(strstr(text, "- frame (prog, inference): "));
    assert_non_null(strstr(text, "\n  - decode: "));
    assert_non_null(strstr(text, "\n- frame (async) (audio, inference): "));
    free(text);
    plumb_timing_fini(&t);
}

static void a_deep_tree_takes_no_stack(void **state)
{
    enum { DEEP = 100000 };
    struct plumb_timing t;
    struct plumb_tree_view view;
    struct plumb_summary_options o = {.top = 0};
    (void)state;
    fixture_golden(&t);
    t.tree = plumb_arena_alloc(&t.arena, DEEP * sizeof *t.tree);
    t.tree_count = DEEP;
    for (uint32_t i = 0; i < DEEP; i++)
        t.tree[i] = (struct plumb_timing_tree){i ? i - 1 : PLUMB_TIMING_NONE, 0, 1, 1, 0, false};
    assert_int_equal(plumb_tree_init(&view, &t, &o, NULL), PLUMB_OK);
    assert_int_equal(view.count, DEEP);
    assert_int_equal(view.lines[DEEP - 1].depth, DEEP - 1);
    plumb_tree_fini(&view);
    plumb_timing_fini(&t);
}

static void remarks_are_silent_on_a_sound_run(void **state)
{
    struct plumb_timing t;
    struct plumb_buf out = {0};
    (void)state;
    fixture_golden(&t);
    plumb_remarks_write(&t, false, &out);
    assert_null(out.data);
    plumb_timing_fini(&t);
    fixture_rich(&t);
    plumb_remarks_write(&t, true, &out);
    assert_non_null(strstr(out.data, "still records"));
    assert_null(strstr(out.data, "recovered"));
    assert_non_null(
        strstr(out.data, "2 spans are open: frame > decode (for 0.001 s, thread 99)\n"));
    plumb_buf_fini(&out);
    plumb_timing_fini(&t);
}

static void remarks_name_the_views_of_a_run_of_collectors_alone(void **state)
{
    struct plumb_timing_lane lanes[] = {{.name = "queue 0", .events = 5},
                                        {.name = "queue 1", .events = 2}};
    struct plumb_timing_collector collectors[] = {
        {.name = "opencl", .lanes = lanes, .lane_count = 2}, {.name = "sched"}};
    struct plumb_timing t = {.collectors = collectors, .collector_count = 2};
    struct plumb_buf out = {0};
    (void)state;
    plumb_remarks_write(&t, false, &out);
    assert_string_equal(
        out.data, "no span was recorded, but events of collectors: opencl 7; with "
                  "PLUMB_TRACE=1 'plumb report kernels' and 'plumb report trace' show them\n");
    plumb_buf_fini(&out);
    t.trace.end = "complete";
    plumb_remarks_write(&t, false, &out);
    assert_string_equal(out.data,
                        "no span was recorded, but events of collectors: opencl 7; 'plumb report "
                        "kernels' and 'plumb report trace' show them\n");
    plumb_buf_fini(&out);
    collectors[0].lane_count = 0;
    plumb_remarks_write(&t, false, &out);
    assert_null(out.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_format_is_an_error),
        cmocka_unit_test(csv_quotes_what_would_break_a_line),
        cmocka_unit_test(markdown_names_cannot_leave_their_cell),
        cmocka_unit_test(json_is_one_valid_object_whatever_the_names),
        cmocka_unit_test(every_form_takes_an_empty_report),
        cmocka_unit_test(every_form_takes_whatever_a_report_holds),
        cmocka_unit_test(an_unknown_request_or_form_is_an_error),
        cmocka_unit_test(the_tree_shows_siblings_by_total_and_counts_the_hidden),
        cmocka_unit_test(a_place_stays_when_one_below_it_is_chosen),
        cmocka_unit_test(roots_of_several_pipelines_say_whose_they_are),
        cmocka_unit_test(a_deep_tree_takes_no_stack),
        cmocka_unit_test(remarks_are_silent_on_a_sound_run),
        cmocka_unit_test(remarks_name_the_views_of_a_run_of_collectors_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
