/* Tests of stage_rows.c: no two runs of a row at once, as few rows as there must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/run/stage_rows.h"
#include "timing_fixture.h"

static struct plumb_stage_rows rows_of(struct plumb_timing *t, uint32_t request)
{
    struct plumb_stage_rows l;
    struct plumb_summary_options o = {.top = 0};
    assert_int_equal(plumb_stage_rows_init(&l, t, &o, request, NULL), PLUMB_OK);
    for (size_t i = 0; i < l.count; i++)
        for (size_t k = i + 1; k < l.count; k++) {
            const struct plumb_timing_stage_run *a = l.runs[i].run;
            const struct plumb_timing_stage_run *b = l.runs[k].run;
            assert_true(a->begin_ns <= b->begin_ns);
            if (l.runs[i].row == l.runs[k].row)
                assert_true(a->begin_ns + a->duration_ns <= b->begin_ns);
            assert_true(l.runs[i].row < l.rows);
        }
    return l;
}

static void stages_inside_and_beside_others_lie_below_them(void **state)
{
    static struct plumb_timing_stage_run runs[] = {
        {1, 1, 1, 0, 10, 20, false, 0, 0, 0, 0, NULL}, /* ended first, inside the next */
        {0, 1, 0, 0, 0, 100, false, 0, 0, 0, 0, NULL},
        {1, 2, 0, 1, 50, 30, false, 0, 0, 0, 0, NULL},
        {0, 1, 0, 1, 100, 10, false, 0, 0, 0, 0, NULL},
        {1, 1, 1, 1, 100, 5, true, 0, 0, 0, 0, NULL},
    };
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    t.stage_runs = runs;
    t.stage_run_count = 5;
    struct plumb_stage_rows l = rows_of(&t, PLUMB_TIMING_NONE);
    assert_int_equal(l.count, 5);
    assert_int_equal(l.rows, 2);
    assert_int_equal(l.left_out, 0);
    assert_string_equal(l.runs[0].node->name, "frame");
    assert_int_equal(l.runs[1].row, 1);
    assert_int_equal(l.runs[3].run->duration_ns, 10);
    assert_int_equal(l.runs[3].row, 0);
    plumb_stage_rows_fini(&l);
    l = rows_of(&t, 0);
    assert_int_equal(l.count, 2);
    plumb_stage_rows_fini(&l);
    plumb_timing_fini(&t);
}

static void more_at_once_than_rows_are_counted(void **state)
{
    enum { MANY = 3 * PLUMB_STAGE_ROWS };
    struct plumb_timing t;
    (void)state;
    fixture_rich(&t);
    t.stage_runs = plumb_arena_alloc(&t.arena, MANY * sizeof *t.stage_runs);
    t.stage_run_count = MANY;
    for (uint32_t i = 0; i < MANY; i++)
        t.stage_runs[i] =
            (struct plumb_timing_stage_run){0, i, 0, 0, i, UINT64_MAX, false, 0, 0, 0, 0, NULL};
    struct plumb_stage_rows l = rows_of(&t, PLUMB_TIMING_NONE);
    assert_int_equal(l.rows, PLUMB_STAGE_ROWS);
    assert_int_equal(l.left_out, 2 * PLUMB_STAGE_ROWS);
    plumb_stage_rows_fini(&l);
    plumb_timing_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_inside_and_beside_others_lie_below_them),
        cmocka_unit_test(more_at_once_than_rows_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
