/* CV-5: a node that fails leaves no sample, nodes after it never run, nodes before it keep theirs;
 * the failure is counted, with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_timing.h"

static int decode(int fail)
{
    PLUMB_SPAN_AS(span, "decode");
    if (fail) {
        plumb_span_fail(span, "no memory for the decoder");
        return -1;
    }
    return 0;
}

static int pipeline(int fail)
{
    {
        PLUMB_SPAN("encode");
    }
    if (decode(fail) < 0)
        return -1;
    {
        PLUMB_SPAN("write");
    }
    return 0;
}

static void a_failing_node_leaves_no_sample_nor_do_later_ones(void **state)
{
    (void)state;
    assert_int_equal(pipeline(1), -1);
    assert_int_equal(record_count("encode"), 1);
    assert_int_equal(record_count("decode"), 0);
    assert_int_equal(record_row("decode").failures, 1);
    assert_true(record_row("decode").total_ms == 0);
    assert_null(record_row("write").node);
}

static void failures_stand_beside_the_samples(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *n;
    (void)state;
    for (int i = 0; i < 100; i++)
        pipeline(i % 10 == 9);
    record_finish(&t);
    n = timing_node(&t, NULL, "decode");
    assert_int_equal(n->host.ns.count, 90);
    assert_int_equal(n->failures, 10);
    assert_string_equal(n->last_failure, "no memory for the decoder");
    assert_int_equal(timing_node(&t, NULL, "encode")->host.ns.count, 100);
    assert_int_equal(timing_node(&t, NULL, "encode")->failures, 0);
    assert_int_equal(timing_node(&t, NULL, "write")->host.ns.count, 90);
    plumb_timing_fini(&t);
    record_start();
}

static void a_failure_is_not_taken_by_the_skip(void **state)
{
    plumb_config c = plumb_config_default();
    (void)state;
    c.enabled = 1;
    c.skip_first_n = 2;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    for (int i = 0; i < 3; i++)
        pipeline(1);
    for (int i = 0; i < 3; i++)
        pipeline(0);
    assert_int_equal(record_row("decode").failures, 3);
    assert_int_equal(record_row("decode").skipped, 2);
    assert_int_equal(record_count("decode"), 1);
    c.skip_first_n = 0;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_failing_node_leaves_no_sample_nor_do_later_ones),
        IN_A_RUN(failures_stand_beside_the_samples),
        IN_A_RUN(a_failure_is_not_taken_by_the_skip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
