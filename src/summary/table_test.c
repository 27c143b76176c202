/* Tests of table.c: the golden bytes, the order, the sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "summary/table.h"
#include "timing_fixture.h"

#define RULE                                                                                       \
    "-----------------------------------------------------------------------------------------"    \
    "------------------------------------\n"

static char *table_of(struct plumb_timing *t, struct plumb_summary_options o)
{
    struct plumb_buf out = {0};
    plumb_error err = {0, ""};
    if (plumb_summary_table(&out, t, &o, &err) < 0)
        fail_msg("%s", err.message);
    return out.data;
}

static void assert_table(struct plumb_timing *t, struct plumb_summary_options o, const char *want)
{
    char *text = table_of(t, o);
    assert_string_equal(text, want);
    free(text);
}

/* Line `n` from 0 of a text, in memory of the next call. */
static const char *line_of(const char *text, int n)
{
    static char line[512];
    while (n-- > 0) {
        text = strchr(text, '\n');
        assert_non_null(text);
        text++;
    }
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    return line;
}

static void the_golden_rows_give_the_golden_bytes(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_golden(&t);
    assert_table(
        &t, (struct plumb_summary_options){.frames = 103},
        "Profiling Summary (103 frames, skip_first_n=3)\n"
        "Node                                     Stage        Count   Mean(ms)    Std(ms)    "
        "Min(ms)    Max(ms) Median(ms)   Total(s)\n" RULE
        "node_a                                   inference      100      10.00       2.00       "
        "5.00      20.00       9.50      1.000\n"
        "node_b                                   inference      100       5.00       1.00       "
        "3.00       8.00       4.80      0.500\n" RULE
        "TOTAL                                                                                   "
        "                                1.500\n"
        "Average per-frame pipeline time: 15.00 ms (66.7 FPS)");
    plumb_timing_fini(&t);
}

static void the_title_has_only_what_is_known(void **state)
{
    struct plumb_timing t;
    char *text;
    (void)state;
    fixture_golden(&t);
    text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_string_equal(line_of(text, 0), "Profiling Summary (skip_first_n=3)");
    free(text);
    t.skip_first_n = 0;
    text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_string_equal(line_of(text, 0), "Profiling Summary");
    free(text);
    text = table_of(&t, (struct plumb_summary_options){.frames = 7});
    assert_string_equal(line_of(text, 0), "Profiling Summary (7 frames)");
    free(text);
    plumb_timing_fini(&t);
}

static void nothing_recorded_is_one_sentence(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    assert_table(&t, (struct plumb_summary_options){.frames = 5}, "No profiling data collected.");
    fixture_golden(&t);
    assert_table(&t, (struct plumb_summary_options){.phase = "train"},
                 "No profiling data collected.");
    plumb_timing_fini(&t);
}

static void the_average_divides_by_known_frames_else_by_the_first_row(void **state)
{
    struct plumb_timing t;
    char *text;
    (void)state;
    fixture_golden(&t);
    text = table_of(&t, (struct plumb_summary_options){.frames = 53});
    assert_string_equal(line_of(text, 7), "Average per-frame pipeline time: 30.00 ms (33.3 FPS)");
    free(text);
    text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_string_equal(line_of(text, 7), "Average per-frame pipeline time: 15.00 ms (66.7 FPS)");
    free(text);
    text = table_of(&t, (struct plumb_summary_options){.frames = 3}); /* all of them skipped */
    assert_null(strstr(text, "Average"));
    free(text);
    plumb_timing_fini(&t);
}

/* Columns stay aligned: a name of 49 characters widens its column, one of 65 does not. */
static void a_long_name_widens_its_column_within_bounds(void **state)
{
    struct plumb_timing t;
    char longer[66];
    char *text;
    (void)state;
    plumb_timing_init(&t);
    fixture_nodes(&t, 2)[0].name = "plumb.region::profiler_region_inference_denoising";
    t.nodes[1].name = "short";
    text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    for (int i = 1; i <= 6; i++)
        assert_int_equal(strlen(line_of(text, i)), 134);
    free(text);
    memset(longer, 'n', 65);
    longer[65] = '\0';
    t.nodes[0].name = longer;
    text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_int_equal(strlen(line_of(text, 1)), 125);
    assert_int_equal(strlen(line_of(text, 3)), 150);
    free(text);
    plumb_timing_fini(&t);
}

