/* A traced run: its spans, and all that they are more than their times, are in trace.pftrace as a
 * decoder that knows nothing of the writer reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <cmocka.h>

#include "record_timing.h"
#include "record_trace.h"

static plumb_options traced(void)
{
    plumb_options o = plumb_options_default();
    o.trace = PLUMB_ON;
    return o;
}

/* Ends the run and reads its trace. */
static void finish(struct trace_read *t)
{
    char dir[1024];
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    trace_read_run(t, dir);
}

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
    record_start_with(traced());
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, nest_main, &n), 0);
    nest(n);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    finish(&t);
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
    trace_fini(&t);
}

static void what_a_span_is_more_than_its_times_is_told(void **state)
{
    struct trace_read t;
    struct trace_slice *s;
    plumb_pipeline *other = plumb_pipeline_get("other");
    (void)state;
    record_start_with(traced());
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
    finish(&t);
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
    record_start_with(traced());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plumb_span s = plumb_begin_node(plumb_node_get(names[i]));
        plumb_arg_str(s, names[i], names[i]);
        plumb_instant(names[i]);
        plumb_end(s);
    }
    finish(&t);
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
    record_start_with(traced());
    plumb_instant("switched");
    plumb_counter("depth", 2.5);
    plumb_count("things", 3);
    plumb_count("things", 4);
    plumb_mem_alloc("cuda:0", "torch", &t, 4096); /* PLUMB_TRACE_MEMORY is off */
    plumb_context_capture(&context);
    {
        plumb_scope scope = plumb_context_adopt(&context);
        {
            PLUMB_SPAN("adopted");
        }
        plumb_scope_end(scope);
    }
    finish(&t);
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

/* Whether a trace with one more switch on has something in it that it else has not. */
static bool told_with(plumb_options o, const char *what)
{
    struct trace_read t;
    bool says;
    record_start_with(o);
    {
        PLUMB_STAGE(stage, "encode");
        plumb_stage_input_value(stage, "n", plumb_value_i64(42));
        plumb_arg_i64(stage, "flops", 1000);
        plumb_mem_alloc("cuda:0", "torch", &t, 4096);
        plumb_mem_free("cuda:0", "torch", &t, 4096);
    }
    finish(&t);
    says = trace_says(&t, what);
    trace_fini(&t);
    return says;
}

static void each_switch_adds_exactly_its_data(void **state)
{
    static const char *const marks[] = {"input.n=42", "name=memory cuda:0 torch allocated",
                                        "flops=1000", "stack.0="};
    (void)state;
    for (size_t on = 0; on < 5; on++)
        for (size_t looked = 0; looked < 4; looked++) {
            plumb_options o = traced();
            o.trace_shapes = on == 0 ? PLUMB_ON : PLUMB_DEFAULT;
            o.trace_memory = on == 1 ? PLUMB_ON : PLUMB_DEFAULT;
            o.trace_flops = on == 2 ? PLUMB_ON : PLUMB_DEFAULT;
            o.trace_stack = on == 3 ? PLUMB_ON : PLUMB_DEFAULT;
            if (told_with(o, marks[looked]) != (on == looked))
                fail_msg("switch %zu, '%s'", on, marks[looked]);
        }
    plumb_options o = traced();
    o.trace_flops = PLUMB_ON;
    assert_true(told_with(o, "flop_per_s="));
}

static void only_the_steps_asked_for_are_in_the_trace(void **state)
{
    struct trace_read t;
    plumb_options o = traced();
    (void)state;
    o.trace_steps = "2-3,7";
    record_start_with(o);
    for (PLUMB_STEPS (step, 10)) {
        PLUMB_SPAN("denoise_step");
        PLUMB_SPAN("block");
    }
    nest(5); /* in no step */
    assert_int_equal(record_row("denoise_step").count, 10);
    finish(&t);
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
    plumb_options o = traced();
    (void)state;
    o.trace_stack = PLUMB_ON;
    o.trace_stack_depth = 3;
    record_start_with(o);
    deep(10);
    finish(&t);
    assert_non_null(strstr(trace_find(&t, "inner", 0)->more, "stack.0=0x"));
    assert_null(strstr(trace_find(&t, "inner", 0)->more, "stack.3="));
    assert_true(trace_says(&t, "key=plumb.module.0 text="));
    assert_true(trace_says(&t, "unit.trace"));
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
        cmocka_unit_test(spans_of_many_threads_are_in_the_trace),
        cmocka_unit_test(what_a_span_is_more_than_its_times_is_told),
        cmocka_unit_test(names_may_hold_anything),
        cmocka_unit_test(moments_values_and_flows_are_told),
        cmocka_unit_test(each_switch_adds_exactly_its_data),
        cmocka_unit_test(only_the_steps_asked_for_are_in_the_trace),
        cmocka_unit_test(a_stack_has_a_bound_and_says_when_it_is_cut),
        cmocka_unit_test(without_a_request_there_is_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
