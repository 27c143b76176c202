/* Tests of in_situ.c: which node of the pipeline a run alone is compared with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "isolate/in_situ.h"

enum { OTHER, STAGE, STEP, HALF, BACKGROUND, OUTSIDE, NODES };

/* The pipeline: a stage that ran twice, with a loop of 12 steps, and what is in it. */
struct pipeline {
    struct plumb_timing timing;
    struct plumb_timing_node nodes[NODES];
    struct plumb_timing_tree tree[8];
};

static void fill(struct pipeline *p)
{
    static const char *const names[] = {"other", "denoise",    "step",
                                        "half",  "background", "outside"};
    static const struct plumb_timing_tree tree[] = {
        {PLUMB_TIMING_NONE, OTHER, 1, 90000000, 0, false},
        {0, STAGE, 1, 1000, 0, false}, /* a place of less time */
        {PLUMB_TIMING_NONE, STAGE, 2, 48000000, 0, false},
        {2, HALF, 24, 900000, 0, false},
        {2, STEP, 24, 36000000, 0, false},
        {4, HALF, 24, 12000000, 0, false},
        {2, BACKGROUND, 24, 70000000, 0, true},
        {PLUMB_TIMING_NONE, OUTSIDE, 24, 80000000, 0, false},
    };
    *p = (struct pipeline){.timing = {.tree_count = 8, .node_count = NODES}};
    for (size_t i = 0; i < NODES; i++) {
        p->nodes[i].name = names[i];
        p->nodes[i].host.median_ns = 1e6 * (double)(i + 1);
        p->nodes[i].memory.peak_rss = 100 * (i + 1);
    }
    p->nodes[OTHER].stage = p->nodes[STAGE].stage = true;
    for (size_t i = 0; i < 8; i++)
        p->tree[i] = tree[i];
    p->timing.nodes = p->nodes;
    p->timing.tree = p->tree;
}

static struct plumb_in_situ found(struct pipeline *p, int64_t first, int64_t steps, int64_t all)
{
    plumb_bench_result r = {.first_step = first, .steps = steps, .loop_steps = all};
    struct plumb_in_situ s;
    plumb_in_situ_find(&s, &p->timing, "denoise", &r);
    return s;
}

static void a_step_is_the_heaviest_node_that_runs_once_a_step_in_the_stage(void **state)
{
    struct pipeline p;
    struct plumb_in_situ s;
    (void)state;
    fill(&p);
    s = found(&p, 7, 2, 12);
    assert_string_equal(s.node, "step");
    assert_true(s.ms == 2 * 3.0); /* two steps of its median */
    assert_int_equal(s.count, 24);
    assert_int_equal(s.iterations, 24);
    assert_int_equal(s.peak_bytes, 600);
    assert_false(s.average);
}

static void a_node_that_is_part_of_a_step_is_not_taken_for_one(void **state)
{
    struct pipeline p;
    (void)state;
    fill(&p);
    p.tree[3].total_ns = 9000000; /* and twice a step */
    p.tree[3].count = 48;
    assert_true(found(&p, 0, 1, 12).average);
    fill(&p);
    p.tree[4].total_ns = 20000000; /* the rest of the stage is outside of nodes */
    assert_true(found(&p, 0, 1, 12).average);
}

static void without_such_a_node_it_is_the_mean_of_the_stage(void **state)
{
    struct pipeline p;
    struct plumb_in_situ s;
    (void)state;
    fill(&p);
    for (size_t i = 3; i < 6; i++)
        p.tree[i].count = 25;
    s = found(&p, 0, 1, 12);
    assert_true(s.average);
    assert_true(s.ms == 2.0); /* 48 ms of 24 steps */
    assert_string_equal(s.node, "denoise");
}

static void a_whole_call_is_compared_with_whole_calls(void **state)
{
    struct pipeline p;
    struct plumb_in_situ s;
    (void)state;
    fill(&p);
    s = found(&p, -1, 1, -1);
    assert_string_equal(s.node, "denoise");
    assert_true(s.ms == 2.0); /* its median */
    assert_int_equal(s.count, 2);
    assert_int_equal(s.iterations, 2);
}

/* A stage that is run by `step` does not say how long its loop is. */
static void a_loop_of_unknown_length_is_compared_with_nothing(void **state)
{
    struct pipeline p;
    (void)state;
    fill(&p);
    assert_true(isnan(found(&p, 3, 1, -1).ms));
}

static void a_node_that_is_not_a_stage_is_not_compared(void **state)
{
    struct pipeline p;
    (void)state;
    fill(&p);
    p.nodes[STAGE].stage = false;
    assert_true(isnan(found(&p, 7, 2, 12).ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_heaviest_node_that_runs_once_a_step_in_the_stage),
        cmocka_unit_test(a_node_that_is_part_of_a_step_is_not_taken_for_one),
        cmocka_unit_test(without_such_a_node_it_is_the_mean_of_the_stage),
        cmocka_unit_test(a_whole_call_is_compared_with_whole_calls),
        cmocka_unit_test(a_loop_of_unknown_length_is_compared_with_nothing),
        cmocka_unit_test(a_node_that_is_not_a_stage_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
