/* Tables of a trace: events that are added in any order come out sorted, nested and closed. */
#include "read/trace/table.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"

static struct plumb_table t;
static plumb_error err;

static uint32_t id(const char *text)
{
    return plumb_table_string(&t, text, strlen(text));
}

static void start(void)
{
    assert_int_equal(plumb_table_init(&t, &err), PLUMB_OK);
}

static void finish(void)
{
    assert_int_equal(plumb_table_finish(&t, &err), PLUMB_OK);
}

/* "name@ts+dur/depth" of each slice of a track, and its flags as letters. */
static void assert_track(uint32_t track, const char *want)
{
    struct plumb_buf b = {0};
    const struct plumb_table_slices *s = &t.slices;
    plumb_buf_str(&b, "");
    for (uint32_t n = 0; n < t.tracks[track].slices.count; n++) {
        uint32_t i = t.tracks[track].slices.first + n;
        assert_int_equal(s->track[i], track);
        assert_true(s->depth[i] == 0 || s->depth[s->parent[i]] == s->depth[i] - 1);
        plumb_buf_printf(&b, "%s%s@%d+%d/%d%s%s%s", n ? " " : "", plumb_table_text(&t, s->name[i]),
                         (int)s->ts_ns[i], (int)s->dur_ns[i], (int)s->depth[i],
                         s->flags[i] & PLUMB_SLICE_OPEN ? "o" : "",
                         s->flags[i] & PLUMB_SLICE_CUT ? "c" : "",
                         s->flags[i] & PLUMB_SLICE_FAILED ? "f" : "");
    }
    assert_string_equal(b.data, want);
    plumb_buf_fini(&b);
}

static void texts_are_kept_once(void **state)
{
    (void)state;
    start();
    assert_int_equal(id(""), 0);
    uint32_t a = id("a");
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        id(name);
    }
    assert_int_equal(id("a"), a);
    assert_int_equal(plumb_table_string(&t, "ab", 1), a);
    assert_int_equal(t.strings.count, 1002);
    assert_string_equal(plumb_table_text(&t, id("name 999")), "name 999");
    assert_string_equal(plumb_table_text(&t, plumb_table_string(&t, "a\0b", 3)), "a b");
    assert_int_equal(plumb_strings_find(&t.strings, "nobody"), UINT32_MAX);
    plumb_table_fini(&t);
}

static void events_in_any_order_nest_by_time(void **state)
{
    (void)state;
    start();
    uint32_t one = plumb_table_track(&t, 77), two = plumb_table_track(&t, 78);
    assert_int_equal(plumb_table_track(&t, 77), one);
    plumb_table_end(&t, one, 90, 0);
    plumb_table_begin(&t, two, 30, id("c"), 0);
    plumb_table_begin(&t, one, -10, id("a"), 0);
    plumb_table_begin(&t, one, 40, id("b"), 0);
    plumb_table_end(&t, two, 31, 0);
    plumb_table_end(&t, one, 50, 0);
    uint32_t mark = plumb_table_instant(&t, one, 45, id("mark"), 0);
    assert_int_not_equal(mark, PLUMB_TABLE_NONE);
    finish();
    assert_track(one, "a@0+100/0 b@50+10/1");
    assert_track(two, "c@40+1/0");
    assert_int_equal(t.zero_ns, (uint64_t)-10);
    assert_int_equal(t.end_ns, 100);
    assert_int_equal(t.instants.slice[0], 1);
    assert_int_equal(plumb_table_after(&t, 0), 2);
    plumb_table_fini(&t);
}

static void what_has_no_other_half_is_flagged_and_counted(void **state)
{
    (void)state;
    start();
    uint32_t track = plumb_table_track(&t, 1);
    plumb_table_end(&t, track, 5, 0);
    plumb_table_begin(&t, track, 10, id("a"), 0);
    plumb_table_begin(&t, track, 20, id("b"), 0);
    plumb_table_begin(&t, track, 30, id("c"), 0);
    plumb_table_end(&t, track, 40, id("nobody"));
    plumb_table_end(&t, track, 50, id("b"));
    plumb_table_instant(&t, track, 105, 0, 0);
    finish();
    assert_track(track, "a@5+95/0o b@15+30/1 c@25+20/2c");
    assert_int_equal(t.tracks[track].lone_ends, 2);
    assert_int_equal(t.faults.lone_ends, 2);
    assert_int_equal(t.open, 1);
    assert_int_equal(t.cut, 1);
    plumb_table_fini(&t);
}

