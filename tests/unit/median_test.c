/* PLUMB_MEDIAN=p2 adds the P-square median to nodes that one thread runs, and every row says which
 * estimator its median is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "record_timing.h"

static int setup(void **state)
{
    setenv("PLUMB_MEDIAN", "p2", 1);
    record_setup(state);
    unsetenv("PLUMB_MEDIAN");
    return 0;
}

static void *run(void *times)
{
    for (int i = 0; i < *(int *)times; i++) {
        PLUMB_SPAN("node");
        record_work_ns((uint64_t)(i % 7) * 1000);
    }
    return NULL;
}

static void run_on_a_thread(int times)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, &times), 0);
    pthread_join(thread, NULL);
}

static void one_thread_gives_the_p_square_median(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *n;
    int times = 1000;
    plumb_row row;
    (void)state;
    run(&times);
    row = record_row("node");
    assert_int_equal(row.median_estimator, PLUMB_MEDIAN_P2);
    assert_true(row.median_ms >= row.min_ms && row.median_ms <= row.max_ms);
    /* Of seven equally frequent durations, the middle three. */
    assert_true(row.median_ms >= 0.002 && row.p50_ms >= 0.002);
    record_check_row(&row);
    record_finish(&t);
    n = timing_node(&t, NULL, "node");
    assert_int_equal(n->median_estimator, PLUMB_MEDIAN_P2);
    assert_true(n->host.median_ns >= 2000);
    plumb_timing_fini(&t);
    setup(state);
}

static void two_threads_at_once_give_the_sketch_median(void **state)
{
    struct plumb_timing t;
    int times = 500;
    plumb_row row;
    (void)state;
    run_on_a_thread(500);
    run(&times);
    assert_int_equal(record_row("node").threads, 2);
    row = record_row("node");
    assert_int_equal(row.median_estimator, PLUMB_MEDIAN_SKETCH);
    assert_true(row.median_ms >= row.p50_ms && row.median_ms <= row.p90_ms);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "node")->median_estimator, PLUMB_MEDIAN_SKETCH);
    assert_int_equal(timing_node(&t, NULL, "node")->median_why, PLUMB_MEDIAN_WHY_THREADS);
    plumb_timing_fini(&t);
    setup(state);
}

static void two_threads_one_after_the_other_give_the_sketch_median(void **state)
{
    (void)state;
    run_on_a_thread(300);
    assert_int_equal(record_row("node").median_estimator, PLUMB_MEDIAN_P2);
    run_on_a_thread(300);
    assert_int_equal(record_row("node").threads, 2);
    assert_int_equal(record_row("node").median_estimator, PLUMB_MEDIAN_SKETCH);
}

static void up_to_five_samples_the_median_is_exact(void **state)
{
    int once = 1;
    (void)state;
    for (int i = 0; i < 5; i++) {
        run(&once);
        assert_int_equal(record_row("node").median_estimator, PLUMB_MEDIAN_EXACT);
    }
    run(&once);
    assert_int_equal(record_row("node").median_estimator, PLUMB_MEDIAN_P2);
}

static void it_shows_before_a_block_is_full(void **state)
{
    int times = 10;
    plumb_row few, many;
    (void)state;
    run(&times);
    few = record_row("node");
    assert_int_equal(few.median_estimator, PLUMB_MEDIAN_P2);
    assert_true(few.median_ms > 0);
    times = 100;
    run(&times);
    many = record_row("node");
    assert_int_equal(many.count, 110);
    assert_int_equal(many.median_estimator, PLUMB_MEDIAN_P2);
    record_check_row(&many);
}

static void a_reset_starts_it_anew(void **state)
{
    int times = 1000;
    plumb_row row;
    (void)state;
    run(&times);
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    times = 20;
    run(&times);
    row = record_row("node");
    assert_int_equal(row.count, 20);
    assert_int_equal(row.median_estimator, PLUMB_MEDIAN_P2);
    assert_true(row.median_ms >= row.min_ms && row.median_ms <= row.max_ms);
}

static void without_the_variable_it_is_the_sketch(void **state)
{
    int times = 100;
    plumb_row row;
    (void)state;
    record_stop();
    record_start();
    run(&times);
    row = record_row("node");
    assert_int_equal(row.median_estimator, PLUMB_MEDIAN_SKETCH);
    assert_true(row.median_ms >= row.p50_ms && row.median_ms <= row.p90_ms);
}

static void the_option_does_the_same(void **state)
{
    plumb_options o = plumb_options_default();
    int times = 100;
    (void)state;
    record_stop();
    o.median_p2 = PLUMB_ON;
    record_start_with(o);
    run(&times);
    assert_int_equal(record_row("node").median_estimator, PLUMB_MEDIAN_P2);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(one_thread_gives_the_p_square_median),
        IN_A_RUN(two_threads_at_once_give_the_sketch_median),
        IN_A_RUN(two_threads_one_after_the_other_give_the_sketch_median),
        IN_A_RUN(up_to_five_samples_the_median_is_exact),
        IN_A_RUN(it_shows_before_a_block_is_full),
        IN_A_RUN(a_reset_starts_it_anew),
        IN_A_RUN(without_the_variable_it_is_the_sketch),
        IN_A_RUN(the_option_does_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
