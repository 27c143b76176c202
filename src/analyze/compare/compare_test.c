/* Tests of the comparison: verdicts at and round the threshold, the union of nodes, memory,
 * and repeats. All figures are counted out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "compare_fixture.h"

/* ---- Verdicts -------------------------------------------------------------------------------- */

static void a_marker_needs_more_than_the_threshold(void **state)
{
    static const struct compare_node a[] = {
        {"at", 1000, 1}, {"over", 1000, 1}, {"under", 1000, 1}, {"same", 7, 3}, {"low", 1000, 1}};
    static const struct compare_node b[] = {
        {"at", 1050, 1}, {"over", 1051, 1}, {"under", 949, 1}, {"same", 7, 3}, {"low", 950, 1}};
    struct plumb_compare c;
    (void)state;
    compare_two(&c, plumb_compare_options_default(), a, 5, b, 5);
    assert_int_equal(node_of(&c, "at")->main.verdict, PLUMB_VERDICT_SAME);
    assert_float_equal(node_of(&c, "at")->main.percent, 5, 0);
    assert_int_equal(node_of(&c, "over")->main.verdict, PLUMB_VERDICT_WORSE);
    assert_float_equal(node_of(&c, "over")->main.delta, 51000, 0);
    assert_int_equal(node_of(&c, "under")->main.verdict, PLUMB_VERDICT_BETTER);
    assert_int_equal(node_of(&c, "low")->main.verdict, PLUMB_VERDICT_SAME);
    assert_int_equal(node_of(&c, "same")->main.verdict, PLUMB_VERDICT_SAME);
    assert_int_equal(c.result.worse, 1);
    assert_int_equal(c.result.better, 1);
    plumb_compare_fini(&c);
}

static void the_threshold_and_the_least_difference_are_options(void **state)
{
    static const struct compare_node a[] = {{"long", 1000000, 1}, {"short", 10, 1}};
    static const struct compare_node b[] = {{"long", 1000001, 1}, {"short", 15, 1}};
    plumb_compare_options o = plumb_compare_options_default();
    struct plumb_compare c;
    (void)state;
    o.threshold_percent = 60;
    compare_two(&c, o, a, 2, b, 2);
    assert_int_equal(c.result.worse, 0);
    plumb_compare_fini(&c);
    o.threshold_percent = -1;
    compare_two(&c, o, a, 2, b, 2);
    assert_int_equal(node_of(&c, "long")->main.verdict, PLUMB_VERDICT_WORSE);
    plumb_compare_fini(&c);
    o.threshold_percent = 5;
    o.min_delta_ms = 0.0051;
    compare_two(&c, o, a, 2, b, 2);
    assert_int_equal(node_of(&c, "short")->main.verdict, PLUMB_VERDICT_SAME);
    plumb_compare_fini(&c);
    o.min_delta_ms = 0.005;
    compare_two(&c, o, a, 2, b, 2);
    assert_int_equal(node_of(&c, "short")->main.verdict, PLUMB_VERDICT_WORSE);
    plumb_compare_fini(&c);
}

