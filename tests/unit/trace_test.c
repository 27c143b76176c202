/* A traced run: its spans, and all that they are more than their times, are in trace.pftrace as a
 * decoder that knows nothing of the writer reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/keep_rules.h"
#include "live/trace_blocks.h"
#include "record/runtime/enter.h"
#include "record/runtime/runtime.h"
#include "record_timing.h"
#include "record_traced.h"

static void nest(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("outer");
        {
            PLUMB_SPAN("inner");
        }
        PLUMB_SPAN("tail");
    }
}

static void *nest_main(void *arg)
{
    nest(*(int *)arg);
    return NULL;
}

static void spans_of_many_threads_are_in_the_trace(void **state)
{
    struct trace_read t;
    pthread_t threads[4];
    int n = 300;
    (void)state;
    record_start_with(traced_options());
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, nest_main, &n), 0);
    nest(n);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "outer"), 5 * n);
    assert_int_equal(t.whole, 5 * 3 * n);
    assert_int_equal(t.open, 0);
    for (int i = 0; i < 5 * n; i++) {
        const struct trace_slice *inner = trace_find(&t, "inner", (size_t)i);
        assert_string_equal(trace_parent(&t, inner), "outer");
        assert_string_equal(inner->more, "");
        assert_string_equal(inner->last, "");
    }
    assert_true(trace_says(&t, "key=plumb.trace_end text=complete"));
    assert_true(trace_says(&t, "key=plumb.dropped long=0"));
    assert_false(trace_says(&t, "losers="));
    trace_fini(&t);
}

static void what_a_span_is_more_than_its_times_is_told(void **state)
{
    struct trace_read t;
    struct trace_slice *s;
    plumb_pipeline *other = plumb_pipeline_get("other");
    (void)state;
    record_start_with(traced_options());
    {
        PLUMB_SPAN("denoise");
        for (PLUMB_STEPS (step, 3)) {
            PLUMB_SPAN_AS(span, "denoise_step");
            PLUMB_SPAN("block");
            plumb_arg_i64(span, "rows", 7 + step);
            plumb_arg_f64(span, "scale", 0.5);
            plumb_arg_str(span, "kind", "a \"quoted\"\n\xff text");
            plumb_arg_i64(span, "flops", 1000);
        }
    }
    {
        PLUMB_PHASE("val");
        PLUMB_SPAN_AS(span, "failing");
        plumb_span_fail(span, "no such weights");
    }
    {
        PLUMB_PIPELINE(other);
        PLUMB_SPAN_AS(span, "elsewhere");
        plumb_span_abandon(span);
    }
    plumb_async_end(plumb_async_begin(plumb_node_get("request")));
    plumb_async_begin(plumb_node_get("never"));
    plumb_begin_node(plumb_node_get("open"));
    traced_finish(&t);
    for (size_t i = 0; i < 3; i++) {
        char want[32];
        s = trace_find(&t, "denoise_step", i);
        snprintf(want, sizeof want, " step=%zu", i);
        assert_string_equal(s->more, want);
        snprintf(want, sizeof want, " rows=%zu scale=0.5 kind=", 7 + i);
        assert_non_null(strstr(s->last, want));
        assert_null(strstr(s->last, "flop")); /* PLUMB_TRACE_FLOPS is off */
        assert_string_equal(trace_find(&t, "block", i)->more, "");
    }
    assert_true(trace_says(&t, "kind=a \"quoted\""));
    assert_true(trace_says(&t, "\\xff text"));
    s = trace_find(&t, "failing", 0);
    assert_string_equal(s->more, " cat=val");
    assert_string_equal(s->last, " failed=no such weights");
    s = trace_find(&t, "elsewhere", 0);
    assert_string_equal(s->more, " pipeline=other");
    assert_string_equal(s->last, " abandoned=true");
    assert_true(trace_find(&t, "request", 0)->end != UINT64_MAX);
    assert_true(trace_find(&t, "never", 0)->end == UINT64_MAX);
    assert_true(trace_find(&t, "open", 0)->end == UINT64_MAX);
    assert_int_equal(t.open, 2);
    trace_fini(&t);
}

