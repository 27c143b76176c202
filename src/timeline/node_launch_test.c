/* Tests of node_launch.c: work finds the files of its launch, whichever is read first, and what
 * cannot find it is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/node_launch.h"

static uint64_t passed_flow[8];
static uint32_t passed_set[8], passed;

static void pass(void *arg, const struct plumb_lane_work *work, uint32_t set)
{
    (void)arg;
    if (passed < 8) {
        passed_flow[passed] = work->flow;
        passed_set[passed] = set;
    }
    passed++;
}

static void work(struct plumb_launches *l, uint64_t flow)
{
    const struct plumb_lane_work w = {.flow = flow};
    plumb_launch_work(l, &w, pass, NULL);
}

static void work_finds_its_launch_in_either_order(void **state)
{
    struct plumb_launches l = {.set_count = 0};
    uint32_t inner = plumb_launch_set(&l, 4, plumb_launch_set(&l, 2, 0));
    (void)state;
    passed = 0;
    plumb_launch_known(&l, 10, inner, pass, NULL);
    work(&l, 10);
    work(&l, 10); /* a launch may do several things */
    assert_int_equal(passed, 2);
    work(&l, 11);
    work(&l, 11);
    work(&l, 12);
    assert_int_equal(passed, 2);
    assert_int_equal(plumb_launches_lost(&l), 3);
    plumb_launch_known(&l, 11, 1, pass, NULL);
    assert_int_equal(passed, 4);
    assert_int_equal(passed_flow[2], 11);
    assert_int_equal(passed_set[2], 1);
    plumb_launch_known(&l, 12, 0, pass, NULL); /* inside no node */
    assert_int_equal(passed, 5);
    assert_int_equal(passed_set[4], 0);
    assert_int_equal(plumb_launches_lost(&l), 0);
    plumb_launches_fini(&l);
}

static void equal_sets_are_one(void **state)
{
    struct plumb_launches l = {.set_count = 0};
    uint32_t outer = plumb_launch_set(&l, 0, 0), both = plumb_launch_set(&l, 7, outer);
    (void)state;
    assert_true(outer != 0 && both != 0 && both != outer);
    assert_int_equal(plumb_launch_set(&l, 0, 0), outer);
    assert_int_equal(plumb_launch_set(&l, 7, outer), both);
    assert_true(plumb_launch_set(&l, 7, 0) != both);
    assert_int_equal(l.sets[both].file, 7);
    assert_int_equal(l.sets[both].rest, outer);
    plumb_launches_fini(&l);
}

static void work_that_waits_too_long_is_counted(void **state)
{
    struct plumb_launches l = {.set_count = 0};
    (void)state;
    passed = 0;
    work(&l, 5);
    plumb_launch_known(&l, 5 + PLUMB_LAUNCHES, 0, pass, NULL); /* takes its place */
    assert_int_equal(plumb_launches_lost(&l), 1);
    plumb_launch_known(&l, 5, 1, pass, NULL);
    work(&l, 5);
    assert_int_equal(passed, 0);
    assert_int_equal(plumb_launches_lost(&l), 2);
    /* The places of those that were lost are used again: none is without one. */
    for (uint64_t i = 0; i < 3 * (uint64_t)PLUMB_LAUNCH_WAITING; i++) {
        work(&l, 6 + PLUMB_LAUNCHES + i);
        plumb_launch_known(&l, 6 + PLUMB_LAUNCHES + i, 1, pass, NULL);
    }
    assert_int_equal(passed, 3 * PLUMB_LAUNCH_WAITING);
    assert_int_equal(plumb_launches_lost(&l), 2);
    plumb_launches_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_finds_its_launch_in_either_order),
        cmocka_unit_test(equal_sets_are_one),
        cmocka_unit_test(work_that_waits_too_long_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