static void complete_slices_nest_by_length_and_move_when_they_overlap(void **state)
{
    (void)state;
    start();
    uint32_t track = plumb_table_track(&t, 1), next = plumb_table_track(&t, 2);
    plumb_table_complete(&t, track, 0, 5, id("inner"), 0);
    plumb_table_complete(&t, track, 0, 10, id("outer"), 0);
    plumb_table_complete(&t, track, 10, 4, id("next"), 0);
    plumb_table_complete(&t, track, 12, 4, id("over"), 0);
    plumb_table_complete(&t, track, 13, 5, id("more"), 0);
    plumb_table_complete(&t, next, 1, UINT64_MAX, id("long"), 0);
    finish();
    assert_track(track, "outer@0+10/0 inner@0+5/1 next@10+4/0");
    assert_int_equal(t.track_count, 4);
    assert_track(2, "over@12+4/0");
    assert_track(3, "more@13+5/0");
    assert_int_equal(t.faults.moved, 2);
    assert_int_equal(t.slices.dur_ns[t.tracks[next].slices.first], INT64_MAX - 1);
    plumb_table_fini(&t);
}

static void args_of_both_ends_are_the_slices(void **state)
{
    (void)state;
    start();
    uint32_t track = plumb_table_track(&t, 1);
    uint32_t a = plumb_table_begin(&t, track, 0, id("a"), 0);
    uint32_t b = plumb_table_begin(&t, track, 1, id("b"), 0);
    uint32_t mark = plumb_table_instant(&t, track, 1, id("mark"), 0);
    uint32_t b_end = plumb_table_end(&t, track, 2, 0);
    uint32_t lone = plumb_table_end(&t, plumb_table_track(&t, 2), 2, 0);
    uint32_t a_end = plumb_table_end(&t, track, 3, 0);
    union plumb_table_number v = {.i64 = -1};
    plumb_table_add_arg(&t, b_end, id("failed"), PLUMB_ARG_TEXT,
                        (union plumb_table_number){.u64 = id("nan")});
    plumb_table_add_arg(&t, a, id("step"), PLUMB_ARG_I64, v);
    plumb_table_add_arg(&t, mark, id("step"), PLUMB_ARG_I64, v);
    plumb_table_add_arg(&t, lone, id("step"), PLUMB_ARG_I64, v);
    plumb_table_add_arg(&t, PLUMB_TABLE_NONE, id("step"), PLUMB_ARG_I64, v);
    v.i64 = 4;
    plumb_table_add_arg(&t, a_end, id("step"), PLUMB_ARG_I64, v);
    plumb_table_add_arg(&t, b, id("cut"), PLUMB_ARG_BOOL, (union plumb_table_number){.u64 = 1});
    finish();
    assert_track(track, "a@0+3/0 b@1+1/1cf");
    uint32_t step = plumb_strings_find(&t.strings, "step");
    assert_int_equal(t.slice_args.value[plumb_table_arg(&t, 0, step)].i64, 4);
    assert_int_equal(plumb_table_arg(&t, 1, step), PLUMB_TABLE_NONE);
    assert_int_equal(t.slices.args[2], 4);
    assert_int_equal(t.instants.args[1], 1);
    plumb_table_fini(&t);
}

static void flows_go_from_event_to_event_until_they_end(void **state)
{
    (void)state;
    start();
    uint32_t one = plumb_table_track(&t, 1), two = plumb_table_track(&t, 2);
    uint32_t a = plumb_table_begin(&t, one, 10, id("a"), 0);
    uint32_t a_end = plumb_table_end(&t, one, 20, 0);
    uint32_t b = plumb_table_begin(&t, two, 30, id("b"), 0);
    uint32_t mark = plumb_table_instant(&t, two, 35, id("mark"), 0);
    plumb_table_add_flow(&t, b, 9, PLUMB_FLOW_ENDS);
    plumb_table_add_flow(&t, a_end, 9, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, mark, 9, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, a, 8, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, mark, 8, PLUMB_FLOW_ON);
    plumb_table_set_zero(&t, 0, 1000);
    finish();
    assert_int_equal(t.unix_ns, 1000);
    assert_int_equal(t.flow_count, 2); /* 9 has ended before the mark */
    assert_int_equal(t.flows[0].id, 8);
    assert_int_equal(t.flows[0].from_ns, 10);
    assert_true(t.flows[0].to.instant);
    assert_int_equal(t.flows[1].from_ns, 20);
    assert_int_equal(t.flows[1].from.row, 0);
    assert_int_equal(t.flows[1].to.row, 1);
    plumb_table_fini(&t);
}