static void names_may_hold_anything(void **state)
{
    static const char *const names[] = {
        "say_\"it\"", "two\nlines", "\xf0\x9f\x98\x80", "\xff\xc0", "back\\slash", "tab\tbed", ""};
    struct trace_read t;
    (void)state;
    record_start_with(traced_options());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plumb_span s = plumb_begin_node(plumb_node_get(names[i]));
        plumb_arg_str(s, names[i], names[i]);
        plumb_instant(names[i]);
        plumb_end(s);
    }
    traced_finish(&t);
    assert_true(trace_says(&t, "begin say_\"it\" on"));
    assert_true(trace_says(&t, "begin two lines on"));
    assert_true(trace_says(&t, "begin \xf0\x9f\x98\x80 on"));
    assert_true(trace_says(&t, "begin \\xff\\xc0 on"));
    assert_true(trace_says(&t, "instant back\\slash on"));
    assert_int_equal(t.whole, sizeof names / sizeof *names);
    trace_fini(&t);
}

static void moments_values_and_flows_are_told(void **state)
{
    struct trace_read t;
    plumb_context context;
    const char *flow;
    char want[64];
    (void)state;
    record_start_with(traced_options());
    plumb_instant("switched");
    plumb_gauge_set("depth", 2.5);
    plumb_counter_add("things", 3);
    plumb_counter_add("things", 4);
    plumb_mem_alloc("cuda:0", "torch", &t, 4096); /* PLUMB_TRACE_MEMORY is off */
    plumb_context_capture(&context);
    {
        plumb_scope scope = plumb_context_adopt(&context);
        {
            PLUMB_SPAN("adopted");
        }
        plumb_scope_end(scope);
    }
    traced_finish(&t);
    assert_int_equal(trace_find(&t, "switched", 0)->kind, TRACE_INSTANT);
    assert_true(trace_says(&t, "name=depth"));
    assert_true(trace_says(&t, "value=2.5"));
    assert_true(trace_says(&t, "name=things"));
    assert_true(trace_says(&t, "value=3 "));
    assert_true(trace_says(&t, "value=7 "));
    assert_false(trace_says(&t, "memory cuda:0"));
    flow = strstr(trace_find(&t, "plumb.capture", 0)->more, "flow=");
    assert_non_null(flow);
    snprintf(want, sizeof want, "%s", flow);
    assert_non_null(strstr(trace_find(&t, "adopted", 0)->more, want));
    trace_fini(&t);
}

static void only_the_steps_asked_for_are_in_the_trace(void **state)
{
    struct trace_read t;
    plumb_options o = traced_options();
    (void)state;
    o.trace_steps = "2-3,7";
    record_start_with(o);
    for (PLUMB_STEPS (step, 10)) {
        PLUMB_SPAN("denoise_step");
        PLUMB_SPAN("block");
    }
    nest(5); /* in no step */
    assert_int_equal(record_row("denoise_step").count, 10);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "denoise_step"), 3);
    assert_int_equal(trace_count(&t, "block"), 3);
    assert_int_equal(trace_count(&t, "outer"), 0);
    assert_non_null(strstr(trace_find(&t, "denoise_step", 2)->more, "step=7"));
    trace_fini(&t);
}

static __attribute__((noinline)) void deep(int n)
{
    if (n)
        deep(n - 1);
    else
        nest(1);
    __asm__ volatile("" ::: "memory");
}

static void a_stack_has_a_bound_and_says_when_it_is_cut(void **state)
{
    struct trace_read t;
    plumb_options o = traced_options();
    (void)state;
    o.trace_stack = PLUMB_ON;
    o.trace_stack_depth = 3;
    record_start_with(o);
    deep(10);
    traced_finish(&t);
    assert_non_null(strstr(trace_find(&t, "inner", 0)->more, "stack[0]=0x"));
    assert_null(strstr(trace_find(&t, "inner", 0)->more, "stack[3]="));
    assert_true(trace_says(&t, "key=plumb.module.0 text="));
    assert_true(trace_says(&t, "unit.trace"));
    trace_fini(&t);
}

