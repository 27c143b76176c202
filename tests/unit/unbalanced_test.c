/* Spans that are not ended as they should be: jumped over, cancelled, ended twice, in the wrong
 * order or on the wrong thread. The spans round them stay whole; what was lost is counted and
 * named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <stdatomic.h>
#include <unistd.h>

#include "record_timing.h"

enum { TIMES = 200 };

static jmp_buf back;

static void two_spans_and_a_jump(void)
{
    PLUMB_SPAN("jumped.outer");
    {
        PLUMB_SPAN("jumped.inner");
        longjmp(back, 1);
    }
}

static void a_longjmp_over_two_spans_leaves_the_others_whole(void **state)
{
    static int i;
    struct plumb_timing t;
    (void)state;
    for (i = 0; i < TIMES; i++) {
        PLUMB_SPAN("around");
        {
            PLUMB_SPAN("before");
        }
        if (!setjmp(back))
            two_spans_and_a_jump();
        {
            PLUMB_SPAN("after");
        }
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "around")->host.ns.count, TIMES);
    assert_int_equal(timing_node(&t, NULL, "before")->host.ns.count, TIMES);
    assert_int_equal(timing_node(&t, NULL, "after")->host.ns.count, TIMES);
    assert_int_equal(timing_node(&t, NULL, "jumped.outer")->host.ns.count, 0);
    assert_int_equal(timing_node(&t, NULL, "jumped.outer")->unbalanced, TIMES);
    assert_int_equal(timing_node(&t, NULL, "jumped.inner")->unbalanced, TIMES);
    assert_int_equal(t.drops.unbalanced, 2 * TIMES);
    assert_int_equal(timing_place_count(&t, "around"), TIMES);
    assert_int_equal(t.open_count, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void one_span_and_a_jump(void)
{
    PLUMB_SPAN("left");
    longjmp(back, 1);
}

/* Counted one by one, and at an end with the span around them. */
static void spans_left_below_one_that_goes_on_are_counted(void **state)
{
    enum { JUMPS = 300 };
    static volatile int i;
    struct plumb_timing t;
    (void)state;
    {
        PLUMB_SPAN("around");
        for (i = 0; i < JUMPS; i++) {
            if (!setjmp(back))
                one_span_and_a_jump();
        }
    }
    {
        PLUMB_SPAN("later");
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "left")->unbalanced, 254);
    assert_int_equal(t.drops.too_deep, JUMPS - 254);
    assert_int_equal(timing_node(&t, NULL, "around")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, NULL, "later")->host.ns.count, 1);
    plumb_timing_fini(&t);
    record_start();
}

static void a_longjmp_restores_phase_and_step_with_the_scope_around_it(void **state)
{
    plumb_context c;
    (void)state;
    {
        PLUMB_PHASE("val");
        if (!setjmp(back)) {
            plumb_phase_begin("train");
            plumb_step_begin(5);
            longjmp(back, 1);
        }
    }
    plumb_context_capture(&c);
    assert_int_equal(c.step, -1);
    {
        PLUMB_SPAN("node");
    }
    assert_int_equal(record_row_of(NULL, "inference", "node").count, 1);
}

static void a_second_end_does_nothing(void **state)
{
    PLUMB_POINT(outer_point, "outer");
    PLUMB_POINT(inner_point, "inner");
    struct plumb_timing t;
    plumb_span outer = plumb_begin(&outer_point), inner = plumb_begin(&inner_point);
    (void)state;
    plumb_end(inner);
    plumb_end(inner);
    plumb_end(inner);
    plumb_span_fail(inner, "too late");
    plumb_end(outer);
    plumb_end(outer);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "outer")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, NULL, "inner")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, NULL, "inner")->failures, 0);
    assert_int_equal(t.drops.stale, 4);
    assert_int_equal(t.drops.unbalanced, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void ended_in_the_wrong_order_the_inner_one_is_unbalanced(void **state)
{
    PLUMB_POINT(outer_point, "outer");
    PLUMB_POINT(inner_point, "inner");
    struct plumb_timing t;
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        PLUMB_SPAN("around");
        plumb_span outer = plumb_begin(&outer_point), inner = plumb_begin(&inner_point);
        plumb_end(outer);
        plumb_end(inner);
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "around")->host.ns.count, TIMES);
    assert_int_equal(timing_node(&t, NULL, "outer")->host.ns.count, TIMES);
    assert_int_equal(timing_node(&t, NULL, "inner")->host.ns.count, 0);
    assert_int_equal(timing_node(&t, NULL, "inner")->unbalanced, TIMES);
    assert_int_equal(t.drops.stale, TIMES);
    plumb_timing_fini(&t);
    record_start();
}

static void *end_it(void *span)
{
    PLUMB_SPAN("on the other thread");
    plumb_end(*(plumb_span *)span);
    plumb_span_abandon(*(plumb_span *)span);
    return NULL;
}

static void ended_on_another_thread_it_stays_open_on_its_own(void **state)
{
    PLUMB_POINT(point, "mine");
    struct plumb_timing t;
    plumb_span span = plumb_begin(&point);
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &span), 0);
    pthread_join(thread, NULL);
    plumb_end(span);
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "mine")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, NULL, "on the other thread")->host.ns.count, 1);
    assert_int_equal(t.drops.stale, 2);
    assert_int_equal(t.drops.unbalanced, 0);
    plumb_timing_fini(&t);
    record_start();
}

