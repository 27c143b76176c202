/* The rules that every collector of the list keeps, and what the runtime does when one does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include <plumb/fake.h>

#include "collect/fake.h"
#include "collect/list.h"

static void start_with(const char *collect)
{
    plumb_options o = plumb_options_default();
    o.collect = collect;
    record_start_with(o);
}

static plumb_collector_status status_of(const char *name)
{
    plumb_collector_status s;
    assert_int_equal(plumb_collector_status_get(&s, plumb_collector_find(name)), PLUMB_OK);
    return s;
}

/* The text of the run's timing.json, whose run has ended. */
static const char *report(void)
{
    static char text[1 << 20];
    char path[1200];
    size_t n;
    FILE *f;
    assert_int_equal(plumb_run_dir(path, sizeof path - 16, NULL), PLUMB_OK);
    strcat(path, "/timing.json");
    f = fopen(path, "re");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void expect_note(const char *text)
{
    if (!strstr(report(), text))
        fail_msg("no '%s' in %s", text, report());
}

/* ---- Every collector ------------------------------------------------------------------------- */

static void each_starts_and_stops_with_every_run(void **state)
{
    (void)state;
    for (size_t i = 0; plumb_collector_list[i]; i++) {
        const char *name = plumb_collector_list[i]->name;
        for (int turn = 0; turn < 3; turn++) {
            plumb_collector_status s;
            start_with(name);
            s = status_of(name);
            if (s.state == PLUMB_COLLECTOR_ABSENT)
                assert_true(s.why[0] != '\0');
            else
                assert_int_equal(s.state, PLUMB_COLLECTOR_RUNNING);
            record_stop();
            s = status_of(name);
            assert_true(s.state == PLUMB_COLLECTOR_STOPPED || s.state == PLUMB_COLLECTOR_ABSENT);
            assert_int_equal(s.refused_late, 0);
            assert_int_equal(s.refused_times, 0);
        }
    }
}

static void each_has_a_name_and_help(void **state)
{
    (void)state;
    for (size_t i = 0; plumb_collector_list[i]; i++) {
        const plumb_collector_ops *ops = plumb_collector_list[i];
        assert_int_equal(ops->size, sizeof *ops);
        assert_true(ops->name[0] && ops->help[0] && !strchr(ops->help, '\n'));
        assert_ptr_equal(plumb_collector_offer(plumb_collector_find(ops->name)), ops->offer);
    }
}

static void none_runs_without_being_asked_for(void **state)
{
    (void)state;
    record_start();
    for (size_t i = 0; plumb_collector_list[i]; i++) {
        if (plumb_collector_list[i]->on_request)
            assert_int_equal(status_of(plumb_collector_list[i]->name).state, PLUMB_COLLECTOR_IDLE);
    }
    assert_int_equal(plumb_fake_enqueue(0, 0, "x", 1), 0);
    record_stop();
}

/* ---- The device queue ------------------------------------------------------------------------ */

enum { WORKS = 300 };

static void work_of_several_threads_becomes_device_time(void **state)
{
    plumb_node node = plumb_node_get("launcher");
    uint64_t last = 0;
    (void)state;
    start_with("fake:threads=4:queues=3");
    for (uint32_t i = 0; i < WORKS; i++) {
        PLUMB_SPAN("launcher");
        last = plumb_fake_enqueue(i % 2 ? node : 0, i % 3, "kernel", 10000 + i);
        assert_true(last != 0);
    }
    assert_int_equal(plumb_fake_wait(last), PLUMB_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(plumb_fake_wait(plumb_fake_enqueue(node, i, "kernel", 0)), PLUMB_OK);
    record_stop();
    assert_int_equal(status_of("fake").emitted, WORKS + 3 + 4); /* and the waits */
    assert_non_null(strstr(report(), "\"launcher\""));
}

static void device_time_is_the_devices(void **state)
{
    plumb_row row;
    uint64_t last = 0, total = 0;
    (void)state;
    start_with("fake");
    for (uint32_t i = 1; i <= WORKS; i++) {
        PLUMB_SPAN("timed");
        last = plumb_fake_enqueue(0, 0, "kernel", i * 1000);
        total += i * 1000;
    }
    assert_int_equal(plumb_fake_wait(last), PLUMB_OK);
    /* Completed work is reported by threads of the device, so wait for them. */
    while ((row = record_row("timed")).device_count < WORKS)
        sched_yield();
    record_stop();
    /* The clock runs 50 ppm fast, which is all that could not be known yet; and each is rounded. */
    assert_true(row.device_total_ms > (double)total * 1e-6 * (1 - 3e-4));
    assert_true(row.device_total_ms < (double)total * 1e-6 * (1 + 3e-4) + WORKS * 1e-6);
    assert_true(row.device_max_ms >= WORKS * 1e-3 * (1 - 3e-4));
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

static void a_collector_that_finds_nothing_is_named(void **state)
{
    (void)state;
    start_with("fake:fail=start");
    assert_int_equal(status_of("fake").state, PLUMB_COLLECTOR_ABSENT);
    record_stop();
    expect_note("collector 'fake' did not start: there is no such device");
}

static void wrong_options_and_names_are_named(void **state)
{
    (void)state;
    start_with("fake:threads=many,fkae,none");
    assert_int_equal(status_of("fake").state, PLUMB_COLLECTOR_FAILED);
    record_stop();
    expect_note("fake knows no option 'threads' with 'many'");
    expect_note("collector 'fkae' is not known");
}

static void times_that_cannot_be_are_refused(void **state)
{
    uint64_t last = 0;
    plumb_collector_status s;
    (void)state;
    start_with("fake:fail=times");
    for (int i = 0; i < 100; i++)
        last = plumb_fake_enqueue(0, 0, "kernel", 1000);
    assert_int_equal(plumb_fake_wait(last), PLUMB_OK);
    record_stop();
    s = status_of("fake");
    assert_int_equal(s.refused_times, 50);
    assert_int_equal(s.emitted, 51); /* and the wait */
    expect_note("collector 'fake': 50 events were refused, whose times cannot be");
}

static void what_comes_after_the_stop_is_refused(void **state)
{
    plumb_collector_status s;
    (void)state;
    start_with("fake:fail=late");
    record_stop();
    assert_int_equal(status_of("fake").state, PLUMB_COLLECTOR_STOPPED);
    /* The first of the hundred events may arrive before the stop has returned. Their times are
     * outside of the run, so they are refused then too. */
    for (s = status_of("fake"); s.refused_late + s.refused_times + s.emitted < 100;
         s = status_of("fake"))
        sched_yield();
    assert_true(s.refused_late > 0);
    assert_int_equal(s.refused_late + s.refused_times, 100);
    assert_int_equal(s.emitted, 0);
}

/* Each holds the runtime up for three seconds, which is its bound. */
static void a_function_that_hangs_is_given_up(const char *collect, const char *note)
{
    plumb_collector_status s;
    plumb_fake_hold(true);
    start_with(collect);
    {
        PLUMB_SPAN("the run goes on");
    }
    record_stop();
    s = status_of("fake");
    assert_int_equal(s.state, PLUMB_COLLECTOR_ABANDONED);
    expect_note(note);
    expect_note("the run goes on");
    /* A collector that still hangs in its start is not called again. */
    start_with("fake");
    assert_int_equal(status_of("fake").state, PLUMB_COLLECTOR_ABANDONED);
    record_stop();
    expect_note("collector 'fake' did not start: it still is where it was given up");
    plumb_fake_hold(false);
    while (status_of("fake").state == PLUMB_COLLECTOR_ABANDONED)
        sched_yield();
    start_with("fake");
    assert_int_equal(status_of("fake").state, PLUMB_COLLECTOR_RUNNING);
    record_stop();
}

static void a_start_that_hangs_is_given_up(void **state)
{
    (void)state;
    a_function_that_hangs_is_given_up("fake:fail=hang-start",
                                      "collector 'fake' was given up: its start has not returned");
}

static void a_stop_that_hangs_is_given_up(void **state)
{
    (void)state;
    a_function_that_hangs_is_given_up("fake:fail=hang-stop",
                                      "collector 'fake' was given up: its stop has not returned");
}

static void a_clock_that_hangs_is_given_up(void **state)
{
    (void)state;
    a_function_that_hangs_is_given_up("fake:fail=hang-clock",
                                      "collector 'fake' was given up: reading its clock has not");
}

/* ---- A collector of the program's own -------------------------------------------------------- */

static struct {
    plumb_collector *self;
    plumb_lane lane, counter;
    plumb_clock clock;
    int starts, stops, destroyed;
} own;

enum { OWN_HZ = 100000000 };
/* The machine may have been started minutes ago; tick 0 of this clock was a day ago all the same.
 */
static const uint64_t own_day = UINT64_C(86400) * OWN_HZ;

static int own_now(uint64_t *out, void *arg)
{
    (void)arg;
    *out = own_day + record_now_ns() / 10;
    return 0;
}

static int own_start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options lane = plumb_lane_options_default();
    plumb_clock_options clock = plumb_clock_options_default();
    (void)options;
    assert_ptr_equal(arg, &own);
    own.starts++;
    lane.name = "own lane";
    clock.name = "own clock";
    clock.hz = OWN_HZ;
    clock.now = own_now;
    if (plumb_clock_open(&own.clock, self, &clock, err) < 0 ||
        plumb_lane_open(&own.lane, self, &lane, err) < 0)
        return PLUMB_ERR_STATE;
    lane.kind = PLUMB_LANE_OF_VALUES;
    lane.parent = own.lane;
    return plumb_lane_open(&own.counter, self, &lane, err);
}

static int own_stop(void *arg, plumb_error *err)
{
    (void)arg;
    (void)err;
    own.stops++;
    return 0;
}

static void own_destroy(void *arg)
{
    (void)arg;
    own.destroyed++;
}

static void own_register(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_error err;
    memset(&own, 0, sizeof own);
    ops.name = "own";
    ops.start = own_start;
    ops.stop = own_stop;
    ops.destroy = own_destroy;
    own.self = plumb_collector_register(&ops, &own, &err);
    assert_non_null(own.self);
    assert_null(plumb_collector_register(&ops, &own, &err)); /* the name is taken */
    assert_int_equal(err.code, PLUMB_ERR_STATE);
}

/* After each test, also a failed one: nothing hangs, no run is open, the name `own` is free. */
static int let_go(void **state)
{
    plumb_collector *left;
    plumb_fake_hold(false);
    record_close(state);
    left = plumb_collector_find("own");
    return left ? plumb_collector_unregister(left, NULL) : 0;
}

static int emit(uint32_t kind, uint64_t begin, uint64_t end)
{
    plumb_event e = plumb_event_default(kind);
    e.begin = begin;
    e.end = end;
    e.name = plumb_name_get("event");
    return plumb_emit(own.lane, own.clock, &e);
}

static void a_program_brings_its_own(void **state)
{
    uint64_t now;
    plumb_lane lane;
    plumb_lane_options o = plumb_lane_options_default();
    (void)state;
    own_register();
    assert_int_equal(plumb_collector_status_get(&(plumb_collector_status){0}, NULL), PLUMB_ERR_ARG);
    record_start();
    assert_int_equal(own.starts, 1);
    own_now(&now, NULL);
    assert_int_equal(emit(PLUMB_EVENT_SPAN, now - 10, now), PLUMB_OK);
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_OK);
    assert_int_equal(emit(PLUMB_EVENT_COUNTER, now, 0), PLUMB_OK);
    assert_int_equal(emit(PLUMB_EVENT_FLOW, now, 0), PLUMB_OK);
    assert_int_equal(emit(PLUMB_EVENT_SPAN, now, now - 10), PLUMB_ERR_ARG);
    assert_int_equal(emit(PLUMB_EVENT_SPAN, now, UINT64_MAX), PLUMB_ERR_ARG);
    assert_int_equal(emit(PLUMB_EVENT_SPAN, 0, 1), PLUMB_ERR_ARG); /* a day ago */
    assert_int_equal(emit(99, now, now), PLUMB_ERR_ARG);
    record_stop();
    assert_int_equal(own.stops, 1);
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_ERR_STATE);
    assert_int_equal(plumb_lane_open(&lane, own.self, &o, NULL), PLUMB_ERR_STATE);
    assert_int_equal(status_of("own").emitted, 4);
    assert_int_equal(status_of("own").refused_times, 3);
    assert_int_equal(status_of("own").refused_late, 1);
    assert_int_equal(plumb_collector_unregister(own.self, NULL), PLUMB_OK);
    assert_int_equal(own.destroyed, 1);
    assert_null(plumb_collector_find("own"));
}

