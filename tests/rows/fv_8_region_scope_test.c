/* FV-8: the trace has what runs inside selected regions; work before, between and after leaves
 * nothing in it, nor does what runs inside regions that are not selected or not registered;
 * whatever leaves a region ends it. Statistics are of the whole run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_region.h"
#include "record_timing.h"
#include "trace_ends.h"

enum { MANY = 5000 };

static void windows(int n)
{
    region_spans("before", n);
    {
        PLUMB_REGION("model_loading");
        region_spans("inside", n);
    }
    region_spans("between", n);
    {
        PLUMB_REGION("training_epoch"); /* not selected */
        region_spans("not_selected", n);
    }
    {
        PLUMB_REGION("strange");
        region_spans("in_a_strange_one", n);
    }
    {
        PLUMB_REGION("Profiler_Region_Training_Step");
        region_spans("inside", n);
    }
    region_spans("after", n);
}

static void only_work_inside_is_in_the_trace(void **state)
{
    static const int counts[] = {1, 40, 63, 64, 200, MANY};
    struct trace_read t;
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        region_start("training_train_one_step,model_loading", PLUMB_REGION_THREAD);
        windows(counts[i]);
        assert_int_equal(record_count("between"), counts[i]);
        traced_finish(&t);
        assert_int_equal(trace_count(&t, "inside"), 2 * counts[i]);
        assert_int_equal(trace_count(&t, REGION_NODE "model_loading"), 1);
        assert_int_equal(trace_count(&t, REGION_NODE "training_train_one_step"), 1);
        assert_int_equal(t.whole, 2 * counts[i] + 2);
        assert_int_equal(t.open, 0);
        trace_fini(&t);
    }
}

static void spans_around_a_region_are_not_in_the_trace(void **state)
{
    struct trace_read t;
    (void)state;
    region_start("model_loading", PLUMB_REGION_THREAD);
    {
        PLUMB_SPAN("around");
        region_spans("outside", MANY);
        {
            PLUMB_REGION("model_loading");
            PLUMB_SPAN("in_it");
            region_spans("inside", MANY);
        }
        region_spans("outside", MANY);
    }
    traced_finish(&t);
    assert_int_equal(t.whole, MANY + 2);
    assert_string_equal(trace_parent(&t, trace_find(&t, "inside", MANY - 1)), "in_it");
    assert_string_equal(trace_parent(&t, trace_find(&t, "in_it", 0)), REGION_NODE "model_loading");
    assert_int_equal(trace_find(&t, REGION_NODE "model_loading", 0)->parent, 0);
    trace_fini(&t);
}

static int failing(void)
{
    PLUMB_REGION_AS(region, "model_loading");
    PLUMB_SPAN("inside");
    plumb_span_fail(region, "no such file");
    return -1;
}

static void an_error_inside_closes_it(void **state)
{
    struct trace_read t;
    plumb_span outer, region;
    (void)state;
    region_start("model_loading", PLUMB_REGION_THREAD);
    assert_int_equal(failing(), -1);
    region_spans("outside", 3);
    /* As a longjmp leaves it: ended by a span around. */
    outer = plumb_begin_node(plumb_node_get("outer"));
    region = plumb_region_begin("model_loading");
    plumb_begin_node(plumb_node_get("lost"));
    plumb_end(outer);
    region_spans("outside", 3);
    plumb_region_end(region);
    region_spans("outside", 3);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "inside"), 1);
    assert_int_equal(trace_count(&t, "lost"), 1);
    assert_int_equal(trace_count(&t, "outside"), 0);
    assert_int_equal(trace_count(&t, "outer"), 0);
    assert_int_equal(trace_count(&t, REGION_NODE "model_loading"), 2);
    assert_int_equal(trace_count(&t, "plumb.profiler.disable_collection"), 2);
    assert_non_null(strstr(trace_find(&t, REGION_NODE "model_loading", 0)->last, "no such file"));
    trace_fini(&t);
}

static jmp_buf back;

static void jumping(bool jumps)
{
    PLUMB_REGION("model_loading");
    region_spans("inside", 2);
    if (jumps) {
        plumb_begin_node(plumb_node_get("lost"));
        longjmp(back, 1);
    }
}

static __attribute__((noinline)) void caught(bool jumps)
{
    if (!setjmp(back))
        jumping(jumps);
}

