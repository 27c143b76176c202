/* CV-11: the summary has a row for each key, in the order in which they were first seen, and is an
 * immutable copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static void run(const char *name, int times)
{
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < times; i++) {
        PLUMB_SPAN_NODE(node);
    }
}

static void expect_order(const char *const *names, size_t n)
{
    plumb_rows *rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(plumb_rows_get(rows, i)->node, names[i]);
    assert_null(plumb_rows_get(rows, n));
    plumb_rows_free(rows);
}

static void rows_stand_in_first_seen_order(void **state)
{
    static const char *const names[] = {"zeta", "alpha", "mid"};
    (void)state;
    for (int round = 0; round < 100; round++) {
        run("zeta", 1);
        run("alpha", 3);
        run("mid", 2);
        if (round == 0 || round == 99)
            expect_order(names, 3);
    }
}

static void a_node_comes_before_those_that_run_inside_it(void **state)
{
    static const char *const names[] = {"frame", "decode", "block"};
    (void)state;
    for (int i = 0; i < 50; i++) {
        PLUMB_SPAN("frame");
        {
            PLUMB_SPAN("decode");
            {
                PLUMB_SPAN("block");
            }
        }
        if (i == 3)
            run("block", 1);
    }
    expect_order(names, 3);
}

static void *run_late(void *unused)
{
    (void)unused;
    run("by another thread", 500);
    return NULL;
}

static void the_order_holds_across_threads(void **state)
{
    static const char *const names[] = {"first", "by another thread", "last"};
    pthread_t thread;
    (void)state;
    run("first", 1);
    assert_int_equal(pthread_create(&thread, NULL, run_late, NULL), 0);
    pthread_join(thread, NULL);
    run("last", 1);
    expect_order(names, 3);
    run("first", 300);
    expect_order(names, 3);
}

static void a_summary_does_not_change(void **state)
{
    plumb_rows *rows;
    plumb_row before;
    const plumb_row *row;
    (void)state;
    run("node", 100);
    rows = record_rows(NULL, NULL);
    row = plumb_rows_get(rows, 0);
    before = *row;
    run("node", 100);
    run("other", 1);
    assert_int_equal(plumb_rows_count(rows), 1);
    assert_memory_equal(row, &before, sizeof before);
    assert_int_equal(plumb_reset(NULL, NULL), PLUMB_OK);
    assert_memory_equal(row, &before, sizeof before);
    record_stop();
    /* Nor with the end of the run; names live on. */
    assert_memory_equal(row, &before, sizeof before);
    assert_string_equal(row->node, "node");
    assert_string_equal(row->phase, "inference");
    plumb_rows_free(rows);
    record_start();
}

static void samples_show_at_once_without_waiting_for_a_fold(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 300; i++) {
        run("node", 1);
        assert_int_equal(record_count("node"), i);
    }
}

static void every_row_of_a_mixed_run_is_consistent(void **state)
{
    plumb_rows *rows;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        PLUMB_SPAN("outer");
        if (i % 3 == 0)
            run("third", 1);
        if (i % 7 == 0)
            record_work_ns(3000);
    }
    rows = record_rows(NULL, NULL);
    for (size_t i = 0; i < plumb_rows_count(rows); i++)
        record_check_row(plumb_rows_get(rows, i));
    assert_int_equal(record_find(rows, NULL, "outer")->count, 1000);
    assert_int_equal(record_find(rows, NULL, "third")->count, 334);
    plumb_rows_free(rows);
}

static void the_same_span_again_and_again_has_hardly_a_deviation(void **state)
{
    plumb_node node = plumb_node_get("constant");
    plumb_row row;
    (void)state;
    for (int i = 0; i < 1000; i++)
        plumb_record_ns(node, 123456789);
    row = record_row("constant");
    assert_true(row.std_ms == 0);
    assert_true(row.p50_ms == row.min_ms && row.p99_ms == row.max_ms);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(rows_stand_in_first_seen_order),
        IN_A_RUN(a_node_comes_before_those_that_run_inside_it),
        IN_A_RUN(the_order_holds_across_threads),
        IN_A_RUN(a_summary_does_not_change),
        IN_A_RUN(samples_show_at_once_without_waiting_for_a_fold),
        IN_A_RUN(every_row_of_a_mixed_run_is_consistent),
        IN_A_RUN(the_same_span_again_and_again_has_hardly_a_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
