/* Spans inside signal handlers that interrupt the program anywhere, plumb included: the interrupted
 * span stays whole; a handler's span is recorded, or counted as one that came inside plumb. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/time.h>

#include "record/runtime/lock.h"
#include "record_timing.h"
#include "signal_point.h"
#include <plumb/collector.h>

enum { SIGNALS = 400, SPANS_MOST = 20000000 };

static volatile sig_atomic_t handled;

static void nested_spans(void)
{
    PLUMB_SPAN("handler.outer");
    PLUMB_SPAN("handler.inner");
}

static void on_alarm(int sig)
{
    (void)sig;
    nested_spans();
    handled++;
}

static void storm(int on)
{
    struct itimerval t = {{0, 0}, {0, 0}};
    t.it_interval.tv_usec = t.it_value.tv_usec = on ? 50 : 0;
    assert_int_equal(setitimer(ITIMER_REAL, &t, NULL), 0);
}

static int setup(void **state)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_alarm;
    a.sa_flags = SA_RESTART;
    assert_int_equal(sigaction(SIGALRM, &a, NULL), 0);
    handled = 0;
    record_setup(state);
    /* The points of the handler are known before it runs. */
    nested_spans();
    return 0;
}

static uint64_t recorded(const struct plumb_timing *t, const char *name)
{
    return timing_node(t, NULL, name)->host.ns.count;
}

static void check_and_restart(uint64_t main_spans)
{
    struct plumb_timing t;
    uint64_t signals;
    storm(0);
    signals = (uint64_t)handled + 1;
    record_finish(&t);
    assert_int_equal(recorded(&t, "main.outer"), main_spans);
    assert_int_equal(recorded(&t, "main.inner"), 2 * main_spans);
    assert_int_equal(recorded(&t, "handler.outer"), recorded(&t, "handler.inner"));
    assert_int_equal(recorded(&t, "handler.outer") + t.drops.reentrant / 2, signals);
    assert_int_equal(t.drops.reentrant % 2, 0);
    assert_int_equal(t.drops.unbalanced, 0);
    assert_int_equal(t.drops.stale, 0);
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void main_spans(void)
{
    PLUMB_SPAN("main.outer");
    {
        PLUMB_SPAN("main.inner");
    }
    {
        PLUMB_SPAN("main.inner");
    }
}

static void a_storm_of_signals_leaves_every_span_whole(void **state)
{
    uint64_t n = 0;
    (void)state;
    storm(1);
    for (; handled < SIGNALS && n < SPANS_MOST; n++) {
        main_spans();
        if (n % 64 == 0)
            signal_point();
    }
    assert_true(handled > 0);
    check_and_restart(n);
}

static void a_storm_during_everything_else_harms_nothing(void **state)
{
    uint64_t n = 0;
    (void)state;
    storm(1);
    for (; handled < SIGNALS && n < SPANS_MOST; n++) {
        char name[32];
        plumb_async async;
        PLUMB_PHASE(n % 2 ? "train" : "val");
        PLUMB_STEP((int64_t)n);
        snprintf(name, sizeof name, "block.%d", (int)(n % 1000));
        async = plumb_async_begin(plumb_node_get(name));
        plumb_counter_add("things", 1);
        plumb_record_ns(plumb_node_get("sample"), 5);
        plumb_async_end(async);
        if (n % 64 == 0) {
            plumb_rows_free(record_rows(NULL, NULL));
            signal_point();
        }
        if (n % 256 == 0)
            plumb_reset(plumb_pipeline_get("other"), NULL);
    }
    storm(0);
    assert_true(handled > 0);
    {
        plumb_row train = record_row_of(NULL, "train", "sample");
        plumb_row val = record_row_of(NULL, "val", "sample");
        assert_int_equal(train.count + val.count, n);
        record_check_row(&train);
        record_check_row(&val);
    }
}

static void the_handlers_span_takes_its_time_from_the_one_it_interrupts(void **state)
{
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("interrupted");
        raise(SIGALRM);
        raise(SIGALRM);
    }
    assert_int_equal(handled, 2);
    record_finish(&t);
    assert_int_equal(timing_place_count(&t, "interrupted/handler.outer/handler.inner"), 2);
    timing_check_tree(&t);
    plumb_timing_fini(&t);
    record_start();
}

static void sync_nothing(void *arg)
{
    (void)arg;
}

/* Only a fault's handler comes to a thread that has the lock. */
static void
calls_that_need_the_lock_are_refused_to_a_handler_that_interrupted_its_holder(void **state)
{
    plumb_device *device = plumb_device_register("device", sync_nothing, NULL);
    plumb_rule rule = plumb_rule_default();
    plumb_error err = {0, ""};
    int unregistered, checked;
    plumb_name name;
    (void)state;
    plumb_lock();
    unregistered = plumb_device_unregister(device, &err);
    checked = plumb_stage_check("stage", PLUMB_STAGE_INPUT, "latents", &rule, NULL);
    name = plumb_name_get("kernel");
    plumb_unlock();
    assert_int_equal(unregistered, PLUMB_ERR_STATE);
    assert_non_null(strstr(err.message, "plumb_device_unregister"));
    assert_int_equal(checked, PLUMB_ERR_STATE);
    assert_int_not_equal(name, plumb_name_get("kernel"));
    assert_int_equal(plumb_device_unregister(device, NULL), PLUMB_OK);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_storm_of_signals_leaves_every_span_whole),
        IN_A_RUN(a_storm_during_everything_else_harms_nothing),
        IN_A_RUN(the_handlers_span_takes_its_time_from_the_one_it_interrupts),
        IN_A_RUN(calls_that_need_the_lock_are_refused_to_a_handler_that_interrupted_its_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