static void rows_without_samples_show_zeros_and_no_average(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    fixture_nodes(&t, 1)->name = "cold";
    char *text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_string_equal(line_of(text, 3),
                        "cold                                     inference        0       0.00    "
                        "   0.00       0.00       0.00       0.00      0.000");
    assert_null(strstr(text, "Average"));
    free(text);
    plumb_timing_fini(&t);
}

static void nested_rows_do_not_count_twice_and_phases_have_their_own_average(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    /* frame 190 ms in 7 runs with decode inside; val: 40 ms in 2 */
    char *text = table_of(&t, (struct plumb_summary_options){.pipeline = "prog"});
    assert_non_null(strstr(text, "\nAverage per-frame pipeline time [inference]: 27.14 ms (36.8 "
                                 "FPS)\nAverage per-frame pipeline time [val]: 20.00 ms (50.0 "
                                 "FPS)"));
    assert_non_null(strstr(text, "      0.230\nAverage"));
    assert_null(strstr(text, "Pipeline"));
    free(text);
    plumb_timing_fini(&t);
}

static void each_pipeline_has_a_table(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    char *text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_string_equal(line_of(text, 0), "Pipeline prog");
    const char *second = strstr(text, "\n\nPipeline audio\nProfiling Summary\nNode ");
    assert_non_null(second);
    assert_non_null(strstr(second, "Average per-frame pipeline time: 2.50 ms (400.0 FPS)"));
    free(text);
    plumb_timing_fini(&t);
}

static void names_cannot_break_the_table(void **state)
{
    struct plumb_timing t;
    (void)state;
    plumb_timing_init(&t);
    struct plumb_timing_node *n = fixture_nodes(&t, 3);
    n[0].name = "a\nb\x1b[2J\xff";
    n[1].name = "gr\xc3\xbc\xc3\x9f";
    n[2].name = "a name of more characters than the table makes room for stays whole";
    char *text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_string_equal(line_of(text, 3),
                        "a\\x0ab\\x1b[2J\\xff                        inference        0       0.00"
                        "       0.00       0.00       0.00       0.00      0.000");
    assert_string_equal(line_of(text, 4),
                        "gr\xc3\xbc\xc3\x9f                                     inference        0 "
                        "      0.00       0.00       0.00       0.00       0.00      0.000");
    assert_non_null(strstr(line_of(text, 5), "stays whole inference        0"));
    free(text);
    plumb_timing_fini(&t);
}

static void equal_rows_keep_their_order_and_top_keeps_the_sums(void **state)
{
    struct plumb_timing t;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static const uint64_t value[] = {FIXTURE_MS};
    static const uint64_t twice[] = {2};
    (void)state;
    plumb_timing_init(&t);
    struct plumb_timing_node *n = fixture_nodes(&t, 5);
    for (size_t i = 0; i < 5; i++) {
        n[i].name = names[i];
        fixture_samples(&t, &n[i].host, value, twice, 1);
        fixture_outermost(&n[i]);
    }
    struct plumb_summary s;
    struct plumb_summary_options o = {.top = 2};
    assert_int_equal(plumb_summary_init(&s, &t, &o, NULL), PLUMB_OK);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(s.rows[i].node, names[i]);
    plumb_summary_fini(&s);
    char *text = table_of(&t, o);
    assert_string_equal(line_of(text, 5), "(3 more)");
    assert_non_null(strstr(text, "      0.010\nAverage per-frame pipeline time: 5.00 ms"));
    free(text);
    plumb_timing_fini(&t);
}

static void rows_sort_by_the_figure_that_was_asked_for(void **state)
{
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    struct plumb_summary s;
    struct plumb_summary_options o = {.pipeline = "prog", .sort = PLUMB_SUMMARY_MEAN};
    t.nodes[1].host.p95_ns = 1e9;
    assert_int_equal(plumb_summary_init(&s, &t, &o, NULL), PLUMB_OK);
    assert_string_equal(s.rows[0].phase, "inference");
    plumb_summary_fini(&s);
    o.sort = PLUMB_SUMMARY_P95;
    assert_int_equal(plumb_summary_init(&s, &t, &o, NULL), PLUMB_OK);
    assert_string_equal(s.rows[0].node, "decode");
    plumb_summary_fini(&s);
    plumb_timing_fini(&t);
}