static void the_union_keeps_the_order_of_first_sight(void **state)
{
    static const struct compare_node a[] = {{"first", 10, 1}, {"gone", 20, 2}, {"last", 30, 1}};
    static const struct compare_node b[] = {{"new", 5, 4}, {"last", 30, 1}, {"first", 10, 1}};
    static const char *const order[] = {"first", "gone", "last", "new"};
    struct plumb_compare c;
    (void)state;
    compare_two(&c, plumb_compare_options_default(), a, 3, b, 3);
    assert_int_equal(c.nodes.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(c.nodes.lines[i].name, order[i]);
    const struct plumb_compare_line *gone = node_of(&c, "gone");
    assert_int_equal(gone->main.verdict, PLUMB_VERDICT_GONE);
    assert_float_equal(gone->main.b, 0, 0);
    assert_float_equal(gone->main.percent, -100, 0);
    const struct plumb_compare_line *new = node_of(&c, "new");
    assert_int_equal(new->main.verdict, PLUMB_VERDICT_NEW);
    assert_float_equal(new->main.a, 0, 0);
    assert_float_equal(new->main.percent, 0, 0);
    assert_int_equal(c.result.only_a, 1);
    assert_int_equal(c.result.only_b, 1);
    assert_int_equal(c.result.nodes, 4);
    plumb_compare_fini(&c);
}

static void a_row_is_pipeline_phase_and_name(void **state)
{
    static const struct compare_node both[] = {{"x", 10, 1}, {"x", 20, 1}, {"x", 30, 1}};
    struct plumb_compare c;
    struct plumb_timing t;
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 1);
    for (uint64_t side = 0; side < 2; side++) {
        make_run(&t, side, both, 3);
        t.nodes[1].phase = "val";
        t.nodes[2].pipeline = "audio";
        add_sound(&c, &t);
    }
    finish(&c);
    assert_int_equal(c.nodes.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_float_equal(c.nodes.lines[i].main.b, (double)both[i].us * 1000, 0);
    plumb_compare_fini(&c);
}

/* run_O2 against run_O3: two pipelines that have their program's name are one row, another pipeline
 * is not. */
static void pipelines_called_as_their_programs_are_one(void **state)
{
    static const struct compare_node both[] = {{"x", 10, 1}, {"y", 20, 1}};
    static const char *const names[] = {"run_O2", "run_O3"};
    struct plumb_compare c;
    struct plumb_timing t;
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 1);
    for (uint64_t side = 0; side < 2; side++) {
        make_run(&t, side, both, 2);
        t.program = side ? "/opt/run_O3" : "/opt/run_O2";
        t.pipeline = t.nodes[0].pipeline = names[side];
        t.nodes[1].pipeline = side ? "run_O2" : "run_O3"; /* no pipeline of the run itself */
        add_sound(&c, &t);
    }
    finish(&c);
    assert_int_equal(c.overridden, 0);
    assert_int_equal(c.nodes.count, 3);
    assert_float_equal(node_of(&c, "x")->main.b, 10000, 0);
    assert_string_equal(node_of(&c, "x")->pipeline, "run_O2");
    plumb_compare_fini(&c);
}

static void every_figure_can_be_compared(void **state)
{
    static const uint64_t device_us = 3000, once = 1;
    static const double want_a[] = {2e6, 8e6, 5e6, 1e6, 7e6, 3e6, 2e6};
    struct plumb_compare c;
    (void)state;
    for (uint32_t figure = PLUMB_FIGURE_MEAN; figure <= PLUMB_FIGURE_MIN; figure++) {
        static const struct compare_node nodes[] = {{"x", 2000, 4}};
        plumb_compare_options o = plumb_compare_options_default();
        struct plumb_timing t;
        o.figure = figure;
        start(&c, o, 1, 1);
        for (uint64_t side = 0; side < 2; side++) {
            uint64_t ns = device_us * 1000 * (side + 1);
            make_run(&t, side, nodes, 1);
            t.nodes[0].self_ns = 5000000;
            t.nodes[0].host.p50_ns = 1e6;
            t.nodes[0].host.p95_ns = 7e6;
            fixture_samples(&t, &t.nodes[0].device, &ns, &once, 1);
            add_sound(&c, &t);
        }
        finish(&c);
        assert_float_equal(node_of(&c, "x")->main.a, want_a[figure], 0);
        assert_int_equal(node_of(&c, "x")->main.verdict,
                         figure == PLUMB_FIGURE_DEVICE ? PLUMB_VERDICT_WORSE : PLUMB_VERDICT_SAME);
        assert_float_equal(node_of(&c, "x")->count[0], figure == PLUMB_FIGURE_DEVICE ? 1 : 4, 0);
        plumb_compare_fini(&c);
    }
}

