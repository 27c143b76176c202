/* FV-9: the trace shows each region under its canonical name, whichever spelling was used, and
 * inside it where collection was switched on and off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_region.h"

static const char node[] = REGION_NODE "training_train_one_step";
static const char on[] = "plumb.profiler.enable_collection";
static const char off[] = "plumb.profiler.disable_collection";

static void assert_marked(const struct trace_read *t, size_t i)
{
    const struct trace_slice *region = trace_find(t, node, i);
    const struct trace_slice *begin = trace_find(t, on, i), *end = trace_find(t, off, i);
    assert_int_equal(begin->kind, TRACE_INSTANT);
    assert_int_equal(end->kind, TRACE_INSTANT);
    assert_int_equal(begin->track, region->track);
    assert_int_equal(end->track, region->track);
    assert_string_equal(trace_parent(t, begin), node);
    assert_string_equal(trace_parent(t, end), node);
    assert_true(region->begin <= begin->begin && begin->begin <= end->begin);
    assert_true(end->begin <= region->end);
}

static void every_spelling_gives_the_same_name(void **state)
{
    static const char *const spellings[] = {"training_step", "training_train_one_step",
                                            " Profiler_Region_Training_Step ",
                                            "profiler_region_training_train_one_step"};
    struct trace_read t;
    (void)state;
    region_start("training_step", PLUMB_REGION_THREAD);
    for (size_t i = 0; i < 4; i++) {
        plumb_span region = plumb_region_begin(spellings[i]);
        region_spans("inside", 1);
        plumb_region_end(region);
    }
    traced_finish(&t);
    assert_int_equal(trace_count(&t, node), 4);
    assert_int_equal(t.whole, 8);
    assert_int_equal(trace_count(&t, on), 4);
    assert_int_equal(trace_count(&t, off), 4);
    for (size_t i = 0; i < 4; i++)
        assert_marked(&t, i);
    trace_fini(&t);
}

static void a_region_of_the_program_is_marked_alike(void **state)
{
    struct trace_read t;
    (void)state;
    assert_int_equal(plumb_region_register("My_Own", NULL, NULL), PLUMB_OK);
    region_start("my_own", PLUMB_REGION_THREAD);
    {
        PLUMB_REGION("my_own");
    }
    traced_finish(&t);
    assert_int_equal(trace_count(&t, REGION_NODE "my_own"), 1);
    assert_int_equal(trace_count(&t, on), 1);
    trace_fini(&t);
}

static void one_that_is_registered_late_is_selected_from_then_on(void **state)
{
    struct trace_read t;
    (void)state;
    region_start("model_loading,late", PLUMB_REGION_THREAD);
    {
        PLUMB_REGION("late"); /* strange */
        region_spans("outside", 1);
    }
    assert_int_equal(plumb_region_register("late", NULL, NULL), PLUMB_OK);
    {
        PLUMB_REGION("late");
        region_spans("inside", 1);
    }
    traced_finish(&t);
    assert_int_equal(trace_count(&t, REGION_NODE "late"), 1);
    assert_int_equal(t.whole, 2);
    trace_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_gives_the_same_name),
        cmocka_unit_test(a_region_of_the_program_is_marked_alike),
        cmocka_unit_test(one_that_is_registered_late_is_selected_from_then_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