static void frames_are_of_one_phase_and_skips_of_one_pipeline(void **state)
{
    struct plumb_timing_node rows[] = {
        {.pipeline = "p",
         .phase = "inference",
         .name = "a",
         .outermost_ns = 1500000000,
         .outermost_count = 100},
        {.pipeline = "p",
         .phase = "train",
         .name = "a",
         .outermost_ns = 700000000,
         .outermost_count = 10},
        {.pipeline = "q",
         .phase = "train",
         .name = "a",
         .outermost_ns = 900000000,
         .outermost_count = 9},
    };
    struct plumb_timing_pipeline pipelines[] = {{"p", 0}, {"q", 10}};
    struct plumb_timing t;
    struct plumb_summary_options o = {.frames = 100};
    (void)state;
    plumb_timing_init(&t);
    t.nodes = rows;
    t.node_count = 3;
    t.pipelines = pipelines;
    t.pipeline_count = 2;
    char *text = table_of(&t, o);
    assert_non_null(strstr(text, "Pipeline p\nProfiling Summary\n"));
    assert_non_null(strstr(text, "time [inference]: 15.00 ms (66.7 FPS)\n"));
    assert_non_null(strstr(text, "time [train]: 70.00 ms (14.3 FPS)\n"));
    assert_non_null(strstr(text, "Pipeline q\nProfiling Summary (100 frames, skip_first_n=10)\n"));
    assert_non_null(strstr(text, "pipeline time: 10.00 ms (100.0 FPS)"));
    free(text);
    o.phase = "train";
    o.pipeline = "p";
    text = table_of(&t, o);
    assert_string_equal(line_of(text, 0), "Profiling Summary (100 frames)");
    assert_non_null(strstr(text, "pipeline time: 7.00 ms (142.9 FPS)"));
    free(text);
}

static void counts_are_exact_to_the_last_digit(void **state)
{
    struct plumb_timing_count counts[] = {{"default", "most", INT64_MAX, 1},
                                          {"default", "least", INT64_MIN, 1},
                                          {"default", "beyond doubles", 9007199254740993, 1},
                                          {"default", "small", -999, 1}};
    struct plumb_timing t = {.counts = counts, .count_count = 4};
    struct plumb_buf out = {0};
    (void)state;
    plumb_put_counts(&out, &t, &(struct plumb_summary_options){0});
    assert_string_equal(out.data, "\nCounts: most 9,223,372,036,854,775,807, "
                                  "least -9,223,372,036,854,775,808, "
                                  "beyond doubles 9,007,199,254,740,993, small -999");
    plumb_buf_fini(&out);
}

static void medians_that_are_not_of_p_square_are_named_with_the_reason(void **state)
{
    struct plumb_timing_node rows[7];
    struct plumb_timing t;
    (void)state;
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < 7; i++) {
        rows[i] = (struct plumb_timing_node){.pipeline = "p", .phase = "val", .name = "tile"};
        rows[i].median_why = i == 6 ? PLUMB_MEDIAN_WHY_SOURCES : PLUMB_MEDIAN_WHY_THREADS;
    }
    plumb_timing_init(&t);
    t.nodes = rows;
    t.node_count = 7;
    char *text = table_of(&t, (struct plumb_summary_options){.frames = 0});
    assert_non_null(strstr(text, "\nMedian of tile [val], tile [val], tile [val], tile [val], tile "
                                 "[val] and 1 more: of the sketch (within 0.8 %), not P2: several "
                                 "threads ran it\nMedian of tile [val]: of the sketch (within 0.8 "
                                 "%), not P2: it has spans and samples measured elsewhere"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_rows_give_the_golden_bytes),
        cmocka_unit_test(the_title_has_only_what_is_known),
        cmocka_unit_test(nothing_recorded_is_one_sentence),
        cmocka_unit_test(the_average_divides_by_known_frames_else_by_the_first_row),
        cmocka_unit_test(a_long_name_widens_its_column_within_bounds),
        cmocka_unit_test(rows_without_samples_show_zeros_and_no_average),
        cmocka_unit_test(nested_rows_do_not_count_twice_and_phases_have_their_own_average),
        cmocka_unit_test(each_pipeline_has_a_table),
        cmocka_unit_test(names_cannot_break_the_table),
        cmocka_unit_test(equal_rows_keep_their_order_and_top_keeps_the_sums),
        cmocka_unit_test(rows_sort_by_the_figure_that_was_asked_for),
        cmocka_unit_test(frames_are_of_one_phase_and_skips_of_one_pipeline),
        cmocka_unit_test(counts_are_exact_to_the_last_digit),
        cmocka_unit_test(medians_that_are_not_of_p_square_are_named_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
