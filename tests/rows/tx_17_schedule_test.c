/* TX-17: a profile by schedule: of five steps the first waits, the second warms up, three are
 * active: the trace and the table have those three, whole, whatever the warm-up skip takes from the
 * statistics; memory over the run is written with them. Active steps may repeat.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor_fixture.h"

#include "record_region.h"

static void loop(int n)
{
    static char block[64];
    for (PLUMB_STEPS (step, n)) {
        PLUMB_SPAN("process");
        plumb_mem_alloc("cpu", "pool", block, 1000 * (uint64_t)(step + 1));
        if (step == 3)
            plumb_checkpoint("active"); /* a point of the history */
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

/* Runs of `name` in the table; 0: it has no such row. */
static uint64_t in_table(const char *dir, const char *name)
{
    char path[1200], line[400], node[64];
    unsigned long long count, found = 0;
    FILE *file;
    snprintf(path, sizeof path, "%s/summary_rank0.txt", dir);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %llu ", node, &count) == 2 && strcmp(node, name) == 0)
            found += count;
    fclose(file);
    return found;
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
    assert_int_equal(in_table(dir, "process"), 3);
    assert_int_equal(in_table(dir, "kernel"), 6);
    assert_int_equal(in_table(dir, "setup"), 0);
    assert_true(grep("\"name\":\"kernel\".*\"count\":6", dir, "summary_rank0.json"));
    assert_true(grep("steps 2-4", dir, "summary_rank0.txt"));
    assert_true(grep("\"pool\": \"pool\"", dir, "timing.json"));
    assert_true(grep("\"series\"", dir, "timing.json"));
    assert_true(grep("{\"at_ns\": [0-9]*, \"rss_bytes\": [1-9][0-9]*}", dir, "memory_rank0.json"));
    assert_true(grep("\"device\": \"cpu\", \"pool\": \"pool\", \"allocated_bytes\": 4000", dir,
                     "memory_rank0.json"));
}

static void of_many_iterations_a_few_are_chosen(void **state)
{
    char dir[1024];
    struct trace_read t;
    (void)state;
    run_with("2-4, 150", 200, &t, dir);
    assert_int_equal(trace_count(&t, "process"), 4);
    assert_int_equal(t.whole, 12);
    assert_int_equal(in_table(dir, "process"), 4);
    assert_int_equal(in_table(dir, "kernel"), 8);
    assert_int_equal(in_table(dir, "setup"), 0);
    trace_fini(&t);
}

static void cycles_repeat(void **state)
{
    char dir[1024];
    struct trace_read t;
    (void)state;
    run_with("2-4, 7-9, 12-14", 200, &t, dir);
    assert_int_equal(trace_count(&t, "process"), 9);
    assert_int_equal(in_table(dir, "process"), 9);
    assert_int_equal(in_table(dir, "kernel"), 18);
    trace_fini(&t);
}

/* A span counts to the step that it began in, in the table as in the trace. */
static void spans_around_and_across_steps(void **state)
{
    char dir[1024];
    struct trace_read t;
    plumb_options o = traced_options();
    (void)state;
    o.trace_steps = "1";
    record_start_with(o);
    {
        PLUMB_SPAN("around");
        plumb_scope step = plumb_step_begin(0);
        plumb_span across = plumb_begin_node(plumb_node_get("into"));
        region_spans("before", 100);
        plumb_scope active = plumb_step_begin(1);
        plumb_end(across);
        {
            PLUMB_SPAN_AS(failing, "failing");
            plumb_span_fail(failing, "made to fail");
        }
        plumb_record_ns(plumb_node_get("sample"), 1000);
        plumb_record_device_ns(plumb_node_get("device"), 2000);
        across = plumb_begin_node(plumb_node_get("out_of"));
        region_spans("inside", 100);
        plumb_scope_end(active);
        plumb_record_ns(plumb_node_get("sample"), 1000);
        plumb_end(across);
        plumb_scope_end(step);
        region_spans("after", 100);
    }
    assert_int_equal(plumb_run_dir(dir, 1024, NULL), PLUMB_OK);
    traced_finish(&t);
    assert_int_equal(trace_count(&t, "inside"), 100);
    assert_int_equal(trace_count(&t, "out_of"), 1);
    assert_int_equal(trace_count(&t, "into"), 0);
    assert_int_equal(in_table(dir, "inside"), 100);
    assert_int_equal(in_table(dir, "out_of"), 1);
    assert_int_equal(in_table(dir, "sample"), 1);
    assert_int_equal(in_table(dir, "device"), 1);
    assert_int_equal(in_table(dir, "into") + in_table(dir, "around") + in_table(dir, "failing"), 0);
    assert_int_equal(in_table(dir, "before") + in_table(dir, "after"), 0);
    trace_fini(&t);
}

/* Shapes of inputs are those of the active steps too. */
static void shapes_are_of_active_steps(void **state)
{
    plumb_options o = traced_options();
    float data[8] = {0};
    char dir[1024];
    struct trace_read t;
    (void)state;
    o.trace_steps = "2-4";
    o.skip_first_n = 2;
    record_start_with(o);
    for (PLUMB_STEPS (step, 20)) {
        PLUMB_STAGE(stage, "shaped");
        struct fixture_tensor x;
        plumb_stage_input(stage, "x", fixture_tensor(&x, data, "float32", DIMS(1 + step / 3)));
    }
    assert_int_equal(plumb_run_dir(dir, 1024, NULL), PLUMB_OK);
    traced_finish(&t);
    assert_true(grep("\"shapes\":\"\\[\\[1\\]\\]\".*\"count\":1}", dir, "summary_rank0.json"));
    assert_true(grep("\"shapes\":\"\\[\\[2\\]\\]\".*\"count\":2}", dir, "summary_rank0.json"));
    assert_false(grep("\"shapes\":\"\\[\\[3\\]\\]\"", dir, "summary_rank0.json"));
    trace_fini(&t);
}

static void a_list_that_is_none_leaves_every_step(void **state)
{
    char dir[1024];
    struct trace_read t;
    (void)state;
    run_with("two", 5, &t, dir);
    assert_int_equal(t.whole, 5 * 3 + 3);
    assert_int_equal(in_table(dir, "kernel"), 10 - 2); /* the warm-up skip holds */
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_active_steps_are_in_the_trace),
        cmocka_unit_test(of_many_iterations_a_few_are_chosen),
        cmocka_unit_test(cycles_repeat),
        cmocka_unit_test(spans_around_and_across_steps),
        cmocka_unit_test(shapes_are_of_active_steps),
        cmocka_unit_test(a_list_that_is_none_leaves_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