static void one_may_come_and_go_during_a_run(void **state)
{
    uint64_t now;
    plumb_lane before;
    (void)state;
    record_start();
    own_register();
    assert_int_equal(own.starts, 1);
    own_now(&now, NULL);
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_OK);
    before = own.lane;
    assert_int_equal(plumb_collector_unregister(own.self, NULL), PLUMB_OK);
    assert_int_equal(own.stops, 1);
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_ERR_STATE);
    own_register();
    own.lane = before;
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_ERR_STATE);
    assert_int_equal(plumb_collector_unregister(own.self, NULL), PLUMB_OK);
    record_stop();
}

static void a_handle_of_an_earlier_run_is_refused(void **state)
{
    plumb_lane before;
    uint64_t now;
    (void)state;
    own_register();
    record_start();
    before = own.lane;
    record_stop();
    record_start();
    own_now(&now, NULL);
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_OK);
    own.lane = before;
    assert_int_equal(emit(PLUMB_EVENT_INSTANT, now, 0), PLUMB_ERR_STATE);
    assert_int_equal(status_of("own").refused_late, 1);
    record_stop();
    assert_int_equal(plumb_collector_unregister(own.self, NULL), PLUMB_OK);
}

/* ---- All at once ----------------------------------------------------------------------------- */

enum { EMITTERS = 5, TURNS = 12 };
static struct {
    uint64_t lane, clock, accepted, refused, over;
} many; /* all atomic */

