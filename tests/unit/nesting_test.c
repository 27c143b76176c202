/* Nested spans: inclusive and self time, and the call tree, whose sums are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

enum { WORK_NS = 200000, DEPTH_MAX = 255 };

static void self_time_is_the_total_without_nested_spans(void **state)
{
    plumb_row outer, inner;
    plumb_rows *rows;
    (void)state;
    {
        PLUMB_SPAN("outer");
        record_work_ns(WORK_NS);
        for (int i = 0; i < 3; i++) {
            PLUMB_SPAN("inner");
            record_work_ns(WORK_NS);
        }
    }
    /* Of one summary: each has its own rate of the clock, and they differ after so short a time. */
    rows = record_rows(NULL, NULL);
    outer = *record_find(rows, NULL, "outer");
    inner = *record_find(rows, NULL, "inner");
    plumb_rows_free(rows);
    assert_true(inner.self_ms == inner.total_ms);
    assert_true(inner.total_ms >= 3 * WORK_NS * 0.99e-6);
    assert_true(outer.total_ms >= inner.total_ms + WORK_NS * 0.99e-6);
    assert_true(outer.self_ms >= WORK_NS * 0.99e-6);
    /* In whole ns, each rounded. */
    assert_true(outer.self_ms >= outer.total_ms - inner.total_ms - 2e-6);
    assert_true(outer.self_ms <= outer.total_ms - inner.total_ms + 2e-6);
}

static void a_node_has_a_place_below_each_of_its_parents(void **state)
{
    struct plumb_timing t;
    (void)state;
    for (int i = 0; i < 100; i++) {
        PLUMB_SPAN("frame");
        {
            PLUMB_SPAN("encode");
            PLUMB_SPAN("matmul");
        }
        for (int k = 0; k < 3; k++) {
            PLUMB_SPAN("decode");
            PLUMB_SPAN("matmul");
        }
        PLUMB_SPAN("matmul");
    }
    record_finish(&t);
    assert_int_equal(timing_place_count(&t, "frame"), 100);
    assert_int_equal(timing_place_count(&t, "frame/encode"), 100);
    assert_int_equal(timing_place_count(&t, "frame/encode/matmul"), 100);
    assert_int_equal(timing_place_count(&t, "frame/decode"), 300);
    assert_int_equal(timing_place_count(&t, "frame/decode/matmul"), 300);
    assert_int_equal(timing_place_count(&t, "frame/matmul"), 100);
    assert_int_equal(t.tree_count, 6);
    assert_int_equal(timing_node(&t, NULL, "matmul")->host.ns.count, 500);
    assert_int_equal(timing_node(&t, NULL, "frame")->outermost_count, 100);
    assert_int_equal(timing_node(&t, NULL, "matmul")->outermost_count, 0);
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static uint32_t random_state;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 16;
}

/* Opens and closes spans of 20 nodes at random; every span is a sample. */
static uint64_t random_walk(int moves)
{
    plumb_span open[40];
    uint64_t ended = 0;
    int depth = 0;
    for (int i = 0; i < moves; i++) {
        if (depth < 40 && (depth == 0 || next_random() % 2)) {
            char name[16];
            snprintf(name, sizeof name, "n%u", next_random() % 20);
            open[depth++] = plumb_begin_node(plumb_node_get(name));
        } else {
            plumb_end(open[--depth]);
            ended++;
        }
    }
    for (; depth > 0; ended++)
        plumb_end(open[--depth]);
    return ended;
}

static void any_nesting_adds_up_exactly(void **state)
{
    (void)state;
    random_state = 20261120;
    for (int round = 0; round < 5; round++) {
        struct plumb_timing t;
        uint64_t ended = random_walk(3000), in_rows = 0, in_tree = 0;
        record_finish(&t);
        for (size_t i = 0; i < t.node_count; i++)
            in_rows += t.nodes[i].host.ns.count;
        for (size_t i = 0; i < t.tree_count; i++)
            in_tree += t.tree[i].count;
        assert_int_equal(in_rows, ended);
        assert_int_equal(in_tree, ended);
        timing_check_tree(&t);
        timing_check_nodes(&t);
        plumb_timing_fini(&t);
        record_start();
    }
}

static void recurse(int depth)
{
    PLUMB_SPAN("recursive");
    if (depth > 1)
        recurse(depth - 1);
    record_work_ns(1000);
}

static void recursion_counts_each_level_once(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *n;
    (void)state;
    for (int i = 0; i < 10; i++)
        recurse(5);
    record_finish(&t);
    n = timing_node(&t, NULL, "recursive");
    assert_int_equal(n->host.ns.count, 50);
    assert_int_equal(n->outermost_count, 10);
    /* Inclusive times overlap; self times and outermost times do not. */
    assert_true(n->self_ns < n->host.ns.total);
    assert_int_equal(timing_place_count(&t, "recursive/recursive/recursive/recursive/recursive"),
                     10);
    assert_null(timing_place(&t, "recursive/recursive/recursive/recursive/recursive/recursive"));
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static int nest(int depth)
{
    int recorded;
    PLUMB_SPAN_AS(span, "deep");
    recorded = span.id != 0;
    return recorded + (depth > 1 ? nest(depth - 1) : 0);
}

static void deeper_than_can_be_kept_is_counted_and_harms_nothing(void **state)
{
    struct plumb_timing t;
    (void)state;
    assert_int_equal(nest(300), DEPTH_MAX);
    {
        PLUMB_SPAN("after");
        assert_int_equal(nest(300), DEPTH_MAX - 1);
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "deep")->host.ns.count, 2 * DEPTH_MAX - 1);
    assert_int_equal(timing_node(&t, NULL, "after")->host.ns.count, 1);
    assert_int_equal(t.drops.too_deep, 2 * 300 - (2 * DEPTH_MAX - 1));
    assert_int_equal(t.drops.unbalanced, 0);
    assert_int_equal(t.drops.stale, 0);
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void what_fails_or_is_abandoned_keeps_its_time_from_the_parents_self(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *outer;
    (void)state;
    {
        PLUMB_SPAN("outer");
        {
            PLUMB_SPAN_AS(span, "failing");
            record_work_ns(WORK_NS);
            plumb_span_fail(span, "why");
        }
        {
            PLUMB_SPAN_AS(span, "abandoned");
            {
                PLUMB_SPAN("kept");
                record_work_ns(WORK_NS);
            }
            plumb_span_abandon(span);
        }
    }
    record_finish(&t);
    outer = timing_node(&t, NULL, "outer");
    assert_true(outer->host.ns.total >= 2 * WORK_NS * 0.99);
    /* The failure's time was not the outer span's own work; nor was what ran in the abandoned one.
     */
    assert_true(outer->self_ns <= outer->host.ns.total - 2 * WORK_NS * 0.99);
    assert_int_equal(timing_node(&t, NULL, "failing")->host.ns.count, 0);
    assert_int_equal(timing_node(&t, NULL, "kept")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, NULL, "abandoned")->abandoned, 1);
    plumb_timing_fini(&t);
    record_start();
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(self_time_is_the_total_without_nested_spans),
        IN_A_RUN(a_node_has_a_place_below_each_of_its_parents),
        IN_A_RUN(any_nesting_adds_up_exactly),
        IN_A_RUN(recursion_counts_each_level_once),
        IN_A_RUN(deeper_than_can_be_kept_is_counted_and_harms_nothing),
        IN_A_RUN(what_fails_or_is_abandoned_keeps_its_time_from_the_parents_self),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
