/* TF-3: with sync on, a stage is: synchronise, checkpoint, start the memory peak again, read the
 * clock, body, synchronise, read the clock, memory, checkpoint; its trace is exported after all of
 * that; (+) what the recorder itself needs to start lies outside the span. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "record_memory.h"

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

/* Work that the device has not finished: a wait for the device completes it. */
static struct {
    uint64_t high, left, next;
} unfinished;

static void synchronise(void *arg)
{
    (void)arg;
    event('S', SYNC_NS);
    if (!unfinished.high)
        return;
    mem_alloc(++unfinished.next, unfinished.high);
    mem_free(unfinished.next);
    mem_alloc(++unfinished.next, unfinished.left);
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

static struct plumb_timing_use use_at(const struct plumb_timing *t,
                                      const struct plumb_timing_memory *memory)
{
    return timing_use(t, memory, "cuda:0", "caching");
}

/* The end of the span's time waits for the device as well: what it does then is the stage's. */
static void memory_is_looked_at_behind_both_and_outside_of_the_clock(void **state)
{
    const struct plumb_timing_checkpoint *before, *after;
    const struct plumb_timing_stage_run *run;
    struct plumb_timing_use use;
    struct plumb_timing t;
    (void)state;
    setenv("PLUMB_MEMORY_CHECKPOINTS", "1", 1);
    record_stop();
    setup(state);
    unsetenv("PLUMB_MEMORY_CHECKPOINTS");
    memset(&unfinished, 0, sizeof unfinished);
    unfinished.high = 1000;
    unfinished.left = 7;
    {
        PLUMB_STAGE(stage, "node");
        event('B', BODY_NS);
        mem_alloc(100, 50);
        unfinished.high = 300;
        unfinished.left = 5;
    }
    unfinished.high = 0;
    assert_string_equal(seen.what, "SBS");
    record_finish(&t);
    assert_int_equal(t.memory.checkpoint_count, 2);
    before = &t.memory.checkpoints[0];
    after = &t.memory.checkpoints[1];
    run = &t.stage_runs[0];
    /* Behind the first wait, before the peak starts again and before the clock. */
    assert_string_equal(before->name, "before_node");
    assert_int_equal(use_at(&t, &before->memory).allocated, 7);
    assert_int_equal(use_at(&t, &before->memory).peak_allocated, 1000);
    assert_true(before->at_ns <= run->begin_ns);
    /* Behind the second one and the clock. */
    use = use_at(&t, &timing_node(&t, NULL, "node")->memory);
    assert_int_equal(use.allocated, 7 + 50 + 5);
    assert_int_equal(use.peak_allocated, 7 + 50 + 300);
    assert_string_equal(after->name, "after_node");
    assert_int_equal(use_at(&t, &after->memory).allocated, 7 + 50 + 5);
    assert_int_equal(use_at(&t, &after->memory).peak_allocated, 7 + 50 + 300);
    assert_true(after->at_ns >= run->begin_ns + run->duration_ns);
    plumb_timing_fini(&t);
    record_start();
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
        IN_A_RUN(memory_is_looked_at_behind_both_and_outside_of_the_clock),
        cmocka_unit_test_setup_teardown(the_trace_is_exported_last, trace_the_node,
                                        record_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