static int many_start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options lane = plumb_lane_options_default();
    plumb_clock_options clock = plumb_clock_options_default();
    plumb_lane l;
    plumb_clock c;
    (void)arg;
    (void)options;
    lane.slots = 64;
    clock.hz = OWN_HZ;
    clock.now = own_now;
    if (plumb_lane_open(&l, self, &lane, err) < 0 || plumb_clock_open(&c, self, &clock, err) < 0)
        return PLUMB_ERR_STATE;
    __atomic_store_n(&many.clock, c.id, __ATOMIC_RELEASE);
    __atomic_store_n(&many.lane, l.id, __ATOMIC_RELEASE);
    return 0;
}

static void *emitter(void *arg)
{
    plumb_node node = plumb_node_get("emitted");
    (void)arg;
    while (!__atomic_load_n(&many.over, __ATOMIC_ACQUIRE)) {
        plumb_lane lane = {__atomic_load_n(&many.lane, __ATOMIC_ACQUIRE)};
        plumb_clock clock = {__atomic_load_n(&many.clock, __ATOMIC_ACQUIRE)};
        plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
        plumb_event_arg args[2] = {{plumb_name_get("key"), 1, {7}}, {plumb_name_get("k2"), 2, {0}}};
        plumb_origin origin;
        int rc;
        plumb_origin_capture(&origin, lane, node);
        own_now(&e.end, NULL);
        e.begin = e.end - 10;
        e.name = plumb_name_get("event");
        e.origin = &origin;
        e.args = args;
        e.arg_count = 2;
        rc = plumb_emit(lane, clock, &e);
        __atomic_add_fetch(rc == PLUMB_OK || rc == PLUMB_ERR_MEMORY ? &many.accepted
                                                                    : &many.refused,
                           1, __ATOMIC_RELAXED);
        plumb_fake_wait(plumb_fake_enqueue(node, 0, "kernel", 100));
    }
    return NULL;
}

