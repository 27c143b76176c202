/* Queues of several devices that have the same names: which device each belongs to, in the trace
 * and in what is read from it. */
#include "child.h"

#include "read/trace/perfetto.h"
#include "record_trace.h"
#include "report/export/tracks.h"
#include <plumb/collector.h>

enum { QUEUES = 4, WORKS = 3, MS = 1000000 };
static const char *const devices[QUEUES] = {"gpu:0", "gpu:1", "gpu:0", "gpu:1"};
static const char *const queues[QUEUES] = {"stream 7", "stream 7", "stream 20", "stream 20"};

static plumb_lane lanes[QUEUES];
static plumb_clock device_clock;

static int read_clock(uint64_t *out, void *arg)
{
    struct timespec now;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *out = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return 0;
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_clock_options c = plumb_clock_options_default();
    (void)arg;
    (void)options;
    c.name = "gpu";
    c.now = read_clock;
    if (plumb_clock_open(&device_clock, self, &c, err) < 0)
        return PLUMB_ERR_STATE;
    for (int i = 0; i < QUEUES; i++) {
        plumb_lane_options o = plumb_lane_options_default();
        o.name = queues[i];
        o.device = devices[i];
        if (plumb_lane_open(&lanes[i], self, &o, err) < 0)
            return PLUMB_ERR_STATE;
    }
    return 0;
}

static void emit(int queue, uint64_t begin, uint64_t end)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    char name[32];
    snprintf(name, sizeof name, "work of queue %d", queue);
    e.name = plumb_name_get(name);
    e.begin = begin;
    e.end = end;
    ROLE_NEEDS(plumb_emit(lanes[queue], device_clock, &e) == PLUMB_OK);
}

/* All queues work at the same time, and queue 0 on two things at once. */
static int play_devices(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    uint64_t from;
    ops.name = "gpu";
    ops.start = start;
    ROLE_NEEDS(plumb_collector_register(&ops, NULL, NULL) != NULL);
    PLUMB_SPAN("launch");
    read_clock(&from, NULL);
    for (int i = 0; i < QUEUES; i++)
        for (uint64_t w = 0; w < WORKS; w++)
            emit(i, from + 10 * w * MS, from + (10 * w + 8) * MS);
    emit(0, from + 2 * MS, from + 6 * MS);
    return 0;
}

static void record(const char *dir)
{
    const char *const settings[] = {"PLUMB_TRACE=1", NULL};
    struct child c = child_start("devices", dir, settings);
    int status = child_end(&c);
    if (status)
        fail_msg("status %x: %s", status, child_errors(&c));
}

/* The descriptors of tracks with this name. */
static int tracks_called(const struct trace_read *t, const char *name)
{
    char wanted[64];
    int n = 0;
    snprintf(wanted, sizeof wanted, " name=%s parent=", name);
    for (const char *at = t->text.data; (at = strstr(at, wanted)) != NULL; at += strlen(wanted)) {
        const char *line = strchr(at, '\n');
        assert_true(line - at >= 6 && strncmp(line - 6, " apart", 6) == 0);
        n++;
    }
    return n;
}

static void each_queue_is_a_track_below_that_of_its_device(void **state)
{
    struct trace_read t;
    (void)state;
    record("tracks");
    trace_read_run(&t, in_place("tracks"));
    assert_int_equal(tracks_called(&t, "gpu:0"), 1);
    assert_int_equal(tracks_called(&t, "gpu:1"), 1);
    assert_int_equal(tracks_called(&t, "stream 7"), 2);
    assert_int_equal(tracks_called(&t, "stream 20"), 2);
    assert_int_equal(tracks_called(&t, "stream 7 2"), 1);
    trace_fini(&t);
}

static void readers_and_exports_know_the_device_of_each_queue(void **state)
{
    struct plumb_table t;
    struct plumb_export_track *places;
    plumb_error err = {0, ""};
    char path[1200];
    int named = 0;
    (void)state;
    record("read");
    snprintf(path, sizeof path, "%s/trace.pftrace", in_place("read"));
    if (plumb_perfetto_read(&t, path, &err) < 0)
        fail_msg("%s", err.message);
    places = plumb_export_tracks(&t);
    assert_non_null(places);
    for (uint32_t i = 0; i < t.slices.count; i++) {
        const char *name = plumb_table_text(&t, t.slices.name[i]);
        uint32_t track = t.slices.track[i], k = (uint32_t)(name[strlen(name) - 1] - '0');
        struct plumb_buf row = {0}, wanted = {0};
        bool overflow = t.slices.dur_ns[i] < 5 * MS;
        if (strncmp(name, "work of queue", 13) != 0)
            continue;
        plumb_table_put_track(&row, &t, track);
        plumb_buf_printf(&wanted, "%s: %s%s", devices[k], queues[k], overflow ? " 2" : "");
        assert_string_equal(row.data, wanted.data);
        assert_true(places[track].device);
        assert_int_equal(places[track].pid, k % 2);
        if (overflow)
            assert_true(places[track].tid >= PLUMB_EXPORT_OWN_TID);
        else
            assert_int_equal(places[track].tid, k < 2 ? 7 : 20);
        plumb_buf_fini(&row);
        plumb_buf_fini(&wanted);
        named++;
    }
    assert_int_equal(named, QUEUES * WORKS + 1);
    free(places);
    plumb_table_fini(&t);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"devices", play_devices}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_queue_is_a_track_below_that_of_its_device),
        cmocka_unit_test(readers_and_exports_know_the_device_of_each_queue),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
