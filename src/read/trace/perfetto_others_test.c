/* The Perfetto reader: what others write is read by the rules of the format. */
#include "read/trace/perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perfetto_read_fixture.h"

static void put_clock(uint32_t id, uint64_t ns, bool incremental, uint64_t unit)
{
    unsigned char *clock = plumb_pb_open(&w, PF_SNAPSHOT_CLOCKS);
    plumb_pb_u64(&w, PF_CLOCK_ID, id);
    plumb_pb_u64(&w, PF_CLOCK_TIMESTAMP, ns);
    if (incremental)
        plumb_pb_u64(&w, PF_CLOCK_IS_INCREMENTAL, 1);
    if (unit)
        plumb_pb_u64(&w, PF_CLOCK_UNIT_NS, unit);
    plumb_pb_close(&w, clock);
}

static void clock_event(uint32_t sequence, uint32_t clock, uint64_t ts, const char *name)
{
    unsigned char *start_of = packet(sequence), *inner;
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, ts);
    if (clock)
        plumb_pb_u64(&w, PF_PACKET_TIMESTAMP_CLOCK_ID, clock);
    inner = plumb_pb_open(&w, PF_PACKET_TRACK_EVENT);
    plumb_pb_u64(&w, PF_EVENT_TYPE, PLUMB_PF_INSTANT);
    plumb_pb_text(&w, PF_EVENT_NAME, name, 100);
    close_both(inner, start_of);
}

