/* A trace that is switched on and off while threads record. Of each window every span that began
 * and ended between the two calls is whole in its file, or counted as dropped, and none is there
 * twice; spans that were open before are there with their begin; the rows of the run are those of a
 * run without a trace. TEST_WINDOWS is the number of windows of the large test instead of 200.
 * ThreadSanitizer sees the rest. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/trace/switch.h"
#include "record_timing.h"
#include "record_trace.h"
#include "runtime/child.h"
#include "trace_ends.h"
#include <plumb/read/trace.h>

enum { RECORDERS = 8, WINDOWS = 200, ROUNDS = 3 };

static uint32_t over;
static struct {
    _Alignas(64) uint64_t begun, ended; /* by its only writer */
} done[RECORDERS];
static uint64_t short_threads;

static bool is_over(void)
{
    return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

/* Span number i of the thread, with a span inside. */
static void *recorder(void *arg)
{
    intptr_t who = (intptr_t)arg;
    char name[16];
    plumb_node work;
    snprintf(name, sizeof name, "work.%c", (int)('a' + who));
    work = plumb_node_get(name);
    PLUMB_SPAN("thread");
    for (uint64_t i = 1; !is_over(); i++) {
        __atomic_store_n(&done[who].begun, i, __ATOMIC_SEQ_CST);
        {
            plumb_span span = plumb_begin_node(work);
            plumb_arg_i64(span, "i", (int64_t)i);
            {
                PLUMB_SPAN("inner");
            }
            plumb_end(span);
        }
        __atomic_store_n(&done[who].ended, i, __ATOMIC_SEQ_CST);
        sched_yield();
    }
    return NULL;
}

static void *short_thread(void *arg)
{
    PLUMB_SPAN("short");
    return arg;
}

static void *maker(void *arg)
{
    while (!is_over()) {
        pthread_t t;
        if (pthread_create(&t, NULL, short_thread, NULL) == 0) {
            pthread_join(t, NULL);
            short_threads++;
        }
        sched_yield();
    }
    return arg;
}

static void switch_on(const struct plumb_trace_window *w, char path[1200])
{
    plumb_error err = {0, ""};
    if (plumb_trace_switch_on(w, path, 1200, &err) < 0)
        fail_msg("on: %s", err.message);
    /* A window of some time may be over by now. */
    assert_true((w && w->for_ns) || plumb_trace_window_is_on());
}

static void switch_off(char path[1200])
{
    plumb_error err = {0, ""};
    if (plumb_trace_switch_off(path, 1200, &err) < 0)
        fail_msg("off: %s", err.message);
    assert_false(plumb_trace_window_is_on());
}

static void await_rounds(void)
{
    for (int i = 0; i < RECORDERS; i++) {
        uint64_t from = __atomic_load_n(&done[i].ended, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&done[i].ended, __ATOMIC_SEQ_CST) - from < ROUNDS)
            sched_yield();
    }
}

struct seen {
    uint64_t whole, missing;
};

/* Spans `from` to `to` of the thread; those before and after may be there, each once. */
static void look_at_thread(struct seen *out, const struct trace_read *t, int who, uint64_t from,
                           uint64_t to)
{
    uint64_t next = 0;
    char name[16];
    snprintf(name, sizeof name, "work.%c", 'a' + who);
    for (size_t k = 0; k < t->count; k++) {
        const struct trace_slice *s = &t->slices[k];
        const char *at = strstr(s->last, "i=");
        uint64_t i;
        if (strcmp(s->name, name) != 0 || s->end == UINT64_MAX || strstr(s->last, "cut=true"))
            continue;
        out->whole++;
        if (!at)
            continue; /* its begin, and the argument, came before the window */
        i = strtoull(at + 2, NULL, 10);
        assert_true(i > next); /* in order, and none twice */
        if (i >= from && i <= to)
            out->missing -= 1;
        next = i;
    }
    out->missing += to >= from ? to - from + 1 : 0;
}