/* A jump that passes no span's end and no scope's: the same declaration says so, the next time. */
static void a_jump_out_of_it_is_seen_when_it_is_entered_again(void **state)
{
    struct trace_read t;
    (void)state;
    region_start("model_loading", PLUMB_REGION_THREAD);
    for (int i = 0; i < 3; i++)
        caught(i < 2);
    region_spans("outside", MANY);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "inside"), 6);
    assert_int_equal(trace_count(&t, "outside"), 0);
    assert_int_equal(trace_count(&t, "plumb.profiler.enable_collection"), 3);
    assert_int_equal(trace_count(&t, "plumb.profiler.disable_collection"), 3);
    trace_fini(&t);
}

static void a_jump_out_of_it_ends_with_the_scope_around(void **state)
{
    static const uint32_t scopes[] = {PLUMB_REGION_THREAD, PLUMB_REGION_PROCESS};
    struct trace_read t;
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        region_start("model_loading", scopes[s]);
        for (PLUMB_STEPS (step, 3)) {
            caught(step == 2); /* not declared again after it */
            region_spans("in_the_step", 1);
        }
        region_spans("outside", MANY);
        {
            PLUMB_SPAN("late");
            PLUMB_REGION("model_loading");
        }
        region_spans("outside", MANY);
        traced_finish(&t);
        assert_int_equal(trace_count(&t, "inside"), 6);
        assert_int_equal(trace_count(&t, "in_the_step"), 1);
        assert_int_equal(trace_count(&t, "outside"), 0);
        assert_int_equal(trace_count(&t, "late"), 0);
        assert_int_equal(trace_count(&t, REGION_NODE "model_loading"), 4);
        assert_int_equal(trace_count(&t, "plumb.profiler.disable_collection"), 4);
        trace_fini(&t);
    }
}

/* A helper that works, in turn with the test, while a region is open there and while none is. */
struct helper {
    pthread_barrier_t turn;
    plumb_context context;
    int n;
};

static void *help(void *arg)
{
    struct helper *h = arg;
    region_spans("helper_before", h->n);
    pthread_barrier_wait(&h->turn); /* 1: the region opens */
    pthread_barrier_wait(&h->turn);
    region_spans("helper_meanwhile", h->n);
    {
        PLUMB_ADOPT(&h->context);
        region_spans("helper_for_it", h->n);
    }
    region_spans("helper_meanwhile", h->n);
    pthread_barrier_wait(&h->turn); /* 2: it closes */
    pthread_barrier_wait(&h->turn);
    region_spans("helper_after", h->n);
    return NULL;
}

static void with_a_helper(uint32_t scope, int n, struct trace_read *t, bool *left_out)
{
    struct helper h = {.n = n};
    pthread_t thread;
    region_start("model_loading", scope);
    pthread_barrier_init(&h.turn, NULL, 2);
    pthread_create(&thread, NULL, help, &h);
    pthread_barrier_wait(&h.turn);
    {
        PLUMB_REGION("model_loading");
        plumb_context_capture(&h.context);
        pthread_barrier_wait(&h.turn);
        region_spans("inside", n);
        pthread_barrier_wait(&h.turn);
    }
    pthread_barrier_wait(&h.turn);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&h.turn);
    traced_finish(t);
    *left_out = region_left_out(2 * (uint64_t)n);
}

static void scope_thread_follows_contexts_and_counts_the_others(void **state)
{
    static const int counts[] = {1, 70, MANY};
    struct trace_read t;
    bool left_out;
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        with_a_helper(PLUMB_REGION_THREAD, counts[i], &t, &left_out);
        assert_int_equal(trace_count(&t, "inside"), counts[i]);
        assert_int_equal(trace_count(&t, "helper_for_it"), counts[i]);
        assert_int_equal(t.whole, 2 * counts[i] + 1);
        assert_true(left_out);
        trace_fini(&t);
    }
}

static void scope_process_has_what_others_begin_meanwhile(void **state)
{
    static const int counts[] = {1, 70, MANY};
    struct trace_read t;
    bool left_out;
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        with_a_helper(PLUMB_REGION_PROCESS, counts[i], &t, &left_out);
        assert_int_equal(trace_count(&t, "inside"), counts[i]);
        assert_int_equal(trace_count(&t, "helper_for_it"), counts[i]);
        assert_int_equal(trace_count(&t, "helper_meanwhile"), 2 * counts[i]);
        assert_int_equal(t.whole, 4 * counts[i] + 1);
        assert_false(left_out);
        trace_fini(&t);
    }
}

/* Spans of a helper that begin while a region is open on the test's thread, and end long after. */
static void *outlive(void *arg)
{
    struct helper *h = arg;
    pthread_barrier_wait(&h->turn); /* 1: the region is open */
    {
        PLUMB_SPAN("helper_long");
        PLUMB_SPAN("helper_inner");
        pthread_barrier_wait(&h->turn);
        pthread_barrier_wait(&h->turn); /* 2: it is closed */
        region_spans("helper_after", h->n);
    }
    return NULL;
}