static void a_flow_that_ends_before_it_begins_is_one_all_the_same(void **state)
{
    (void)state;
    start();
    uint32_t host = plumb_table_track(&t, 1), queue = plumb_table_track(&t, 2);
    uint32_t kernel = plumb_table_complete(&t, queue, 9, 5, id("kernel"), 0);
    uint32_t launch = plumb_table_complete(&t, host, 10, 5, id("launch"), 0);
    uint32_t lost = plumb_table_complete(&t, queue, 20, 5, id("lost"), 0);
    uint32_t next = plumb_table_complete(&t, host, 30, 5, id("next"), 0);
    uint32_t its = plumb_table_complete(&t, queue, 40, 5, id("its"), 0);
    plumb_table_add_flow(&t, kernel, 1, PLUMB_FLOW_ENDS);
    plumb_table_add_flow(&t, launch, 1, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, lost, 2, PLUMB_FLOW_ENDS); /* its launch is not there */
    plumb_table_add_flow(&t, next, 2, PLUMB_FLOW_ON);   /* the number is used again */
    plumb_table_add_flow(&t, its, 2, PLUMB_FLOW_ENDS);
    finish();
    assert_int_equal(t.flow_count, 2);
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[0].from.row]), "launch");
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[0].to.row]), "kernel");
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[1].from.row]), "next");
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[1].to.row]), "its");
    plumb_table_fini(&t);
}

/* Files in whole microseconds have kernels that take none. */
static void flows_reach_slices_of_no_length(void **state)
{
    (void)state;
    start();
    uint32_t host = plumb_table_track(&t, 1), queue = plumb_table_track(&t, 2);
    plumb_table_complete(&t, host, 1, 5, id("launch"), 0);
    plumb_table_complete(&t, queue, 0, 100, id("copy"), 0);
    plumb_table_complete(&t, queue, 20, 0, id("kernel"), 0);
    plumb_table_add_flow(&t, plumb_table_point(&t, host, 1, false), 7, PLUMB_FLOW_ON);
    plumb_table_add_flow(&t, plumb_table_point(&t, queue, 20, false), 7, PLUMB_FLOW_LEAF);
    plumb_table_add_flow(&t, plumb_table_point(&t, queue, 21, false), 7, PLUMB_FLOW_LEAF);
    finish();
    assert_int_equal(t.flow_count, 2);
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[0].from.row]), "launch");
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[0].to.row]), "kernel");
    assert_string_equal(plumb_table_text(&t, t.slices.name[t.flows[1].to.row]),
                        "copy"); /* it is over */
    plumb_table_fini(&t);
}

static void counters_are_whole_until_one_is_not(void **state)
{
    (void)state;
    start();
    uint32_t one = plumb_table_track(&t, 1), two = plumb_table_track(&t, 2);
    plumb_table_counter_i64(&t, two, 20, INT64_MAX);
    plumb_table_counter_i64(&t, one, 20, 2);
    plumb_table_counter_f64(&t, one, 10, 1.5);
    finish();
    assert_false(t.tracks[one].whole);
    assert_true(t.tracks[two].whole);
    assert_true(t.counters.value[0].f64 == 1.5 && t.counters.value[1].f64 == 2.0);
    assert_true(t.counters.value[t.tracks[two].counters.first].i64 == INT64_MAX);
    plumb_table_fini(&t);
}

static void tracks_know_their_process_and_never_go_in_circles(void **state)
{
    (void)state;
    start();
    uint32_t thread = plumb_table_track(&t, 1), child = plumb_table_track(&t, 2),
             process = plumb_table_track(&t, 3), x = plumb_table_track(&t, 4),
             y = plumb_table_track(&t, 5);
    t.tracks[thread].kind = PLUMB_TRACK_THREAD;
    t.tracks[thread].pid = 10;
    t.tracks[thread].tid = 11;
    t.tracks[thread].has_pid = t.tracks[thread].has_tid = true;
    t.tracks[child].parent = thread;
    t.tracks[process].kind = PLUMB_TRACK_PROCESS;
    t.tracks[process].pid = 10;
    t.tracks[process].has_pid = true;
    t.tracks[x].parent = y;
    t.tracks[y].parent = x;
    finish();
    assert_int_equal(t.tracks[thread].process, process);
    assert_int_equal(t.tracks[child].process, process);
    assert_int_equal(t.tracks[child].tid, 11);
    assert_true(t.tracks[x].parent == PLUMB_TABLE_NONE || t.tracks[y].parent == PLUMB_TABLE_NONE);
    plumb_table_fini(&t);
}

