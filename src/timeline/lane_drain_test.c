/* A flight recorder's lanes when memory is short: the file counts the events that could not be
 * written. The allocator of pages is the test's own, and refuses the maps that a test chooses. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/child.h"

#include "base/pages.h"
#include "live/lane.h"
#include "record_trace.h"
#include <plumb/collector.h>

enum { SLOTS = 64, EVENTS = 20, ENTRY = 48 /* bytes, of what is sorted */ };

static size_t refused_bytes;
static unsigned refusals;

void *plumb_pages_map(size_t bytes)
{
    void *p;
    if (refused_bytes && bytes == refused_bytes) {
        refusals++;
        return NULL;
    }
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0);
    return p == MAP_FAILED ? NULL : p;
}

void *plumb_pages_map_private(size_t bytes, bool *wiped)
{
    void *p = plumb_pages_map(bytes);
    *wiped = p && madvise(p, bytes, MADV_WIPEONFORK) == 0;
    return p;
}

bool plumb_pages_wipe(void *p, size_t bytes, bool wipe)
{
    (void)p, (void)bytes, (void)wipe;
    return false;
}

void plumb_pages_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}

/* ---- The recorder ---------------------------------------------------------------------------- */

static plumb_lane lane;

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    (void)arg;
    (void)options;
    o.name = "lane";
    o.slots = SLOTS;
    return plumb_lane_open(&lane, self, &o, err);
}

static int role_emits(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_clock host = {0};
    ops.name = "emits";
    ops.start = start;
    ROLE_NEEDS(plumb_collector_register(&ops, NULL, NULL) != NULL);
    PLUMB_SPAN("span");
    e.name = plumb_name_get("event");
    for (int i = 0; i < EVENTS; i++) {
        e.begin = plumb_host_ticks();
        e.end = plumb_host_ticks();
        ROLE_NEEDS(plumb_emit(lane, host, &e) == PLUMB_OK);
    }
    child_ready();
    for (;;)
        pause();
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void record(const char *dir, const char *mode)
{
    const char *const settings[] = {"PLUMB_TRACE=1", mode, NULL};
    struct child c = child_start("emits", dir, settings);
    child_await_ready(&c);
    kill(c.pid, SIGKILL);
    child_end(&c);
}

static int setup(void **state)
{
    int rc = fresh_place(state);
    record("ring", "PLUMB_TRACE_MODE=ring");
    record("stop", "PLUMB_TRACE_MODE=stop");
    return rc;
}

/* The trace made of a mapping while maps of `bytes` are refused (0: none is) has every event or its
 * number; returns how many are missing. */
static uint64_t missing_in(const char *dir, size_t bytes)
{
    struct plumb_load load;
    struct trace_read t;
    uint64_t missing = 0;
    refusals = 0;
    refused_bytes = bytes;
    load_run(&load, in_place(dir));
    refused_bytes = 0;
    plumb_timing_fini(&load.timing);
    trace_read_run(&t, in_place(dir));
    for (size_t i = 0; i < t.count; i++) {
        const char *events = strstr(t.slices[i].more, "events=");
        if (strcmp(t.slices[i].name, "\"plumb.dropped\"") == 0 && events)
            missing += strtoull(events + 7, NULL, 10);
    }
    assert_int_equal(trace_count(&t, "event") + missing, EVENTS);
    trace_fini(&t);
    return missing;
}

static void assert_missing(size_t bytes, uint64_t want)
{
    unlink("ring/timing.json");
    unlink("ring/" PLUMB_TRACE_FILE);
    assert_int_equal(missing_in("ring", bytes), want);
    assert_int_equal(refusals > 0, bytes > 0);
}

static void with_memory_every_event_is_there(void **state)
{
    (void)state;
    assert_missing(0, 0);
}

static void without_room_for_a_copy_events_are_counted(void **state)
{
    (void)state;
    assert_missing(SLOTS * sizeof(union plumb_live_slot), EVENTS);
}

static void without_room_to_sort_them_too(void **state)
{
    (void)state;
    assert_missing(SLOTS * ENTRY, EVENTS);
}

/* The events that the writer had not taken before the kill, possibly none. */
static void nor_at_the_end_of_a_trace_that_takes_all(void **state)
{
    (void)state;
    assert_true(missing_in("stop", SLOTS * ENTRY) <= EVENTS);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"emits", role_emits}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_memory_every_event_is_there),
        cmocka_unit_test(without_room_for_a_copy_events_are_counted),
        cmocka_unit_test(without_room_to_sort_them_too),
        cmocka_unit_test(nor_at_the_end_of_a_trace_that_takes_all),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, setup, NULL);
}
