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
        cmocka_unit_test(without_a_request_there_is_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