/* Each emit is taken or refused, and counted as such, whatever starts and stops in the meantime. */
static void emits_of_many_threads_survive_starts_and_stops(void **state)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    pthread_t thread[EMITTERS];
    plumb_collector *self;
    uint64_t taken = 0;
    (void)state;
    ops.name = "many";
    ops.start = many_start;
    self = plumb_collector_register(&ops, NULL, NULL);
    assert_non_null(self);
    for (int i = 0; i < EMITTERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, emitter, NULL), 0);
    for (int turn = 0; turn < TURNS; turn++) {
        plumb_options o = plumb_options_default();
        uint64_t before = __atomic_load_n(&many.accepted, __ATOMIC_RELAXED);
        o.collect = "auto,fake:threads=4";
        o.trace = turn % 2 ? PLUMB_ON : PLUMB_DEFAULT;
        record_start_with(o);
        while (__atomic_load_n(&many.accepted, __ATOMIC_RELAXED) < before + 300)
            sched_yield();
        record_stop();
        taken += status_of("many").emitted;
        assert_int_equal(status_of("many").state, PLUMB_COLLECTOR_STOPPED);
        assert_int_equal(status_of("fake").state, PLUMB_COLLECTOR_STOPPED);
    }
    __atomic_store_n(&many.over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < EMITTERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(taken, many.accepted);
    assert_int_equal(plumb_collector_unregister(self, NULL), PLUMB_OK);
}

