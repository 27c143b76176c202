/* CV-4: a span times its own code and nothing else, on a monotonic clock; what is prepared before
 * it and cleaned up after it is not in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

enum { NODE_NS = 5000000, PREPARE_NS = 5000000 };

static uint64_t before_ns, after_ns;

static void node(void)
{
    PLUMB_POINT(point, "node");
    plumb_span span;
    record_work_ns(PREPARE_NS);
    before_ns = record_now_ns();
    span = plumb_begin(&point);
    record_work_ns(NODE_NS);
    plumb_end(span);
    after_ns = record_now_ns();
    record_work_ns(PREPARE_NS);
}

static void check_one(void)
{
    plumb_row row;
    record_start();
    node();
    row = record_row("node");
    assert_int_equal(row.count, 1);
    /* Two clocks agree within 1 %, however short the run. */
    assert_true(row.total_ms >= NODE_NS * 0.99e-6);
    assert_true(row.total_ms <= (double)(after_ns - before_ns) * 1.01e-6);
    assert_true(row.total_ms == row.mean_ms && row.total_ms == row.last_ms);
    assert_true(row.total_ms == row.min_ms && row.total_ms == row.max_ms);
    assert_true(row.total_ms == row.median_ms && row.std_ms == 0);
    record_stop();
}

static void a_node_of_5_ms_reads_at_least_5_ms_without_its_preparation(void **state)
{
    (void)state;
    check_one();
}

static void the_first_run_of_a_node_on_a_thread_pays_nothing_either(void **state)
{
    (void)state;
    /* Another run: the thread attaches again inside the first begin, outside the sample. */
    check_one();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_node_of_5_ms_reads_at_least_5_ms_without_its_preparation,
                                  record_close),
        cmocka_unit_test_teardown(the_first_run_of_a_node_on_a_thread_pays_nothing_either,
                                  record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