static void clocks_are_related_by_snapshots(void **state)
{
    unsigned char *start_of, *snapshot;
    (void)state;
    start_of = packet(1);
    snapshot = plumb_pb_open(&w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(PF_CLOCK_BOOTTIME, 10000, false, 0);
    put_clock(PF_CLOCK_MONOTONIC, 4000, false, 0);
    put_clock(PF_CLOCK_REALTIME, 900000, false, 0);
    close_both(snapshot, start_of);
    /* A clock of sequence 5 in units of 10 ns, related to MONOTONIC alone. */
    start_of = packet(5);
    snapshot = plumb_pb_open(&w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(64, 7, true, 10);
    put_clock(PF_CLOCK_MONOTONIC, 5000, false, 0);
    close_both(snapshot, start_of);
    clock_event(5, 64, 5, "incremental");
    clock_event(5, 64, 5, "again");
    clock_event(5, PF_CLOCK_MONOTONIC, 4000, "monotonic");
    clock_event(5, 0, 10001, "own");
    clock_event(6, 64, 5, "another's");
    clock_event(6, 200, 5, "unknown");
    /* MONOTONIC jumps: later times count from the newer snapshot. */
    start_of = packet(1);
    snapshot = plumb_pb_open(&w, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(PF_CLOCK_MONOTONIC, 6000, false, 0);
    put_clock(PF_CLOCK_BOOTTIME, 20000, false, 0);
    close_both(snapshot, start_of);
    clock_event(5, PF_CLOCK_MONOTONIC, 5999, "before");
    clock_event(5, PF_CLOCK_MONOTONIC, 6001, "behind");
    parse_written();
    assert_int_equal(t.zero_ns, 10000);
    assert_int_equal(t.unix_ns, 900000);
    assert_int_equal(t.faults.unknown_clock, 2);
    assert_dump("track 0: monotonic @0\ntrack 0: own @1\ntrack 0: incremental @1050\n"
                "track 0: again @1100\ntrack 0: before @1999\ntrack 0: behind @10001\n");
}

static void a_file_without_snapshots_is_on_one_clock(void **state)
{
    (void)state;
    clock_event(1, PF_CLOCK_MONOTONIC, 50, "a");
    clock_event(1, 0, 60, "b");
    parse_written();
    assert_int_equal(t.zero_ns, 50);
    assert_int_equal(t.unix_ns, 0);
    assert_dump("track 0: a @0\ntrack 0: b @10\n");
}

static void events_that_need_lost_state_are_left_out(void **state)
{
    unsigned char *start_of, *inner, *entry;
    (void)state;
    for (int i = 0; i < 3; i++) {
        start_of = packet(4);
        if (i == 1)
            plumb_pb_u64(&w, PF_PACKET_PREVIOUS_PACKET_DROPPED, 1);
        plumb_pb_u64(&w, PF_PACKET_SEQUENCE_FLAGS,
                     i == 1 ? PF_SEQUENCE_NEEDS_STATE
                            : PF_SEQUENCE_STATE_CLEARED | PF_SEQUENCE_NEEDS_STATE);
        plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, 10 + (uint64_t)i);
        if (i == 0) {
            inner = plumb_pb_open(&w, PF_PACKET_INTERNED_DATA);
            entry = plumb_pb_open(&w, PF_INTERNED_EVENT_NAMES);
            plumb_pb_u64(&w, PF_ENTRY_IID, UINT64_MAX);
            plumb_pb_text(&w, PF_ENTRY_TEXT, "told", 100);
            plumb_pb_close(&w, entry);
            plumb_pb_close(&w, inner);
        }
        inner = plumb_pb_open(&w, PF_PACKET_TRACK_EVENT);
        plumb_pb_u64(&w, PF_EVENT_TYPE, PLUMB_PF_INSTANT);
        plumb_pb_u64(&w, PF_EVENT_NAME_IID, UINT64_MAX);
        close_both(inner, start_of);
    }
    parse_written();
    assert_int_equal(t.faults.lost_state, 1);
    assert_int_equal(t.faults.losses, 1);
    assert_int_equal(t.faults.unknown_names, 1); /* forgotten when the state was cleared */
    assert_dump("track 0: told @0\ntrack 0:  @2\n");
}

static unsigned char *named(uint32_t field, const char *name)
{
    unsigned char *start_of = plumb_pb_open(&w, field);
    if (name)
        plumb_pb_text(&w, PF_ANNOTATION_NAME, name, 100);
    return start_of;
}

static void annotations_of_every_kind_become_args(void **state)
{
    unsigned char *inner, *start_of, *a, *b, *c;
    (void)state;
    start_of = event_packet(&inner, 1, 5, PLUMB_PF_BEGIN);
    plumb_pb_text(&w, PF_EVENT_NAME, "s", 10);
    plumb_pb_text(&w, PF_EVENT_CATEGORIES, "x", 10);
    plumb_pb_text(&w, PF_EVENT_CATEGORIES, "y", 10);
    a = named(PF_EVENT_DEBUG_ANNOTATIONS, "dev");
    b = named(PF_ANNOTATION_DICT_ENTRIES, "name");
    plumb_pb_text(&w, PF_ANNOTATION_STRING_VALUE, "gpu", 10);
    plumb_pb_close(&w, b);
    b = named(PF_ANNOTATION_DICT_ENTRIES, "q");
    for (int i = 0; i < 2; i++) {
        c = named(PF_ANNOTATION_ARRAY_VALUES, NULL);
        plumb_pb_i64(&w, PF_ANNOTATION_INT_VALUE, -i);
        plumb_pb_close(&w, c);
    }
    plumb_pb_close(&w, b);
    plumb_pb_close(&w, a);
    a = named(PF_EVENT_DEBUG_ANNOTATIONS, "old");
    b = plumb_pb_open(&w, PF_ANNOTATION_NESTED_VALUE);
    plumb_pb_text(&w, PF_NESTED_DICT_KEYS, "f", 10);
    plumb_pb_text(&w, PF_NESTED_DICT_KEYS, "l", 10);
    c = plumb_pb_open(&w, PF_NESTED_DICT_VALUES);
    plumb_pb_f64(&w, PF_NESTED_DOUBLE_VALUE, 1.5);
    plumb_pb_close(&w, c);
    c = plumb_pb_open(&w, PF_NESTED_DICT_VALUES);
    for (int i = 0; i < 2; i++) {
        unsigned char *d = plumb_pb_open(&w, PF_NESTED_ARRAY_VALUES);
        plumb_pb_u64(&w, PF_NESTED_BOOL_VALUE, (uint64_t)i);
        plumb_pb_close(&w, d);
    }
    plumb_pb_close(&w, c);
    plumb_pb_close(&w, b);
    plumb_pb_close(&w, a);
    a = named(PF_EVENT_DEBUG_ANNOTATIONS, "json");
    plumb_pb_text(&w, PF_ANNOTATION_LEGACY_JSON_VALUE, "{\"a\":1}", 20);
    plumb_pb_close(&w, a);
    close_both(inner, start_of);
    parse_written();
    assert_dump("track 0: s [x,y] @0+0 open dev.name=gpu dev.q[0]=0 dev.q[1]=-1 old.f=1.5 "
                "old.l[0]=false old.l[1]=true json={\"a\":1}\n");
}

static void nesting_has_a_bottom(void **state)
{
    unsigned char *inner, *start_of, *open[300];
    (void)state;
    start_of = event_packet(&inner, 1, 5, PLUMB_PF_BEGIN);
    for (int i = 0; i < 300; i++)
        open[i] = named(i ? PF_ANNOTATION_DICT_ENTRIES : PF_EVENT_DEBUG_ANNOTATIONS, "level");
    plumb_pb_u64(&w, PF_ANNOTATION_UINT_VALUE, 1);
    for (int i = 300; i-- > 0;)
        plumb_pb_close(&w, open[i]);
    close_both(inner, start_of);
    parse_written();
    assert_int_equal(t.slices.count, 1);
    plumb_table_fini(&t);
}

static void put_track(uint64_t uuid, uint64_t parent, const char *name, uint32_t kind,
                      void (*fields)(void))
{
    unsigned char *start_of = packet(1), *inner = plumb_pb_open(&w, PF_PACKET_TRACK_DESCRIPTOR);
    plumb_pb_u64(&w, PF_TRACK_UUID, uuid);
    if (parent)
        plumb_pb_u64(&w, PF_TRACK_PARENT_UUID, parent);
    if (name)
        plumb_pb_text(&w, PF_TRACK_NAME, name, 100);
    if (kind) {
        unsigned char *part = plumb_pb_open(&w, kind);
        fields();
        plumb_pb_close(&w, part);
    }
    close_both(inner, start_of);
}

static void kilo_incremental(void)
{
    plumb_pb_u64(&w, PF_COUNTER_UNIT, PLUMB_UNIT_BYTES);
    plumb_pb_u64(&w, PF_COUNTER_UNIT_MULTIPLIER, 1000);
    plumb_pb_u64(&w, PF_COUNTER_IS_INCREMENTAL, 1);
}

static void nothing(void)
{
}

static void the_process(void)
{
    plumb_pb_i64(&w, PF_PROCESS_PID, 77);
    plumb_pb_text(&w, PF_PROCESS_CMDLINE, "run", 10);
    plumb_pb_text(&w, PF_PROCESS_CMDLINE, "fast", 10);
}

static void the_thread(void)
{
    plumb_pb_i64(&w, PF_THREAD_PID, 77);
    plumb_pb_i64(&w, PF_THREAD_TID, 78);
    plumb_pb_text(&w, PF_THREAD_NAME, "io", 10);
}

static void counters_may_ride_and_count_up(void **state)
{
    unsigned char *start_of, *inner, *defaults;
    (void)state;
    put_track(5, 0, "kb", PF_TRACK_COUNTER, kilo_incremental);
    put_track(6, 0, "load", PF_TRACK_COUNTER, nothing);
    start_of = packet(3);
    plumb_pb_u64(&w, PF_PACKET_SEQUENCE_FLAGS, PF_SEQUENCE_STATE_CLEARED);
    defaults = plumb_pb_open(&w, PF_PACKET_DEFAULTS);
    inner = plumb_pb_open(&w, PF_DEFAULTS_TRACK_EVENT);
    plumb_pb_u64(&w, PF_EVENT_EXTRA_COUNTER_TRACKS, 5);
    plumb_pb_u64(&w, PF_EVENT_EXTRA_DOUBLE_COUNTER_TRACKS, 6);
    close_both(inner, defaults);
    plumb_pb_close(&w, start_of);
    for (uint64_t i = 0; i < 2; i++) {
        start_of = event_packet(&inner, 3, 10 * i, i ? PLUMB_PF_END : PLUMB_PF_BEGIN);
        plumb_pb_u64(&w, PF_EVENT_EXTRA_COUNTER_VALUES, 2);
        plumb_pb_f64(&w, PF_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, 0.5);
        close_both(inner, start_of);
    }
    parse_written();
    assert_int_equal(t.tracks[0].unit, PLUMB_UNIT_BYTES);
    assert_dump("track 2:  [] @0+10\nkb = 2000 @0\nkb = 4000 @10\nload = 0.5 @0\nload = 0.5 @10\n");
}

static void tracks_have_names_numbers_and_parents(void **state)
{
    (void)state;
    put_track(3, 2, "queue", 0, nothing);
    put_track(2, 1, NULL, PF_TRACK_THREAD, the_thread);
    put_track(1, 0, "main process", PF_TRACK_PROCESS, the_process);
    plain_event(9, 5, PLUMB_PF_BEGIN, 3, "a");
    plain_event(9, 7, PLUMB_PF_END, 3, NULL);
    plain_event(9, 8, PLUMB_PF_INSTANT, 2, "i");
    parse_written();
    assert_int_equal(t.track_count, 3);
    assert_int_equal(t.tracks[0].pid, 77);
    assert_int_equal(t.tracks[0].tid, 78);
    assert_int_equal(t.tracks[0].process, 2);
    assert_string_equal(text(t.tracks[2].name), "main process");
    assert_string_equal(text((uint32_t)plumb_table_fact(&t, "cmdline")->value.u64), "run fast");
    assert_dump("queue: a [] @0+2\nio: i @3\n");
}

static void flows_may_be_packed_and_end(void **state)
{
    unsigned char *inner, *start_of, *packed;
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        start_of = event_packet(&inner, 1, 10 * i, PLUMB_PF_INSTANT);
        if (i == 0) {
            packed = plumb_pb_open(&w, PF_EVENT_FLOW_IDS);
            for (unsigned char id = 1; id <= 2; id++, w.p += 8)
                memcpy(w.p, (unsigned char[8]){id}, 8);
            plumb_pb_close(&w, packed);
        } else {
            plumb_pb_fixed64(&w, PF_EVENT_TERMINATING_FLOW_IDS, i);
        }
        close_both(inner, start_of);
    }
    parse_written();
    assert_int_equal(t.flow_count, 2);
    assert_int_equal(t.flows[0].id, 1);
    assert_int_equal(t.flows[1].to.row, 2);
    plumb_table_fini(&t);
}

static void legacy_event(uint64_t ts, int phase, const char *name, uint64_t id, uint64_t dur_us)
{
    unsigned char *inner, *legacy, *start_of = event_packet(&inner, 1, ts, 0);
    plumb_pb_text(&w, PF_EVENT_NAME, name, 10);
    legacy = plumb_pb_open(&w, PF_EVENT_LEGACY);
    plumb_pb_u64(&w, PF_LEGACY_PHASE, (uint64_t)phase);
    if (id)
        plumb_pb_u64(&w, PF_LEGACY_UNSCOPED_ID, id);
    if (dur_us)
        plumb_pb_u64(&w, PF_LEGACY_DURATION_US, dur_us);
    plumb_pb_close(&w, legacy);
    close_both(inner, start_of);
}

static void events_of_older_writers_are_read(void **state)
{
    unsigned char *start_of = packet(1), *thread = plumb_pb_open(&w, PF_PACKET_THREAD_DESCRIPTOR);
    (void)state;
    the_thread();
    close_both(thread, start_of);
    legacy_event(1000, 'X', "x", 0, 2);
    legacy_event(1500, 'B', "b", 0, 0);
    legacy_event(1600, 'E', "b", 0, 0);
    legacy_event(1000, 'b', "async", 7, 0);
    legacy_event(1700, 'e', "async", 7, 0);
    legacy_event(1800, 'I', "mark", 0, 0);
    legacy_event(1800, '?', "none", 0, 0);
    parse_written();
    assert_int_equal(t.faults.other, 1);
    assert_int_equal(t.tracks[0].pid, 77);
    assert_dump("io: x [] @0+2000\nio:   b [] @500+100\nasync: async [] @0+700\n"
                "io: mark @800\n");
}

static void unknown_packets_are_counted_and_damaged_ones_left_out(void **state)
{
    (void)state;
    plain_event(1, 5, PLUMB_PF_INSTANT, 0, "a");
    plumb_pb_close(&w, plumb_pb_open(&w, PF_TRACE_PACKET));
    unsigned char *start_of = packet(1);
    plumb_pb_text(&w, 66, "samples", 100);
    plumb_pb_close(&w, start_of);
    start_of = packet(1);
    plumb_pb_u64(&w, PF_PACKET_TIMESTAMP, 6);
    plumb_pb_text(&w, PF_PACKET_TRACK_EVENT, "\x7f", 10);
    plumb_pb_close(&w, start_of);
    parse_written();
    assert_int_equal(t.faults.other, 1);
    assert_int_equal(t.faults.damaged, 1);
    assert_dump("track 0: a @0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(clocks_are_related_by_snapshots, start),
        cmocka_unit_test_setup(a_file_without_snapshots_is_on_one_clock, start),
        cmocka_unit_test_setup(events_that_need_lost_state_are_left_out, start),
        cmocka_unit_test_setup(annotations_of_every_kind_become_args, start),
        cmocka_unit_test_setup(nesting_has_a_bottom, start),
        cmocka_unit_test_setup(counters_may_ride_and_count_up, start),
        cmocka_unit_test_setup(tracks_have_names_numbers_and_parents, start),
        cmocka_unit_test_setup(flows_may_be_packed_and_end, start),
        cmocka_unit_test_setup(events_of_older_writers_are_read, start),
        cmocka_unit_test_setup(unknown_packets_are_counted_and_damaged_ones_left_out, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
