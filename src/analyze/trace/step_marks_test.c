/* Steps that other slices mark: slices inside a mark, launched from it, or at the same time on
 * another thread belong to its step. A slice whose step cannot be known belongs to none. */
#include "analyze/trace/step_marks.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/trace/spans.h"

enum { NONE = -1 };

static struct plumb_table t;
static struct plumb_step_marks marks;
static plumb_error err;

static uint32_t id(const char *text)
{
    return plumb_table_string(&t, text, strlen(text));
}

static int start(void **state)
{
    (void)state;
    return plumb_table_init(&t, &err);
}

static int stop(void **state)
{
    (void)state;
    plumb_step_marks_fini(&marks);
    plumb_table_fini(&t);
    return 0;
}

static uint32_t track_of(int64_t pid, uint64_t uuid)
{
    uint32_t process = plumb_table_track(&t, 1000 + (uint64_t)pid);
    t.tracks[process].kind = PLUMB_TRACK_PROCESS;
    uint32_t track = plumb_table_track(&t, uuid);
    t.tracks[track].parent = process;
    return track;
}

static uint32_t add(uint32_t track, int64_t from, int64_t to, const char *name)
{
    return plumb_table_complete(&t, track, from, (uint64_t)(to - from), id(name), 0);
}

static void finish(void)
{
    assert_int_equal(plumb_table_finish(&t, &err), PLUMB_OK);
    assert_int_equal(plumb_step_marks_init(&marks, &t, &err), PLUMB_OK);
}

/* Of the only slice of that name. */
static void assert_step(const char *name, int64_t want)
{
    uint32_t text = plumb_strings_find(&t.strings, name);
    for (uint32_t i = 0; i < t.slices.count; i++) {
        int64_t step = NONE;
        if (t.slices.name[i] != text)
            continue;
        bool has = plumb_step_of(&marks, i, &step);
        if (has != (want != NONE) || step != want)
            fail_msg("'%s' is of step %lld", name, (long long)step);
        return;
    }
    fail_msg("no slice is called '%s'", name);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void a_mark_holds_for_what_runs_inside_it(void **state)
{
    uint32_t track = track_of(1, 1);
    (void)state;
    add(track, 0, 10, "ProfilerStep#41");
    add(track, 1, 9, "op");
    uint32_t told = add(track, 2, 8, "told");
    plumb_table_add_arg(&t, told, id("step"), PLUMB_ARG_I64, (union plumb_table_number){.i64 = 7});
    add(track, 3, 4, "inside told");
    add(track, 11, 12, "between");
    add(track, 13, 20, "ProfilerStep#42");
    add(track, 20, 21, "behind");
    finish();
    assert_step("ProfilerStep#41", 41);
    assert_step("op", 41);
    assert_step("told", 7);
    assert_step("inside told", 41); /* in traces of others "step" says nothing of what is inside */
    assert_step("between", NONE);
    assert_step("ProfilerStep#42", 42);
    assert_step("behind", NONE);
}

static void what_was_launched_in_a_step_belongs_to_it(void **state)
{
    uint32_t host = track_of(1, 1), queue = track_of(2, 2), copies;
    (void)state;
    add(host, 0, 10, "ProfilerStep#1");
    uint32_t launch = add(host, 1, 9, "launch");
    add(host, 10, 30, "ProfilerStep#2");
    copies = id("gpu_user_annotation");
    plumb_table_complete(&t, queue, 12, 30, id("ProfilerStep#2"), copies);
    uint32_t kernel = add(queue, 15, 25, "kernel");
    add(queue, 26, 27, "unlinked");
    plumb_table_add_flow(&t, launch, 5, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, kernel, 5, PLUMB_FLOW_ENDS);
    finish();
    assert_step("kernel", 1);
    assert_step("unlinked", NONE); /* of another process, and a copy marks nothing */
}

static void time_tells_where_one_track_of_a_process_has_marks(void **state)
{
    uint32_t track = track_of(1, 1), other = track_of(1, 2), stranger = track_of(2, 3);
    (void)state;
    add(track, 0, 10, "ProfilerStep#1");
    add(track, 12, 20, "ProfilerStep#2");
    add(other, 5, 15, "beside 1");
    add(other, 15, 30, "beside 2");
    add(other, 40, 41, "later");
    add(stranger, 5, 6, "another process");
    finish();
    assert_step("beside 1", 1);
    assert_step("beside 2", 2);
    assert_step("later", NONE);
    assert_step("another process", NONE);
}

static void time_tells_nothing_where_several_tracks_have_marks(void **state)
{
    uint32_t a = track_of(1, 1), b = track_of(1, 2), c = track_of(1, 3);
    (void)state;
    add(a, 0, 10, "ProfilerStep#1");
    add(b, 0, 20, "ProfilerStep#9");
    add(b, 1, 2, "inside 9");
    add(c, 5, 6, "which one");
    finish();
    assert_step("inside 9", 9);
    assert_step("which one", NONE);
}

static void names_that_only_look_like_marks_are_none(void **state)
{
    static const char *const names[] = {"ProfilerStep#",   "ProfilerStep#5x",
                                        "ProfilerStep#-1", "ProfilerStep",
                                        "aProfilerStep#1", "ProfilerStep#1234567890123456789"};
    uint32_t track = track_of(1, 1);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(track, 10 * (int64_t)i, 10 * (int64_t)i + 5, names[i]);
    finish();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_step(names[i], NONE);
}

static void marks_are_one_node_with_a_row_a_step(void **state)
{
    struct plumb_steps s;
    uint32_t track = track_of(1, 1), queue = track_of(2, 2);
    int64_t step;
    (void)state;
    add(track, 0, 10, "ProfilerStep#1");
    add(track, 10, 40, "ProfilerStep#2");
    plumb_table_complete(&t, queue, 5, 9, id("ProfilerStep#1"), id("gpu_user_annotation"));
    finish();
    assert_int_equal(plumb_steps_init(&s, &marks, &err), PLUMB_OK);
    assert_int_equal(s.node_count, 1);
    assert_int_equal(s.row_count, 2);
    assert_true(plumb_step_is_mark(&marks, s.nodes[0].name, &step));
    assert_int_equal(s.nodes[0].of.total_ns, 40);
    assert_int_equal(s.nodes[0].slowest, 2);
    assert_int_equal(s.rows[0].count, 1);
    plumb_steps_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mark_holds_for_what_runs_inside_it, start, stop),
        cmocka_unit_test_setup_teardown(what_was_launched_in_a_step_belongs_to_it, start, stop),
        cmocka_unit_test_setup_teardown(time_tells_where_one_track_of_a_process_has_marks, start,
                                        stop),
        cmocka_unit_test_setup_teardown(time_tells_nothing_where_several_tracks_have_marks, start,
                                        stop),
        cmocka_unit_test_setup_teardown(names_that_only_look_like_marks_are_none, start, stop),
        cmocka_unit_test_setup_teardown(marks_are_one_node_with_a_row_a_step, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
