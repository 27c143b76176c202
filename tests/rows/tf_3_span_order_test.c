/* TF-3: with sync on, a span is: synchronise, read the clock, body, synchronise, read the clock,
 * memory; its trace is exported after all of that; (+) what the recorder itself needs to start lies
 * outside the span. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

enum { EVENTS = 16, SYNC_NS = 4000000, BODY_NS = 2000000 };

static struct {
    char what[EVENTS + 1];
    uint64_t begin_ns[EVENTS], end_ns[EVENTS];
    size_t count;
} seen;

static void event(char what, uint64_t lasts_ns)
{
    assert_true(seen.count < EVENTS);
    seen.what[seen.count] = what;
    seen.begin_ns[seen.count] = record_now_ns();
    record_work_ns(lasts_ns);
    seen.end_ns[seen.count++] = record_now_ns();
}

static void synchronise(void *arg)
{
    (void)arg;
    event('S', SYNC_NS);
}

static uint64_t returned_ns, ended_ns;

static void node(void)
{
    PLUMB_POINT(point, "node");
    plumb_span span = plumb_begin(&point);
    returned_ns = record_now_ns();
    event('B', BODY_NS);
    plumb_end(span);
    ended_ns = record_now_ns();
}

static int setup(void **state)
{
    static plumb_device *device;
    plumb_config c = plumb_config_default();
    record_setup(state);
    if (!device)
        device = plumb_device_register("mock", synchronise, NULL);
    c.enabled = c.sync = c.reset = 1;
    plumb_pipeline_set_device(NULL, device);
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    memset(&seen, 0, sizeof seen);
    return 0;
}

/* The first clock read lies after the first synchronise, the second after the second: bounds that
 * hold whatever else the machine does. Two clocks agree within 1 %. */
static void check_span(double ms)
{
    assert_string_equal(seen.what, "SBS");
    assert_true(ms <= (double)(ended_ns - seen.end_ns[0]) * 1.01e-6);
    assert_true(ms >= (double)(seen.end_ns[2] - returned_ns) * 0.99e-6);
    assert_true(ms >= (SYNC_NS + BODY_NS) * 0.99e-6);
}

static void the_order_is_sync_clock_body_sync_clock(void **state)
{
    (void)state;
    node();
    check_span(record_row("node").last_ms);
}

static void the_first_span_of_a_thread_is_no_different(void **state);

static void *on_a_thread(void *unused)
{
    node();
    return unused;
}

static void the_first_span_of_a_thread_is_no_different(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, on_a_thread, NULL), 0);
    pthread_join(thread, NULL);
    check_span(record_row("node").last_ms);
}

static void a_run_that_the_first_span_opens_is_opened_outside_of_it(void **state)
{
    (void)state;
    /* The thread attaches to a new run inside the first begin: before the device and the clock. */
    record_stop();
    setup(state);
    node();
    check_span(record_row("node").last_ms);
    record_stop();
    record_start();
}

static void a_failing_span_is_synchronised_before_it_ends(void **state)
{
    (void)state;
    {
        PLUMB_SPAN_AS(span, "failing");
        event('B', 0);
        plumb_span_fail(span, "why");
    }
    assert_string_equal(seen.what, "SBS");
    assert_int_equal(record_row("failing").failures, 1);
}

static void a_stage_is_logged_before_and_after_both(void **state);

static void log_line(int level, const char *line, void *arg)
{
    (void)level;
    (void)arg;
    event(strstr(line, "Starting") ? 'l' : strstr(line, "memory:") ? 'M' : 'L', 0);
}

static void logged_stage(plumb_log_fn log)
{
    plumb_set_log(PLUMB_LOG_INFO, log, NULL);
    {
        PLUMB_STAGE(stage, "node");
        event('B', 0);
    }
    plumb_set_log(0, NULL, NULL);
    assert_string_equal(seen.what, "lSBSLM");
}

static void a_stage_is_logged_before_and_after_both(void **state)
{
    (void)state;
    logged_stage(log_line);
    assert_int_equal(record_count("node"), 1);
}

static int trace_the_node(void **state)
{
    int rc;
    setenv("PLUMB_TRACE_NODES", "node", 1);
    setenv("PLUMB_RUN_DIR", "traced", 1);
    rc = setup(state);
    unsetenv("PLUMB_RUN_DIR");
    unsetenv("PLUMB_TRACE_NODES");
    return rc;
}

static size_t exported(void)
{
    glob_t found;
    size_t n = 0;
    if (glob("traced/node_rank0.trace.json.gz", 0, NULL, &found) == 0)
        n = found.gl_pathc;
    globfree(&found);
    return n;
}

static void look_at_line(int level, const char *line, void *arg)
{
    log_line(level, line, arg);
    assert_int_equal(exported(), 0);
}

static void the_trace_is_exported_last(void **state)
{
    (void)state;
    logged_stage(look_at_line);
    assert_int_equal(exported(), 0);
    record_stop();
    assert_int_equal(exported(), 1);
    record_start();
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(the_order_is_sync_clock_body_sync_clock),
        IN_A_RUN(the_first_span_of_a_thread_is_no_different),
        IN_A_RUN(a_run_that_the_first_span_opens_is_opened_outside_of_it),
        IN_A_RUN(a_failing_span_is_synchronised_before_it_ends),
        IN_A_RUN(a_stage_is_logged_before_and_after_both),
        cmocka_unit_test_setup_teardown(the_trace_is_exported_last, trace_the_node,
                                        record_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