static plumb_options ring_mode(const char *dir)
{
    plumb_options o = traced_options();
    o.trace_mode = PLUMB_TRACE_RING;
    o.trace_ring_bytes = 32768;
    o.run_dir = dir;
    return o;
}

/* Returns when the writer has kept `n` pieces. */
static void await_kept(uint32_t n)
{
    while (PLUMB_ACQUIRE(plumb_rt.run->h->trace.kept) < n)
        sched_yield();
}

static void the_newest_records_are_kept_when_asked_for(void **state)
{
    struct trace_read t;
    (void)state;
    record_start_with(ring_mode("ring"));
    nest(5000);
    {
        PLUMB_SPAN("just_before");
    }
    assert_int_equal(plumb_trace_keep("the test wants it", NULL), PLUMB_OK);
    await_kept(1);
    {
        PLUMB_SPAN("after");
    }
    record_stop();
    trace_read_file(&t, "ring/kept-1.pftrace");
    assert_true(trace_says(&t, "key=plumb.keep.why text=the test wants it"));
    assert_int_equal(trace_count(&t, "just_before"), 1);
    assert_int_equal(trace_count(&t, "after"), 0);
    assert_in_range(trace_count(&t, "outer"), 100, 4999);
    assert_true(t.bytes < 65536);
    trace_fini(&t);
    trace_read_run(&t, "ring"); /* the newest at the end */
    assert_int_equal(trace_count(&t, "after"), 1);
    trace_fini(&t);
}

static void a_wish_while_a_piece_is_written_makes_one_more(void **state)
{
    enum { PIECES = 20 };
    char path[64];
    (void)state;
    record_start_with(ring_mode("ring_again"));
    nest(2000);
    for (int i = 1; i <= PIECES; i += 2) {
        struct trace_read t;
        assert_int_equal(plumb_trace_keep("once", NULL), PLUMB_OK);
        snprintf(path, sizeof path, "ring_again/kept-%d.pftrace", i);
        while (access(path, F_OK) != 0)
            sched_yield();
        {
            PLUMB_SPAN("meanwhile");
        }
        assert_int_equal(plumb_trace_keep("once more", NULL), PLUMB_OK);
        await_kept((uint32_t)i + 1);
        snprintf(path, sizeof path, "ring_again/kept-%d.pftrace", i + 1);
        trace_read_file(&t, path);
        assert_true(trace_says(&t, "key=plumb.keep.why text=once more"));
        assert_int_equal(trace_count(&t, "meanwhile"), i / 2 + 1);
        trace_fini(&t);
    }
    record_stop();
}

static void a_signal_keeps_them(void **state)
{
    plumb_options o = ring_mode("ring_signal");
    struct trace_read t;
    (void)state;
    o.keep_signal = "SIGUSR2";
    record_start_with(o);
    nest(10);
    raise(SIGUSR2);
    await_kept(1);
    record_stop();
    trace_read_file(&t, "ring_signal/kept-1.pftrace");
    assert_int_equal(trace_count(&t, "inner"), 10);
    trace_fini(&t);
}

static void a_slow_span_keeps_them(void **state)
{
    plumb_options o = ring_mode("ring_slow");
    struct trace_read t;
    (void)state;
    o.keep_if = "never>1ms,denoise_step>2ms";
    record_start_with(o);
    nest(10);
    {
        PLUMB_SPAN("denoise_step");
        for (uint64_t end = plumb_now_ns() + 3000000; plumb_now_ns() < end;)
            sched_yield();
    }
    await_kept(1);
    record_stop();
    trace_read_file(&t, "ring_slow/kept-1.pftrace");
    assert_true(trace_says(&t, "text=denoise_step took "));
    assert_int_equal(trace_count(&t, "denoise_step"), 1);
    trace_fini(&t);
}