static void names_must_be_words(void **state)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    const char *const wrong[] = {NULL, "", "a,b", "a:b", "a b", "auto", "none", "\xff"};
    plumb_error err;
    (void)state;
    ops.start = own_start;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ops.name = wrong[i];
        assert_null(plumb_collector_register(&ops, NULL, &err));
        assert_int_equal(err.code, PLUMB_ERR_ARG);
    }
    ops.name = "nostart";
    ops.start = NULL;
    assert_null(plumb_collector_register(&ops, NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_has_a_name_and_help, let_go),
        cmocka_unit_test_teardown(each_starts_and_stops_with_every_run, let_go),
        cmocka_unit_test_teardown(none_runs_without_being_asked_for, let_go),
        cmocka_unit_test_teardown(work_of_several_threads_becomes_device_time, let_go),
        cmocka_unit_test_teardown(device_time_is_the_devices, let_go),
        cmocka_unit_test_teardown(a_collector_that_finds_nothing_is_named, let_go),
        cmocka_unit_test_teardown(wrong_options_and_names_are_named, let_go),
        cmocka_unit_test_teardown(times_that_cannot_be_are_refused, let_go),
        cmocka_unit_test_teardown(what_comes_after_the_stop_is_refused, let_go),
        cmocka_unit_test_teardown(a_program_brings_its_own, let_go),
        cmocka_unit_test_teardown(one_may_come_and_go_during_a_run, let_go),
        cmocka_unit_test_teardown(a_handle_of_an_earlier_run_is_refused, let_go),
        cmocka_unit_test_teardown(names_must_be_words, let_go),
        cmocka_unit_test_teardown(emits_of_many_threads_survive_starts_and_stops, let_go),
        cmocka_unit_test_teardown(a_start_that_hangs_is_given_up, let_go),
        cmocka_unit_test_teardown(a_stop_that_hangs_is_given_up, let_go),
        cmocka_unit_test_teardown(a_clock_that_hangs_is_given_up, let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