static void sums_are_those_of_the_run(void **state)
{
    static const struct compare_node a[] = {{"x", 100, 3}, {"y", 50, 2}};
    static const struct compare_node b[] = {{"x", 100, 3}, {"y", 100, 2}};
    struct plumb_compare c;
    (void)state;
    compare_two(&c, plumb_compare_options_default(), a, 2, b, 2);
    const struct plumb_contrast *stages = &sum_of(&c, PLUMB_COMPARE_STAGES)->main;
    assert_float_equal(stages->a, 400000, 0);
    assert_float_equal(stages->b, 500000, 0);
    assert_float_equal(stages->percent, 25, 0);
    assert_float_equal(sum_of(&c, PLUMB_COMPARE_WALL_CLOCK)->main.b, 5000000, 0);
    assert_int_equal(c.result.worse, 3);
    plumb_compare_fini(&c);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void add_memory(struct plumb_compare *c, uint64_t start_ns, uint64_t peak_rss,
                       uint64_t allocated, uint64_t reserved)
{
    static const struct compare_node nodes[] = {{"x", 100, 1}};
    struct plumb_timing t;
    struct plumb_timing_pool pool = {.device = "cuda:0",
                                     .pool = "weights",
                                     .peak_allocated = allocated,
                                     .peak_reserved = reserved};
    make_run(&t, start_ns, nodes, 1);
    t.memory.peak_rss = peak_rss;
    t.memory.pools = &pool;
    t.memory.pool_count = 1;
    add_sound(c, &t);
}

static void memory_is_compared_in_bytes(void **state)
{
    struct plumb_compare c;
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 1);
    add_memory(&c, 1, 1000000, 500, 4096);
    add_memory(&c, 2, 1100000, 500, 2048);
    finish(&c);
    const struct plumb_compare_line *rss = sum_of(&c, PLUMB_COMPARE_PEAK_RSS);
    assert_float_equal(rss->main.delta, 100000, 0);
    assert_float_equal(rss->main.percent, 10, 0);
    assert_int_equal(rss->main.verdict, PLUMB_VERDICT_WORSE);
    assert_int_equal(sum_of(&c, PLUMB_COMPARE_PEAK_ALLOCATED)->main.verdict, PLUMB_VERDICT_SAME);
    const struct plumb_compare_line *reserved = sum_of(&c, PLUMB_COMPARE_PEAK_RESERVED);
    assert_int_equal(reserved->main.verdict, PLUMB_VERDICT_BETTER);
    assert_string_equal(reserved->phase, "cuda:0");
    assert_string_equal(reserved->name, "weights");
    plumb_compare_fini(&c);
}

static void memory_that_was_not_read_is_unknown_and_not_0(void **state)
{
    struct plumb_compare c;
    (void)state;
    start(&c, plumb_compare_options_default(), 1, 1);
    add_memory(&c, 1, 0, 0, 0);
    add_memory(&c, 2, 1100000, 500, 0);
    finish(&c);
    const struct plumb_compare_line *rss = sum_of(&c, PLUMB_COMPARE_PEAK_RSS);
    assert_int_equal(rss->main.verdict, PLUMB_VERDICT_UNKNOWN);
    assert_true(isnan(rss->main.a));
    assert_float_equal(rss->main.b, 1100000, 0);
    assert_true(isnan(rss->main.percent));
    assert_int_equal(sum_of(&c, PLUMB_COMPARE_PEAK_ALLOCATED)->main.verdict, PLUMB_VERDICT_NEW);
    assert_int_equal(c.sums.count, 4);
    assert_int_equal(c.result.worse, 0);
    plumb_compare_fini(&c);
}

/* ---- Repeats --------------------------------------------------------------------------------- */

/* Runs of node "x" with these means; 0: the run has "y" only. */
static void compare_repeats(struct plumb_compare *c, plumb_compare_options o, const uint64_t *a,
                            size_t na, const uint64_t *b, size_t nb)
{
    start(c, o, na, nb);
    for (size_t i = 0; i < na + nb; i++) {
        uint64_t us = i < na ? a[i] : b[i - na];
        struct compare_node nodes[] = {{"y", 10, 1}, {"x", us, 2}};
        struct plumb_timing t;
        make_run(&t, i, nodes, us ? 2 : 1);
        add_sound(c, &t);
    }
    finish(c);
}

static void repeats_compare_by_their_medians(void **state)
{
    static const uint64_t a[] = {100, 900, 110}, b[] = {120, 121, 122, 800};
    struct plumb_compare c;
    (void)state;
    compare_repeats(&c, plumb_compare_options_default(), a, 3, b, 4);
    assert_float_equal(node_of(&c, "x")->main.a, 110000, 0);
    assert_float_equal(node_of(&c, "x")->main.b, 121500, 0);
    plumb_compare_fini(&c);
}

static void a_marker_of_repeats_needs_p_too(void **state)
{
    static const uint64_t apart_a[] = {100, 101, 102, 103}, apart_b[] = {110, 111, 112, 113};
    static const uint64_t mixed_b[] = {90, 115, 116, 117};
    struct plumb_compare c;
    (void)state;
    compare_repeats(&c, plumb_compare_options_default(), apart_a, 4, apart_b, 4);
    const struct plumb_contrast *x = &node_of(&c, "x")->main;
    assert_true(x->tested && x->exact);
    assert_float_equal(x->p, 2.0 / 70, 1e-15);
    assert_float_equal(x->p_table, 1.0 / 70, 1e-15);
    assert_float_equal(c.needed_p, 0.015, 0);
    assert_int_equal(x->verdict, PLUMB_VERDICT_WORSE);
    assert_true(x->ratio.known);
    assert_true(x->ratio.low > 1.05 && x->ratio.high < 1.15);
    plumb_compare_fini(&c);
    /* 4 of 16 pairs the other way: 2 * (1 + 1 + 2 + 3 + 5) of the 70 orders. */
    compare_repeats(&c, plumb_compare_options_default(), apart_a, 4, mixed_b, 4);
    x = &node_of(&c, "x")->main;
    assert_float_equal(x->p, 24.0 / 70, 1e-15);
    assert_float_equal(x->percent, 100 * 14 / 101.5, 1e-12);
    assert_int_equal(x->verdict, PLUMB_VERDICT_UNCLEAR);
    assert_true(c.result.unclear > 0);
    plumb_compare_fini(&c);
}

