/* CV-15: of a pipeline that is run in part, only the nodes that were executed appear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

enum { NODES = 6 };
static const char *const names[NODES] = {"load", "resize", "encode", "denoise", "decode", "write"};

/* Runs the ancestors of node `target`, not itself. */
static void run_up_to(int target)
{
    for (int i = 0; i < target; i++) {
        PLUMB_SPAN_NODE(plumb_node_get(names[i]));
    }
}

static void only_executed_nodes_appear(void **state)
{
    plumb_rows *rows;
    (void)state;
    /* All are known by name; that is not execution. */
    for (int i = 0; i < NODES; i++)
        plumb_node_get(names[i]);
    run_up_to(3);
    rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(plumb_rows_get(rows, i)->node, names[i]);
        assert_int_equal(plumb_rows_get(rows, i)->count, 1);
    }
    plumb_rows_free(rows);
    run_up_to(5);
    rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(plumb_rows_get(rows, (size_t)i)->count, i < 3 ? 2 : 1);
    plumb_rows_free(rows);
}

static void a_node_that_is_still_running_has_no_sample_yet(void **state)
{
    (void)state;
    PLUMB_SPAN("frame");
    run_up_to(1);
    assert_null(record_row("frame").node);
    assert_int_equal(record_count("load"), 1);
}

static void an_abandoned_node_does_not_count_as_run(void **state)
{
    (void)state;
    {
        PLUMB_SPAN_AS(span, "given up");
        plumb_span_abandon(span);
    }
    assert_int_equal(record_count("given up"), 0);
    assert_int_equal(record_row("given up").failures, 0);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(only_executed_nodes_appear),
        IN_A_RUN(a_node_that_is_still_running_has_no_sample_yet),
        IN_A_RUN(an_abandoned_node_does_not_count_as_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