static void keeping_needs_ring_mode(void **state)
{
    plumb_error err = {0, ""};
    (void)state;
    assert_int_equal(plumb_trace_keep("no run", &err), PLUMB_ERR_STATE);
    record_start_with(traced_options());
    assert_int_equal(plumb_trace_keep("no ring", &err), PLUMB_ERR_STATE);
    assert_non_null(strstr(err.message, "PLUMB_TRACE_MODE=ring"));
    record_stop();
}

static void rules_are_read_or_refused(void **state)
{
    struct plumb_keep_rules r;
    plumb_error err;
    (void)state;
    assert_int_equal(plumb_keep_rules_parse(&r, "a>b>1.5us,c>2s,d>4.35ms", &err), PLUMB_OK);
    assert_int_equal(r.count, 3);
    assert_string_equal(r.rule[0].node, "a>b");
    assert_int_equal(r.rule[0].over_ns, 1500);
    assert_int_equal(r.rule[1].over_ns, 2000000000);
    assert_int_equal(r.rule[2].over_ns, 4350000);
    static const char *const bad[] = {"a",      "a>",      ">5ms",        "a>5",     "a>5 ms",
                                      "a>-1ms", "a>nanms", "a>0x5ms",     "a>1e3ms", "a>1.5.5ms",
                                      "a>.5ms", "a>1,5ms", "a>1ms,,b>1ms"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(plumb_keep_rules_parse(&r, bad[i], &err), PLUMB_ERR_ARG);
        assert_int_equal(r.count, 0);
    }
    char many[8 * (PLUMB_KEEP_RULES + 1)] = "";
    for (int i = 0; i < PLUMB_KEEP_RULES; i++)
        strcat(many, "a>1ms,");
    assert_int_equal(plumb_keep_rules_parse(&r, many, &err), PLUMB_OK);
    assert_int_equal(r.count, PLUMB_KEEP_RULES);
    strcat(many, "a>1ms");
    assert_int_equal(plumb_keep_rules_parse(&r, many, &err), PLUMB_ERR_ARG);
    assert_int_equal(r.count, 0);
    assert_non_null(strstr(err.message, "more than 16 rules"));
}

static void the_file_stops_at_its_bound_and_statistics_do_not(void **state)
{
    struct plumb_timing timing;
    struct trace_read t;
    plumb_options o = traced_options();
    uint64_t lost = 0;
    (void)state;
    o.trace_max_bytes = 65536;
    o.run_dir = "bounded";
    record_start_with(o);
    nest(200000);
    record_finish(&timing);
    trace_read_run(&t, "bounded");
    assert_true(t.bytes <= 65536);
    assert_int_equal(timing_node(&timing, NULL, "outer")->host.ns.count, 200000);
    for (size_t i = 0; i < timing.node_count; i++)
        lost += timing.nodes[i].untraced;
    assert_int_equal(t.whole + lost, 600000);
    assert_int_equal(timing.trace.dropped, lost);
    assert_int_equal(timing.trace.bytes, t.bytes);
    assert_true(trace_says(&t, "plumb.dropped"));
    assert_true(trace_says(&t, "1 losers=1 loser="));
    assert_true(trace_check_losses(&t) > 0);
    assert_true(trace_says(&t, "text=at its bound, PLUMB_TRACE_MAX"));
    trace_fini(&t);
    plumb_timing_fini(&timing);
}

static void *one_span_main(void *arg)
{
    (void)arg;
    nest(1);
    return NULL;
}

static void ended_threads_hand_on_their_sequences(void **state)
{
    enum { MANY = 10000 };
    struct plumb_timing timing;
    struct trace_read t;
    plumb_options o = traced_options();
    uint32_t sequences;
    (void)state;
    o.run_dir = "many_threads";
    /* A slot for each thread: none is lost, however late the writer comes. */
    o.trace_ring_bytes = 2 * MANY * sizeof(struct plumb_trace_slot);
    o.max_state_bytes = UINT64_C(1) << 30;
    record_start_with(o);
    for (int i = 0; i < MANY; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, one_span_main, NULL), 0);
        pthread_join(thread, NULL);
    }
    sequences = plumb_rt.run->h->threads;
    record_finish(&timing);
    trace_read_run(&t, "many_threads");
    assert_true(sequences < 100);
    assert_int_equal(timing.trace.spans, t.whole);
    assert_int_equal(timing.trace.dropped, 0);
    assert_int_equal(t.whole, 3 * MANY);
    trace_fini(&t);
    plumb_timing_fini(&timing);
}