static void a_reader_takes(const char *path)
{
    plumb_trace *trace = NULL;
    plumb_error err = {0, ""};
    if (plumb_trace_open(&trace, path, &err) < 0)
        fail_msg("%s", err.message);
    plumb_trace_close(trace);
}

/* Returns the spans of the threads that the file has whole. */
static uint64_t one_window(uint64_t *missing)
{
    uint64_t from[RECORDERS], to[RECORDERS];
    struct seen seen = {0, 0};
    struct trace_read t;
    char path[1200];
    switch_on(NULL, path);
    for (int i = 0; i < RECORDERS; i++)
        from[i] = __atomic_load_n(&done[i].begun, __ATOMIC_SEQ_CST) + 1;
    await_rounds();
    for (int i = 0; i < RECORDERS; i++)
        to[i] = __atomic_load_n(&done[i].ended, __ATOMIC_SEQ_CST);
    switch_off(path);
    trace_read_file(&t, path);
    for (int i = 0; i < RECORDERS; i++)
        look_at_thread(&seen, &t, i, from[i], to[i]);
    assert_true(trace_count(&t, "thread") >= RECORDERS);
    assert_true(trace_tally_of(&t, "thread").open >= RECORDERS || seen.missing);
    *missing += seen.missing;
    trace_fini(&t);
    a_reader_takes(path);
    unlink(path);
    return seen.whole;
}

static plumb_options options_in(const char *dir)
{
    plumb_options o = plumb_options_default();
    o.run_dir = dir;
    return o;
}

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void every_span_of_a_window_is_in_it_or_counted(void **state)
{
    const char *asked = getenv("TEST_WINDOWS");
    int windows = asked ? atoi(asked) : WINDOWS, descriptors;
    uint64_t missing = 0, whole = 0, dropped = 0, untraced = 0, in_files = 0;
    pthread_t threads[RECORDERS], other;
    struct plumb_timing timing;
    (void)state;
    record_start_with(options_in("many"));
    for (intptr_t i = 0; i < RECORDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, recorder, (void *)i), 0);
    assert_int_equal(pthread_create(&other, NULL, maker, NULL), 0);
    await_rounds();
    descriptors = open_descriptors();
    for (int i = 0; i < windows; i++)
        whole += one_window(&missing);
    assert_int_equal(open_descriptors(), descriptors);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(other, NULL);
    record_finish(&timing);
    for (int i = 0; i < RECORDERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "work.%c", 'a' + i);
        assert_int_equal(timing_node(&timing, NULL, name)->host.ns.count, done[i].ended);
    }
    assert_int_equal(timing_node(&timing, NULL, "short")->host.ns.count, short_threads);
    assert_int_equal(timing_node(&timing, NULL, "thread")->host.ns.count, RECORDERS);
    assert_int_equal(timing.windows_all, windows);
    assert_null(timing.trace.end);
    for (size_t i = 0; i < timing.window_count; i++) {
        assert_string_equal(timing.windows[i].end, "complete");
        assert_int_equal(timing.windows[i].threads_left_out, 0);
        assert_true(timing.windows[i].to_ns >= timing.windows[i].from_ns);
        dropped += timing.windows[i].dropped;
        in_files += timing.windows[i].spans;
    }
    for (size_t i = 0; i < timing.node_count; i++)
        untraced += timing.nodes[i].untraced;
    assert_int_equal(untraced, dropped);
    assert_true(missing <= dropped);
    assert_true(in_files >= whole && whole > 0);
    plumb_timing_fini(&timing);
}

/* ---- One thread, exactly --------------------------------------------------------------------- */