static void too_few_repeats_need_complete_separation(void **state)
{
    static const uint64_t a[] = {100, 101, 102}, apart[] = {110, 111, 112},
                          mixed[] = {101, 111, 112};
    struct plumb_compare c;
    (void)state;
    compare_repeats(&c, plumb_compare_options_default(), a, 3, apart, 3);
    assert_float_equal(c.least_p, 0.05, 1e-15);
    assert_float_equal(c.needed_p, 0.05, 1e-15);
    assert_int_equal(node_of(&c, "x")->main.verdict, PLUMB_VERDICT_WORSE);
    plumb_compare_fini(&c);
    compare_repeats(&c, plumb_compare_options_default(), a, 3, mixed, 3);
    assert_int_equal(node_of(&c, "x")->main.verdict, PLUMB_VERDICT_UNCLEAR);
    plumb_compare_fini(&c);
    compare_repeats(&c, plumb_compare_options_default(), a, 2, mixed, 3);
    assert_false(node_of(&c, "x")->main.tested);
    assert_int_equal(node_of(&c, "x")->main.verdict, PLUMB_VERDICT_WORSE);
    plumb_compare_fini(&c);
}

static void a_run_that_lacks_a_node_counts_as_0(void **state)
{
    static const uint64_t a[] = {100, 0, 102, 103, 104}, b[] = {0, 0, 0, 100, 101};
    struct plumb_compare c;
    (void)state;
    compare_repeats(&c, plumb_compare_options_default(), a, 5, b, 5);
    const struct plumb_compare_line *x = node_of(&c, "x");
    assert_int_equal(x->present[0], 4);
    assert_int_equal(x->present[1], 2);
    assert_float_equal(x->main.a, 102000, 0);
    assert_float_equal(x->main.b, 0, 0);
    plumb_compare_fini(&c);
}

static void the_largest_numbers_compare(void **state)
{
    static const struct compare_node nodes[] = {{"x", 1, 1}};
    plumb_compare_options o = plumb_compare_options_default();
    struct plumb_compare c;
    struct plumb_timing t;
    (void)state;
    o.figure = PLUMB_FIGURE_MEAN;
    start(&c, o, 1, 1);
    make_run(&t, 1, nodes, 1);
    t.nodes[0].host.p50_ns = 5e-324;
    add_sound(&c, &t);
    make_run(&t, 2, nodes, 1);
    t.nodes[0].host.ns.total = UINT64_MAX;
    t.nodes[0].host.p50_ns = 1.8e19;
    t.wall_clock_ns = UINT64_MAX;
    t.memory.peak_rss = UINT64_MAX;
    add_sound(&c, &t);
    finish(&c);
    assert_int_equal(node_of(&c, "x")->main.verdict, PLUMB_VERDICT_WORSE);
    assert_true(isfinite(node_of(&c, "x")->main.percent));
    assert_true(isnan(node_of(&c, "x")->p50.percent));
    plumb_compare_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marker_needs_more_than_the_threshold),
        cmocka_unit_test(the_threshold_and_the_least_difference_are_options),
        cmocka_unit_test(the_union_keeps_the_order_of_first_sight),
        cmocka_unit_test(a_row_is_pipeline_phase_and_name),
        cmocka_unit_test(pipelines_called_as_their_programs_are_one),
        cmocka_unit_test(every_figure_can_be_compared),
        cmocka_unit_test(sums_are_those_of_the_run),
        cmocka_unit_test(memory_is_compared_in_bytes),
        cmocka_unit_test(memory_that_was_not_read_is_unknown_and_not_0),
        cmocka_unit_test(repeats_compare_by_their_medians),
        cmocka_unit_test(a_marker_of_repeats_needs_p_too),
        cmocka_unit_test(too_few_repeats_need_complete_separation),
        cmocka_unit_test(a_run_that_lacks_a_node_counts_as_0),
        cmocka_unit_test(the_largest_numbers_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