/* Many tracks, events shuffled: the same as in order. */
static void a_shuffled_trace_is_the_same_trace(void **state)
{
    enum { SLICES = 2000, TRACKS = 7 };
    static struct made {
        int64_t ns;
        uint32_t track, name;
        bool end;
    } events[2 * SLICES];
    uint64_t seed = 42;
    (void)state;
    start();
    for (uint32_t i = 0; i < TRACKS; i++)
        plumb_table_track(&t, i);
    for (uint32_t i = 0; i < SLICES; i++) { /* pairs, nested two deep, times all distinct */
        uint32_t track = i / 2 % TRACKS, outer = i % 2 == 0;
        int64_t at = 10 * (int64_t)(i / 2);
        events[2 * i].ns = outer ? at : at + 2;
        events[2 * i + 1].ns = outer ? at + 9 : at + 5;
        events[2 * i + 1].end = true;
        events[2 * i].track = events[2 * i + 1].track = track;
        events[2 * i].name = id(outer ? "outer" : "inner");
    }
    for (size_t i = 2 * SLICES; i-- > 1;) {
        size_t j = random_next(&seed) % (i + 1);
        struct made other = events[i];
        events[i] = events[j];
        events[j] = other;
    }
    for (size_t i = 0; i < 2 * SLICES; i++)
        if (events[i].end)
            plumb_table_end(&t, events[i].track, events[i].ns, 0);
        else
            plumb_table_begin(&t, events[i].track, events[i].ns, events[i].name, 0);
    finish();
    assert_int_equal(t.slices.count, SLICES);
    for (uint32_t i = 0; i < SLICES; i++) {
        assert_int_equal(t.slices.depth[i], i % 2);
        assert_int_equal(t.slices.dur_ns[i], i % 2 ? 3 : 9);
    }
    assert_int_equal(t.open + t.faults.lone_ends, 0);
    plumb_table_fini(&t);
}

static void an_unfinished_table_is_freed(void **state)
{
    (void)state;
    start();
    uint32_t track = plumb_table_track(&t, 1);
    uint32_t e = plumb_table_begin(&t, track, 0, id("a"), 0);
    plumb_table_add_flow(&t, e, 1, PLUMB_FLOW_ON);
    plumb_table_add_fact(&t, id("k"), PLUMB_ARG_I64, (union plumb_table_number){.i64 = 1});
    plumb_table_fini(&t);
    start();
    finish();
    assert_int_equal(t.slices.count + t.instants.count + t.track_count, 0);
    plumb_table_fini(&t);
}

static void drops_are_read_from_instants(void **state)
{
    (void)state;
    start();
    uint32_t track = plumb_table_track(&t, 1);
    uint32_t bare = plumb_table_instant(&t, track, 7, id(PLUMB_DROPPED_NAME), 0);
    uint32_t told = plumb_table_instant(&t, track, 5, id(PLUMB_DROPPED_NAME), 0);
    assert_int_not_equal(bare, told);
    plumb_table_add_arg(&t, told, id("spans"), PLUMB_ARG_U64, (union plumb_table_number){.u64 = 7});
    plumb_table_add_arg(&t, told, id("a"), PLUMB_ARG_U64, (union plumb_table_number){.u64 = 3});
    plumb_table_add_arg(&t, told, id("why"), PLUMB_ARG_TEXT, (union plumb_table_number){.u64 = 0});
    plumb_table_add_arg(&t, told, id("b"), PLUMB_ARG_I64, (union plumb_table_number){.i64 = 4});
    finish();
    assert_int_equal(t.drop_count, 3);
    assert_int_equal(t.drops[0].count + 10 * t.drops[1].count + 100 * t.drops[2].count, 43);
    assert_string_equal(plumb_table_text(&t, t.drops[1].name), "b");
    assert_int_equal(t.drops[2].ts_ns, 2);
    plumb_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_kept_once),
        cmocka_unit_test(events_in_any_order_nest_by_time),
        cmocka_unit_test(what_has_no_other_half_is_flagged_and_counted),
        cmocka_unit_test(complete_slices_nest_by_length_and_move_when_they_overlap),
        cmocka_unit_test(args_of_both_ends_are_the_slices),
        cmocka_unit_test(flows_go_from_event_to_event_until_they_end),
        cmocka_unit_test(a_flow_that_ends_before_it_begins_is_one_all_the_same),
        cmocka_unit_test(flows_reach_slices_of_no_length),
        cmocka_unit_test(counters_are_whole_until_one_is_not),
        cmocka_unit_test(tracks_know_their_process_and_never_go_in_circles),
        cmocka_unit_test(a_shuffled_trace_is_the_same_trace),
        cmocka_unit_test(drops_are_read_from_instants),
        cmocka_unit_test(an_unfinished_table_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
