/* FV-11: block form, begin and end, and function wrapper enter a region alike, and do nothing while
 * nothing is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_region.h"

static const char node[] = "plumb.region::profiler_region_training_train_one_step";

static int calls;

static int step(int n)
{
    PLUMB_SPAN("inside");
    calls++;
    return n + 1;
}
static void quiet_step(void)
{
    step(0);
}
PLUMB_REGION_WRAP("training_step", int, step, (int n), (n));
PLUMB_REGION_WRAP_VOID("training_step", quiet_step, (void), ());

static int block_form(int n)
{
    PLUMB_REGION("training_step");
    return step(n);
}

static int begin_and_end(int n)
{
    plumb_span region = plumb_region_begin("training_step");
    n = step(n);
    plumb_region_end(region);
    return n;
}

static void assert_one_run(uint64_t before)
{
    plumb_rows *rows = record_rows(NULL, NULL);
    const plumb_row *row = record_find(rows, NULL, node);
    const plumb_row *inside = record_find(rows, NULL, "inside");
    assert_int_equal(row->count, before + 1);
    assert_int_equal(inside->count, before + 1);
    assert_true(row->total_ms >= inside->total_ms);
    plumb_rows_free(rows);
}

static void all_forms_leave_the_same_span(void **state)
{
    (void)state;
    assert_int_equal(block_form(1), 2);
    assert_one_run(0);
    assert_int_equal(begin_and_end(1), 2);
    assert_one_run(1);
    assert_int_equal(step_plumb(1), 2);
    assert_one_run(2);
    quiet_step_plumb();
    assert_one_run(3);
}

/* Everything about the slices but their times. */
static void the_forms_are_alike_in_a_trace(void **state)
{
    struct trace_read t;
    (void)state;
    region_start("training_step", PLUMB_REGION_THREAD);
    block_form(1);
    begin_and_end(1);
    step_plumb(1);
    quiet_step_plumb();
    traced_finish(&t);
    assert_int_equal(trace_count(&t, node), 4);
    assert_int_equal(trace_count(&t, "inside"), 4);
    assert_int_equal(trace_count(&t, "plumb.profiler.enable_collection"), 4);
    assert_int_equal(trace_count(&t, "plumb.profiler.disable_collection"), 4);
    assert_int_equal(t.whole, 8);
    for (size_t i = 0; i < 4; i++) {
        static const char *const names[] = {"inside", "plumb.profiler.enable_collection",
                                            "plumb.profiler.disable_collection"};
        const struct trace_slice *first = trace_find(&t, node, 0), *s = trace_find(&t, node, i);
        assert_string_equal(s->more, first->more);
        assert_string_equal(s->last, first->last);
        assert_int_equal(s->track, first->track);
        assert_int_equal(s->parent, 0);
        for (size_t k = 0; k < 3; k++)
            assert_ptr_equal(&t.slices[trace_find(&t, names[k], i)->parent - 1], s);
    }
    trace_fini(&t);
}

static void whatever_leaves_the_block_ends_the_region(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        PLUMB_REGION("model_loading");
        if (i == 1)
            continue;
        PLUMB_REGION_AS(inner, "training_step");
        plumb_span_fail(inner, "why not");
        if (i == 2)
            break;
    }
    assert_int_equal(record_count("plumb.region::profiler_region_model_loading"), 3);
    assert_int_equal(record_row(node).failures, 2);
}

static void an_outer_end_closes_what_is_open_inside(void **state)
{
    plumb_region list[64];
    plumb_span outer = plumb_region_begin("model_loading");
    plumb_span lost = plumb_region_begin("training_step");
    (void)state;
    assert_true(lost.id != 0);
    plumb_region_end(outer);
    plumb_region_end(lost); /* stale: ends nothing */
    assert_int_equal(record_count("plumb.region::profiler_region_model_loading"), 1);
    assert_int_equal(record_count(node), 0);
    block_form(1);
    assert_int_equal(record_count(node), 1);
    for (size_t i = 0, n = plumb_region_list(list, 64); i < n; i++)
        if (strcmp(list[i].short_name, "training_train_one_step") == 0)
            assert_int_equal(list[i].entered, 2);
}

static void nested_deeper_than_is_kept_they_are_spans(void **state)
{
    plumb_span regions[100];
    (void)state;
    for (int i = 0; i < 100; i++)
        regions[i] = plumb_region_begin("model_loading");
    for (int i = 100; i-- > 0;)
        plumb_region_end(regions[i]);
    assert_int_equal(record_count("plumb.region::profiler_region_model_loading"), 100);
}

static void off_they_do_nothing(void **state)
{
    (void)state;
    assert_false(plumb_is_recording());
    calls = 0;
    assert_int_equal(plumb_region_begin("training_step").id, 0);
    assert_int_equal(block_form(1) + begin_and_end(1) + step_plumb(1), 6);
    assert_int_equal(calls, 3);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_they_do_nothing),
        IN_A_RUN(all_forms_leave_the_same_span),
        cmocka_unit_test(the_forms_are_alike_in_a_trace),
        IN_A_RUN(whatever_leaves_the_block_ends_the_region),
        IN_A_RUN(an_outer_end_closes_what_is_open_inside),
        IN_A_RUN(nested_deeper_than_is_kept_they_are_spans),
        cmocka_unit_test(off_they_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
