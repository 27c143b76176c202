/* TX-17: a profile by schedule: of five steps the first waits, the second warms up, three are
 * active: the trace and the table have those three, and memory over the run is written with them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_region.h"

static void loop(int n)
{
    static char block[64];
    for (PLUMB_STEPS (step, n)) {
        PLUMB_SPAN("process");
        plumb_mem_alloc("cpu", "pool", block, 1000 * (uint64_t)(step + 1));
        region_spans("kernel", 2);
        plumb_mem_free("cpu", "pool", block, 0);
    }
}

static bool grep(const char *pattern, const char *dir, const char *file)
{
    char command[1400];
    snprintf(command, sizeof command, "grep -q '%s' '%s/%s'", pattern, dir, file);
    return system(command) == 0;
}

static void run_with(const char *steps, int n, struct trace_read *t, char dir[1024])
{
    plumb_options o = traced_options();
    o.trace_steps = steps;
    o.skip_first_n = 2;
    record_start_with(o);
    region_spans("setup", 3);
    loop(n);
    assert_int_equal(record_count("process"), n - 2);
    assert_int_equal(plumb_run_dir(dir, 1024, NULL), PLUMB_OK);
    traced_finish(t);
}

static void the_active_steps_are_in_the_trace(void **state)
{
    char dir[1024], step[32];
    struct trace_read t;
    (void)state;
    run_with("2-4", 5, &t, dir);
    assert_int_equal(trace_count(&t, "process"), 3);
    assert_int_equal(trace_count(&t, "kernel"), 6);
    assert_int_equal(t.whole, 9);
    for (int i = 0; i < 3; i++) {
        snprintf(step, sizeof step, "step=%d", 2 + i);
        assert_non_null(strstr(trace_find(&t, "process", (size_t)i)->more, step));
    }
    trace_fini(&t);
    assert_true(grep("process", dir, "summary_rank0.txt"));
    assert_true(grep("\"pool\": \"pool\"", dir, "timing.json"));
    assert_true(grep("\"series\"", dir, "timing.json"));
}

static void of_many_iterations_a_few_are_chosen(void **state)
{
    char dir[1024];
    struct trace_read t;
    (void)state;
    run_with("2-4, 150", 200, &t, dir);
    assert_int_equal(trace_count(&t, "process"), 4);
    assert_int_equal(t.whole, 12);
    trace_fini(&t);
}

static void a_list_that_is_none_leaves_every_step(void **state)
{
    char dir[1024];
    struct trace_read t;
    (void)state;
    run_with("two", 5, &t, dir);
    assert_int_equal(t.whole, 5 * 3 + 3);
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_active_steps_are_in_the_trace),
        cmocka_unit_test(of_many_iterations_a_few_are_chosen),
        cmocka_unit_test(a_list_that_is_none_leaves_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