static atomic_int waiting;

/* A cancelled frame never takes its red zones back: AddressSanitizer would find them in the frames
 * that come after it. */
__attribute__((no_sanitize("address"))) static void *wait_in_two_spans(void *unused)
{
    PLUMB_SPAN("cancelled.outer");
    {
        PLUMB_SPAN("complete");
    }
    PLUMB_SPAN("cancelled.inner");
    atomic_store(&waiting, 1);
    for (;;)
        pause();
    return unused;
}

static void a_cancelled_thread_leaves_its_spans_counted_and_named(void **state)
{
    struct plumb_timing t;
    uint64_t lost = 0;
    (void)state;
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        void *result;
        atomic_store(&waiting, 0);
        assert_int_equal(pthread_create(&thread, NULL, wait_in_two_spans, NULL), 0);
        while (!atomic_load(&waiting))
            sched_yield();
        assert_int_equal(pthread_cancel(thread), 0);
        pthread_join(thread, &result);
        assert_ptr_equal(result, PTHREAD_CANCELED);
    }
    {
        PLUMB_SPAN("mine");
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, NULL, "complete")->host.ns.count, 5);
    assert_int_equal(timing_node(&t, NULL, "mine")->host.ns.count, 1);
    /* Unwinding ends them where the program is built with -fexceptions, else they are unbalanced.
     */
    lost = timing_node(&t, NULL, "cancelled.inner")->unbalanced +
           timing_node(&t, NULL, "cancelled.outer")->unbalanced;
    assert_int_equal(lost + timing_node(&t, NULL, "cancelled.inner")->host.ns.count +
                         timing_node(&t, NULL, "cancelled.outer")->host.ns.count,
                     10);
    assert_int_equal(t.drops.unbalanced, lost);
    assert_int_equal(t.open_count, 0);
    plumb_timing_fini(&t);
    record_start();
}

static void spans_open_at_the_stop_are_listed(void **state)
{
    PLUMB_POINT(outer, "still open");
    PLUMB_POINT(inner, "still open inside");
    struct plumb_timing t;
    plumb_span spans[2];
    plumb_async async = plumb_async_begin(plumb_node_get("still open async"));
    (void)state;
    spans[0] = plumb_begin(&outer);
    {
        PLUMB_SPAN("done");
    }
    spans[1] = plumb_begin(&inner);
    record_finish(&t);
    plumb_end(spans[1]);
    plumb_end(spans[0]);
    plumb_async_end(async);
    assert_int_equal(timing_node(&t, NULL, "done")->host.ns.count, 1);
    assert_int_equal(t.open_count, 3);
    assert_string_equal(t.open[0].node, "still open");
    assert_int_equal(t.open[0].depth, 1);
    assert_string_equal(t.open[1].node, "still open inside");
    assert_int_equal(t.open[1].depth, 2);
    assert_string_equal(t.open[2].node, "still open async");
    assert_true(t.open[0].age_ns >= t.open[1].age_ns);
    plumb_timing_fini(&t);
    record_start();
}

static void handles_that_were_never_given_end_nothing(void **state)
{
    struct plumb_timing t;
    plumb_span made_up = {1};
    plumb_scope scope = {1};
    plumb_async async = {1};
    (void)state;
    {
        PLUMB_SPAN("open");
        PLUMB_PHASE("val");
        for (uint64_t i = 1; i < 1000; i++) {
            made_up.id = i * UINT64_C(0x9e3779b97f4a7c15);
            scope.id = i;
            async.id = made_up.id;
            plumb_end(made_up);
            plumb_arg_i64(made_up, "x", 1);
            plumb_scope_end(scope);
            plumb_async_end(async);
        }
        PLUMB_SPAN("inside");
    }
    record_finish(&t);
    assert_int_equal(timing_node(&t, "inference", "open")->host.ns.count, 1);
    assert_int_equal(timing_node(&t, "val", "inside")->host.ns.count, 1);
    assert_int_equal(t.drops.unbalanced, 0);
    plumb_timing_fini(&t);
    record_start();
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(spans_left_below_one_that_goes_on_are_counted),
        IN_A_RUN(a_longjmp_over_two_spans_leaves_the_others_whole),
        IN_A_RUN(a_longjmp_restores_phase_and_step_with_the_scope_around_it),
        IN_A_RUN(a_second_end_does_nothing),
        IN_A_RUN(ended_in_the_wrong_order_the_inner_one_is_unbalanced),
        IN_A_RUN(ended_on_another_thread_it_stays_open_on_its_own),
        IN_A_RUN(a_cancelled_thread_leaves_its_spans_counted_and_named),
        IN_A_RUN(spans_open_at_the_stop_are_listed),
        IN_A_RUN(handles_that_were_never_given_end_nothing),
    };
    /* ThreadSanitizer does not see the locks of a thread that was cancelled in a system call: it
     * would take the sampler of memory, which holds the same lock in turns, for a race. */
    setenv("PLUMB_MEMORY", "off", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