static void scope_process_has_the_late_end_of_what_began_inside(void **state)
{
    struct trace_read t;
    (void)state;
    for (int n = 0; n <= 300; n += 7) {
        struct helper h = {.n = n};
        pthread_t thread;
        region_start("model_loading", PLUMB_REGION_PROCESS);
        pthread_barrier_init(&h.turn, NULL, 2);
        pthread_create(&thread, NULL, outlive, &h);
        {
            PLUMB_REGION("model_loading");
            pthread_barrier_wait(&h.turn);
            pthread_barrier_wait(&h.turn);
        }
        pthread_barrier_wait(&h.turn);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&h.turn);
        traced_finish(&t);
        assert_int_equal(trace_tally_of(&t, "helper_long").whole, 1);
        assert_int_equal(trace_tally_of(&t, "helper_inner").whole, 1);
        assert_int_equal(trace_count(&t, "helper_after"), 0);
        assert_int_equal(t.whole, 3);
        trace_fini(&t);
    }
}

/* A trace that is full from early on: what is lost from then on is what regions had selected. */
static void full_trace(uint32_t scope, bool below)
{
    plumb_options o = plumb_options_default();
    struct plumb_timing timing;
    struct trace_tally inside;
    struct trace_read t;
    uint64_t untraced;
    char dir[1024];
    o.regions = "model_loading";
    o.region_scope = scope;
    o.trace_max_bytes = 65536;
    record_start_with(o);
    for (int i = 0; i < MANY; i++) {
        PLUMB_SPAN("around");
        region_spans("outside", 5);
        {
            PLUMB_REGION("model_loading");
            plumb_context context;
            plumb_context_capture(&context);
            region_spans("inside", 7);
            if (below) {
                PLUMB_ADOPT(&context);
                region_spans("inside", 1);
            }
        }
        region_spans("outside", 30);
    }
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_finish(&timing);
    trace_read_run(&t, dir);
    inside = trace_tally_of(&t, "inside");
    assert_int_equal(trace_ended_of(&timing, "inside", &untraced), (below ? 8 : 7) * MANY);
    assert_true(untraced > 0);
    assert_int_equal(inside.whole + untraced, (below ? 8 : 7) * MANY);
    assert_int_equal(trace_ended_of(&timing, "outside", &untraced), 35 * MANY);
    assert_int_equal(untraced, 0);
    assert_int_equal(trace_ended_of(&timing, "around", &untraced), MANY);
    assert_int_equal(untraced, 0);
    plumb_timing_fini(&timing);
    trace_fini(&t);
}

static void losses_are_of_spans_inside_alone(void **state)
{
    (void)state;
    full_trace(PLUMB_REGION_THREAD, false);
    full_trace(PLUMB_REGION_THREAD, true);
    full_trace(PLUMB_REGION_PROCESS, false);
}

static void without_a_choice_the_trace_has_the_whole_run(void **state)
{
    plumb_options o = traced_options();
    struct trace_read t;
    (void)state;
    record_start_with(o);
    windows(3);
    traced_finish(&t);
    assert_int_equal(t.whole, 7 * 3 + 3);
    assert_int_equal(trace_count(&t, "plumb.profiler.enable_collection"), 0);
    trace_fini(&t);
}

static void every_region_can_be_chosen(void **state)
{
    struct trace_read t;
    (void)state;
    region_start("*", PLUMB_REGION_THREAD);
    windows(3);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "inside"), 6);
    assert_int_equal(trace_count(&t, "not_selected"), 3);
    assert_int_equal(t.whole, 9 + 3);
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_work_inside_is_in_the_trace),
        cmocka_unit_test(spans_around_a_region_are_not_in_the_trace),
        cmocka_unit_test(an_error_inside_closes_it),
        cmocka_unit_test(a_jump_out_of_it_is_seen_when_it_is_entered_again),
        cmocka_unit_test(a_jump_out_of_it_ends_with_the_scope_around),
        cmocka_unit_test(scope_thread_follows_contexts_and_counts_the_others),
        cmocka_unit_test(scope_process_has_what_others_begin_meanwhile),
        cmocka_unit_test(scope_process_has_the_late_end_of_what_began_inside),
        cmocka_unit_test(losses_are_of_spans_inside_alone),
        cmocka_unit_test(without_a_choice_the_trace_has_the_whole_run),
        cmocka_unit_test(every_region_can_be_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