static void windows_show_what_is_open_and_nothing_else(void **state)
{
    struct trace_read t;
    struct plumb_timing timing;
    char path[1200];
    (void)state;
    record_start_with(options_in("exact"));
    PLUMB_SPAN_AS(outer, "outer");
    {
        PLUMB_SPAN("before");
    }
    PLUMB_SPAN_AS(open, "open");
    {
        PLUMB_SPAN("before");
    }
    switch_on(NULL, path);
    {
        PLUMB_SPAN("inside");
    }
    plumb_end(open);
    PLUMB_SPAN_AS(last, "last");
    switch_off(path);
    {
        PLUMB_SPAN("after");
    }
    plumb_end(last);
    trace_read_file(&t, path);
    assert_int_equal(trace_count(&t, "before"), 0);
    assert_int_equal(trace_count(&t, "after"), 0);
    assert_int_equal(trace_tally_of(&t, "inside").whole, 1);
    assert_int_equal(trace_tally_of(&t, "open").whole, 1);
    assert_int_equal(trace_tally_of(&t, "outer").open, 1);
    assert_int_equal(trace_tally_of(&t, "last").open, 1);
    assert_string_equal(trace_parent(&t, trace_find(&t, "inside", 0)), "open");
    assert_string_equal(trace_parent(&t, trace_find(&t, "last", 0)), "outer");
    assert_true(trace_find(&t, "outer", 0)->begin <= trace_find(&t, "open", 0)->begin);
    assert_true(trace_says(&t, "key=plumb.trace_end text=complete"));
    trace_fini(&t);
    /* A second one, in which the thread does nothing. */
    switch_on(NULL, path);
    switch_off(path);
    assert_non_null(strstr(path, "exact/trace-2.pftrace"));
    trace_read_file(&t, path);
    assert_int_equal(trace_tally_of(&t, "outer").open, 1);
    assert_int_equal(t.whole, 0);
    trace_fini(&t);
    plumb_end(outer);
    record_finish(&timing);
    assert_int_equal(timing.window_count, 2);
    assert_string_equal(timing.windows[0].file, "trace-1.pftrace");
    assert_int_equal(timing.windows[0].spans, 2);
    assert_int_equal(timing.windows[0].dropped, 0);
    plumb_timing_fini(&timing);
}

static void a_window_may_be_kept_to_regions_and_nodes(void **state)
{
    struct plumb_trace_window w = {.regions = "my_part", .nodes = "in*"};
    struct trace_read t;
    plumb_error err = {0, ""};
    char path[1200];
    (void)state;
    assert_int_equal(plumb_region_register("my_part", "a test's", &err), PLUMB_OK);
    record_start_with(options_in("parts"));
    for (int kind = 0; kind < 3; kind++) {
        w.regions = kind == 1 ? NULL : "my_part";
        w.nodes = kind == 0 ? NULL : "in*";
        switch_on(&w, path);
        {
            PLUMB_SPAN("outside");
        }
        {
            PLUMB_SPAN("inner");
        }
        {
            PLUMB_REGION("my_part");
            PLUMB_SPAN("other");
            PLUMB_SPAN("inside");
        }
        switch_off(path);
        trace_read_file(&t, path);
        assert_int_equal(trace_count(&t, "outside"), 0);
        assert_int_equal(trace_count(&t, "inner"), kind == 1);
        assert_int_equal(trace_count(&t, "other"), kind == 0);
        assert_int_equal(trace_count(&t, "inside"), 1);
        trace_fini(&t);
    }
    w.regions = "my_prat";
    assert_int_equal(plumb_trace_switch_on(&w, path, sizeof path, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "did you mean 'my_part'"));
    record_stop();
}

static void await_end_of_window(void)
{
    while (plumb_trace_window_is_on())
        sched_yield();
}

static void a_window_ends_after_its_time_or_its_steps(void **state)
{
    struct plumb_trace_window w = {.for_ns = 1000000};
    struct trace_read t;
    plumb_error err = {0, ""};
    char path[1200], again[1200];
    (void)state;
    record_start_with(options_in("limits"));
    switch_on(&w, path);
    await_end_of_window();
    assert_int_equal(plumb_trace_switch_off(again, sizeof again, &err), PLUMB_OK);
    assert_string_equal(again, path);
    assert_int_equal(plumb_trace_switch_off(again, sizeof again, &err), PLUMB_ERR_STATE);
    w = (struct plumb_trace_window){.steps = 2};
    switch_on(&w, path);
    for (int i = 7; i < 9; i++) {
        PLUMB_STEP(i);
        PLUMB_SPAN("stepped");
        assert_true(plumb_trace_window_is_on());
    }
    await_end_of_window();
    for (int i = 9; i < 12; i++) {
        PLUMB_STEP(i);
        PLUMB_SPAN("stepped");
    }
    trace_read_file(&t, path);
    assert_int_equal(trace_tally_of(&t, "stepped").whole, 2);
    trace_fini(&t);
    record_stop();
}

