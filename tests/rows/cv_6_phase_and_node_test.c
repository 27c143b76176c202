/* CV-6: the key is (phase, node): the same node in two phases has two rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

static void frame(void)
{
    {
        PLUMB_SPAN("a");
    }
    {
        PLUMB_SPAN("b");
    }
}

static void two_nodes_in_two_phases_are_four_rows_and_a_filter_gives_two(void **state)
{
    plumb_rows *rows;
    (void)state;
    for (int i = 0; i < 3; i++) {
        PLUMB_PHASE("train");
        frame();
    }
    for (int i = 0; i < 2; i++) {
        PLUMB_PHASE("val");
        frame();
    }
    rows = record_rows(NULL, NULL);
    assert_int_equal(plumb_rows_count(rows), 4);
    assert_int_equal(record_find(rows, "train", "a")->count, 3);
    assert_int_equal(record_find(rows, "train", "b")->count, 3);
    assert_int_equal(record_find(rows, "val", "a")->count, 2);
    assert_int_equal(record_find(rows, "val", "b")->count, 2);
    plumb_rows_free(rows);
    rows = record_rows(NULL, "val");
    assert_int_equal(plumb_rows_count(rows), 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(plumb_rows_get(rows, i)->phase, "val");
    plumb_rows_free(rows);
}

static void the_phase_is_inference_unless_said_and_comes_back(void **state)
{
    (void)state;
    frame();
    {
        PLUMB_PHASE("train");
        frame();
        {
            PLUMB_PHASE("my own phase");
            frame();
        }
        frame();
    }
    frame();
    assert_int_equal(record_row_of(NULL, "inference", "a").count, 2);
    assert_int_equal(record_row_of(NULL, "train", "a").count, 2);
    assert_int_equal(record_row_of(NULL, "my own phase", "a").count, 1);
}

static void an_unknown_phase_gives_no_rows(void **state)
{
    plumb_rows *rows;
    (void)state;
    frame();
    rows = record_rows(NULL, "no such phase");
    assert_int_equal(plumb_rows_count(rows), 0);
    plumb_rows_free(rows);
}

static void a_span_belongs_to_the_phase_of_its_begin(void **state)
{
    PLUMB_POINT(point, "long");
    plumb_span span = plumb_begin(&point);
    plumb_scope phase = plumb_phase_begin("train");
    (void)state;
    plumb_end(span);
    plumb_scope_end(phase);
    assert_int_equal(record_row_of(NULL, "inference", "long").count, 1);
    assert_null(record_row_of(NULL, "train", "long").node);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(two_nodes_in_two_phases_are_four_rows_and_a_filter_gives_two),
        IN_A_RUN(the_phase_is_inference_unless_said_and_comes_back),
        IN_A_RUN(an_unknown_phase_gives_no_rows),
        IN_A_RUN(a_span_belongs_to_the_phase_of_its_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
