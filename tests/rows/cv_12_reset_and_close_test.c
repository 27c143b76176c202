/* CV-12: a reset clears rows and keeps the configuration; closing a pipeline switches it off
 * safely, also while others record into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "record.h"

enum { RECORDERS = 3, ROUNDS = 200 };

static atomic_int stop_now, started;

static void run(const char *name, int times)
{
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < times; i++) {
        PLUMB_SPAN_NODE(node);
    }
}

static void a_reset_clears_rows_and_keeps_the_configuration(void **state)
{
    plumb_pipeline *p = plumb_pipeline_get("kept");
    plumb_config c = plumb_config_default();
    (void)state;
    c.enabled = 1;
    c.skip_first_n = 2;
    assert_int_equal(plumb_configure(p, &c, NULL), PLUMB_OK);
    {
        PLUMB_PIPELINE(p);
        run("node", 10);
        assert_int_equal(plumb_reset(p, NULL), PLUMB_OK);
        assert_null(record_row_of(p, NULL, "node").node);
        assert_true(plumb_pipeline_enabled(p));
        run("node", 10);
    }
    assert_int_equal(record_row_of(p, NULL, "node").count, 8);
    assert_int_equal(record_row_of(p, NULL, "node").skipped, 2);
}

static void a_reset_of_one_pipeline_leaves_the_others(void **state)
{
    plumb_pipeline *a = plumb_pipeline_get("a"), *b = plumb_pipeline_get("b");
    (void)state;
    for (int i = 0; i < 2; i++) {
        PLUMB_PIPELINE(i ? a : b);
        run("node", 100);
    }
    assert_int_equal(plumb_reset(a, NULL), PLUMB_OK);
    assert_null(record_row_of(a, NULL, "node").node);
    assert_int_equal(record_row_of(b, NULL, "node").count, 100);
}

/* Rows stand in the order of their first runs, since the reset, folded or not. */
static void a_reset_forgets_which_node_came_first(void **state)
{
    plumb_pipeline *p = plumb_pipeline_get("order");
    (void)state;
    for (int times = 1; times <= 200; times += 199) {
        PLUMB_PIPELINE(p);
        plumb_rows *rows;
        run("first", times);
        run("second", times);
        assert_int_equal(plumb_reset(p, NULL), PLUMB_OK);
        run("second", times);
        run("first", times);
        assert_int_equal(plumb_summary_rows(&rows, p, NULL, NULL), PLUMB_OK);
        assert_int_equal(plumb_rows_count(rows), 2);
        assert_string_equal(plumb_rows_get(rows, 0)->node, "second");
        assert_string_equal(plumb_rows_get(rows, 1)->node, "first");
        plumb_rows_free(rows);
    }
}

static void a_reset_without_a_run_is_harmless(void **state)
{
    (void)state;
    record_stop();
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    plumb_pipeline_close(plumb_pipeline_get("closed without a run"));
    record_start();
}

static void a_closed_pipeline_is_empty_and_off_and_can_be_opened_again(void **state)
{
    plumb_pipeline *p = plumb_pipeline_get("closed");
    plumb_config c = plumb_config_default();
    (void)state;
    PLUMB_PIPELINE(p);
    run("node", 10);
    plumb_pipeline_close(p);
    assert_false(plumb_pipeline_enabled(p));
    assert_null(record_row_of(p, NULL, "node").node);
    run("node", 10);
    assert_null(record_row_of(p, NULL, "node").node);
    plumb_pipeline_close(p);
    c.enabled = 1;
    assert_int_equal(plumb_configure(p, &c, NULL), PLUMB_OK);
    run("node", 10);
    assert_int_equal(record_row_of(p, NULL, "node").count, 10);
}

static void a_span_open_at_the_close_is_ended_without_harm(void **state)
{
    plumb_pipeline *p = plumb_pipeline_get("closed in the middle");
    (void)state;
    {
        PLUMB_PIPELINE(p);
        PLUMB_SPAN("open");
        plumb_pipeline_close(p);
    }
    assert_null(record_row_of(p, NULL, "open").node);
    run("after", 1);
    assert_int_equal(record_count("after"), 1);
}

static void count_sync(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void *record_until_told(void *arg)
{
    uint64_t *spans = arg;
    PLUMB_PIPELINE(plumb_pipeline_get("busy"));
    atomic_fetch_add(&started, 1);
    while (!atomic_load(&stop_now)) {
        PLUMB_SPAN("outer");
        PLUMB_SPAN("inner");
        ++*spans;
    }
    return NULL;
}

static void closing_and_opening_while_others_record_is_safe(void **state)
{
    static uint64_t spans[RECORDERS];
    static atomic_int syncs;
    plumb_pipeline *p = plumb_pipeline_get("busy");
    plumb_device *device = plumb_device_register("fake", count_sync, &syncs);
    pthread_t threads[RECORDERS];
    plumb_config c = plumb_config_default();
    uint64_t total = 0;
    plumb_row row;
    (void)state;
    c.enabled = c.sync = 1;
    atomic_store(&stop_now, 0);
    for (int i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_until_told, &spans[i]), 0);
    while (atomic_load(&started) < RECORDERS)
        sched_yield();
    for (int i = 0; i < ROUNDS; i++) {
        plumb_pipeline_set_device(p, device);
        assert_int_equal(plumb_configure(p, &c, NULL), PLUMB_OK);
        if (i % 3 == 0)
            assert_int_equal(plumb_reset(p, NULL), PLUMB_OK);
        sched_yield();
        plumb_pipeline_close(p);
        /* A span that had passed the switch may still be recorded: one for each thread. */
        assert_true(record_row_of(p, NULL, "outer").count <= RECORDERS);
    }
    c.sync = 0;
    assert_int_equal(plumb_configure(p, &c, NULL), PLUMB_OK);
    atomic_store(&stop_now, 1);
    for (int i = 0; i < RECORDERS; i++) {
        pthread_join(threads[i], NULL);
        total += spans[i];
    }
    row = record_row_of(p, NULL, "outer");
    record_check_row(&row);
    assert_true(row.count <= total);
    assert_int_equal(row.failures, 0);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_reset_clears_rows_and_keeps_the_configuration),
        IN_A_RUN(a_reset_of_one_pipeline_leaves_the_others),
        IN_A_RUN(a_reset_forgets_which_node_came_first),
        IN_A_RUN(a_reset_without_a_run_is_harmless),
        IN_A_RUN(a_closed_pipeline_is_empty_and_off_and_can_be_opened_again),
        IN_A_RUN(a_span_open_at_the_close_is_ended_without_harm),
        IN_A_RUN(closing_and_opening_while_others_record_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