static void *step_seven(void *arg)
{
    PLUMB_STEP(7);
    {
        PLUMB_SPAN("in step 7");
    }
    return arg;
}

/* Threads that set the same step, one after the other: it is one step. */
static void a_step_of_several_threads_counts_once(void **state)
{
    struct plumb_trace_window w = {.steps = 2};
    pthread_t thread;
    char path[1200];
    (void)state;
    record_start_with(options_in("shared"));
    switch_on(&w, path);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread, NULL, step_seven, NULL), 0);
        pthread_join(thread, NULL);
        assert_false(plumb_trace_steps_over());
    }
    assert_true(plumb_trace_window_is_on());
    switch_off(path);
    record_stop();
}

/* A server's requests have their steps from 0 on, each. */
static void steps_that_begin_again_at_0_are_counted(void **state)
{
    struct plumb_trace_window w = {.steps = 7};
    uint64_t begun = 0;
    char path[1200];
    (void)state;
    record_start_with(options_in("again"));
    for (int kind = 0; kind < 3; kind++) {
        int n = kind == 2 ? 1 : 3;
        begun = 0;
        /* In the middle of a request, the second time. */
        for (PLUMB_STEPS (before, kind == 1 ? 3 : 0)) {
            if (before == 2)
                switch_on(&w, path);
        }
        if (kind != 1)
            switch_on(&w, path);
        while (!plumb_trace_steps_over() && plumb_trace_window_is_on() && begun < 100)
            for (PLUMB_STEPS (step, n))
                begun += !plumb_trace_steps_over() && plumb_trace_window_is_on();
        assert_int_equal(begun, 7);
        await_end_of_window();
    }
    record_stop();
}

/* The step that ends the window is the last counted one itself, not what is inside of it. */
static void a_step_inside_of_the_last_one_does_not_end_it(void **state)
{
    struct plumb_trace_window w = {.steps = 2};
    char path[1200];
    (void)state;
    record_start_with(options_in("inside"));
    switch_on(&w, path);
    {
        PLUMB_STEP(40);
    }
    {
        PLUMB_STEP(41);
        for (PLUMB_STEPS (inner, 3))
            assert_true(plumb_trace_window_is_on());
        {
            PLUMB_STEP(99);
        }
        assert_false(plumb_trace_steps_over());
    }
    await_end_of_window();
    record_stop();
}

static void what_cannot_be_is_refused(void **state)
{
    struct plumb_trace_window w = {.path = "relative.pftrace"};
    plumb_options o = options_in("refused");
    plumb_error err = {0, ""};
    char path[1200], small[4];
    (void)state;
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_ERR_STATE);
    record_start_with(o);
    assert_int_equal(plumb_trace_switch_off(path, sizeof path, &err), PLUMB_ERR_STATE);
    assert_int_equal(plumb_trace_switch_on(&w, path, sizeof path, &err), PLUMB_ERR_ARG);
    assert_int_equal(plumb_trace_switch_on(NULL, small, sizeof small, &err), PLUMB_ERR_ARG);
    assert_false(plumb_trace_window_is_on());
    w.path = "/nowhere/at/all.pftrace";
    assert_int_equal(plumb_trace_switch_on(&w, path, sizeof path, &err), PLUMB_ERR_IO);
    switch_on(NULL, path);
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_ERR_STATE);
    assert_int_equal(plumb_trace_keep_now("x", path, sizeof path, &err), PLUMB_ERR_STATE);
    record_stop(); /* in the middle of the window */
    assert_false(plumb_trace_window_is_on());
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_ERR_STATE);
    o.run_dir = "traced";
    o.trace = PLUMB_ON;
    record_start_with(o);
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_ERR_STATE);
    record_stop();
}