static void a_run_after_another_has_a_trace_of_its_own(void **state)
{
    struct trace_read t;
    (void)state;
    for (int i = 1; i <= 3; i++) {
        record_start_with(traced_options());
        nest(i);
        traced_finish(&t);
        assert_int_equal(trace_count(&t, "inner"), i);
        assert_int_equal(t.whole, 3 * i);
        trace_fini(&t);
    }
}

/* All that a program may have open, and go on to use. */
static void what_is_open_may_outlive_a_traced_run(void **state)
{
    plumb_config config = plumb_config_default();
    plumb_options o = traced_options();
    struct trace_read t;
    (void)state;
    config.enabled = true;
    o.trace_shapes = o.trace_memory = o.trace_stack = PLUMB_ON;
    record_start_with(o);
    {
        PLUMB_PHASE("val");
        PLUMB_PIPELINE(plumb_pipeline_get("other"));
        PLUMB_STAGE(stage, "stage");
        plumb_async async = plumb_async_begin(plumb_node_get("async"));
        nest(1);
        traced_finish(&t);
        assert_int_equal(t.whole, 3);
        assert_int_equal(t.open, 2);
        trace_fini(&t);
        plumb_stage_metadata(stage, "rows", plumb_value_i64(7));
        plumb_arg_i64(stage, "rows", 7);
        plumb_span_fail(stage, "too late");
        plumb_async_end(async);
        plumb_instant("late");
        plumb_gauge_set("late", 1);
        plumb_mem_alloc("cuda:0", "torch", &t, 4096);
        assert_int_equal(plumb_configure(NULL, &config, NULL), PLUMB_OK);
    }
    record_start_with(traced_options());
    {
        PLUMB_PHASE("test");
        nest(2);
    }
    traced_finish(&t);
    assert_int_equal(t.whole, 6);
    trace_fini(&t);
}

static void without_a_request_there_is_no_trace(void **state)
{
    char dir[1024], path[1100];
    (void)state;
    record_start();
    nest(3);
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    snprintf(path, sizeof path, "%s/trace.pftrace", dir);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(spans_of_many_threads_are_in_the_trace, record_close),
        cmocka_unit_test_teardown(what_a_span_is_more_than_its_times_is_told, record_close),
        cmocka_unit_test_teardown(names_may_hold_anything, record_close),
        cmocka_unit_test_teardown(moments_values_and_flows_are_told, record_close),
        cmocka_unit_test_teardown(only_the_steps_asked_for_are_in_the_trace, record_close),
        cmocka_unit_test_teardown(a_stack_has_a_bound_and_says_when_it_is_cut, record_close),
        cmocka_unit_test_teardown(the_newest_records_are_kept_when_asked_for, record_close),
        cmocka_unit_test_teardown(a_wish_while_a_piece_is_written_makes_one_more, record_close),
        cmocka_unit_test_teardown(a_signal_keeps_them, record_close),
        cmocka_unit_test_teardown(a_slow_span_keeps_them, record_close),
        cmocka_unit_test_teardown(keeping_needs_ring_mode, record_close),
        cmocka_unit_test_teardown(rules_are_read_or_refused, record_close),
        cmocka_unit_test_teardown(the_file_stops_at_its_bound_and_statistics_do_not, record_close),
        cmocka_unit_test_teardown(ended_threads_hand_on_their_sequences, record_close),
        cmocka_unit_test_teardown(a_run_after_another_has_a_trace_of_its_own, record_close),
        cmocka_unit_test_teardown(what_is_open_may_outlive_a_traced_run, record_close),
        cmocka_unit_test_teardown(without_a_request_there_is_no_trace, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