static void the_end_of_a_run_ends_its_window(void **state)
{
    struct plumb_timing timing;
    struct trace_read t;
    char path[1200];
    (void)state;
    record_start_with(options_in("stopped"));
    switch_on(NULL, path);
    for (int i = 0; i < 1000; i++) {
        PLUMB_SPAN("work");
    }
    record_finish(&timing);
    trace_read_file(&t, path);
    assert_int_equal(trace_tally_of(&t, "work").whole, 1000);
    trace_fini(&t);
    assert_int_equal(timing.window_count, 1);
    assert_string_equal(timing.windows[0].end, "complete");
    assert_int_equal(timing.windows[0].spans, 1000);
    plumb_timing_fini(&timing);
}

static void a_ring_is_kept_at_once(void **state)
{
    plumb_options o = options_in("ring");
    struct trace_read t;
    plumb_error err = {0, ""};
    char path[1200];
    (void)state;
    o.trace = PLUMB_ON;
    o.trace_mode = PLUMB_TRACE_RING;
    record_start_with(o);
    {
        PLUMB_SPAN("kept");
    }
    if (plumb_trace_keep_now("now", path, sizeof path, &err) < 0)
        fail_msg("%s", err.message);
    trace_read_file(&t, path);
    assert_int_equal(trace_tally_of(&t, "kept").whole, 1);
    trace_fini(&t);
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_ERR_STATE);
    record_stop();
}

/* ---- What ends badly ------------------------------------------------------------------------- */

static void a_file_that_is_full_loses_spans_that_are_counted(void **state)
{
    struct plumb_trace_window w = {.max_bytes = 65536};
    struct plumb_timing timing;
    struct trace_read t;
    plumb_error err = {0, ""};
    char path[1200];
    struct trace_tally whole;
    (void)state;
    record_start_with(options_in("bound"));
    switch_on(&w, path);
    for (int i = 0; i < 100000; i++) {
        PLUMB_SPAN("work");
    }
    assert_int_equal(plumb_trace_switch_off(path, sizeof path, &err), PLUMB_ERR_IO);
    trace_read_file(&t, path);
    whole = trace_tally_of(&t, "work");
    trace_fini(&t);
    /* The next one begins with nothing of this. */
    w.max_bytes = 0;
    switch_on(&w, path);
    {
        PLUMB_SPAN("work");
    }
    switch_off(path);
    trace_read_file(&t, path);
    assert_int_equal(trace_tally_of(&t, "work").whole, 1);
    assert_int_equal(trace_check_losses(&t), 0);
    trace_fini(&t);
    record_finish(&timing);
    assert_int_equal(timing.windows[0].spans, whole.whole);
    assert_int_equal(timing.windows[0].spans + timing.windows[0].dropped, 100000);
    assert_int_equal(timing.windows[1].dropped, 0);
    assert_int_equal(timing_node(&timing, NULL, "work")->untraced, timing.windows[0].dropped);
    plumb_timing_fini(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(windows_show_what_is_open_and_nothing_else, record_close),
        cmocka_unit_test_teardown(a_window_may_be_kept_to_regions_and_nodes, record_close),
        cmocka_unit_test_teardown(a_window_ends_after_its_time_or_its_steps, record_close),
        cmocka_unit_test_teardown(a_step_of_several_threads_counts_once, record_close),
        cmocka_unit_test_teardown(steps_that_begin_again_at_0_are_counted, record_close),
        cmocka_unit_test_teardown(a_step_inside_of_the_last_one_does_not_end_it, record_close),
        cmocka_unit_test_teardown(what_cannot_be_is_refused, record_close),
        cmocka_unit_test_teardown(the_end_of_a_run_ends_its_window, record_close),
        cmocka_unit_test_teardown(a_ring_is_kept_at_once, record_close),
        cmocka_unit_test_teardown(a_file_that_is_full_loses_spans_that_are_counted, record_close),
        cmocka_unit_test(every_span_of_a_window_is_in_it_or_counted),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
