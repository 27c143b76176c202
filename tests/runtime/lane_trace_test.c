/* The events of collectors in the trace: every event once, on its lane, in order, linked to its
 * launch, in whatever order it was emitted and whichever process is killed. */
#include <pthread.h>
#include <stdlib.h>

#include "child.h"

#include "record_trace.h"
#include <plumb/fake.h>

enum { WORKS = 3000, QUEUES = 3, KILLS = 8, BURST = 5000, MS = 1000000 };

static void run_works(int works)
{
    uint64_t last[QUEUES] = {0};
    for (int i = 0; i < works; i++) {
        PLUMB_SPAN("launch");
        do
            last[i % QUEUES] = plumb_fake_enqueue(0, (uint32_t)i % QUEUES, "kernel", 10000);
        while (!last[i % QUEUES]); /* its queue is full */
    }
    for (int q = 0; q < QUEUES; q++)
        ROLE_NEEDS(plumb_fake_wait(last[q]) == PLUMB_OK);
}

static int play_works(void)
{
    run_works(WORKS);
    return 0;
}

/* Returns the number of works that threads of the device have reported. */
static uint64_t told(void)
{
    plumb_rows *rows = NULL;
    uint64_t n = 0;
    ROLE_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK);
    for (size_t i = 0; i < plumb_rows_count(rows); i++)
        n += plumb_rows_get(rows, i)->device_count;
    plumb_rows_free(rows);
    return n;
}

static int play_killed(void)
{
    run_works(WORKS / 3);
    while (told() < WORKS / 3)
        sched_yield();
    child_ready();
    while (getppid() > 0)
        run_works(10);
    return 0;
}

static int play_two_stages(void)
{
    uint64_t work;
    {
        PLUMB_STEP(7);
        PLUMB_STAGE(a, "A");
        work = plumb_fake_enqueue(0, 0, "kernel", 100 * MS);
    }
    {
        PLUMB_STAGE(b, "B");
        ROLE_NEEDS(plumb_fake_wait(work) == PLUMB_OK);
    }
    return 0;
}

/* A lane of 64 places, into which 5000 events are emitted at once. */
static plumb_lane burst_lane;

static int burst_start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    (void)arg;
    (void)options;
    o.name = "burst";
    o.slots = 64;
    return plumb_lane_open(&burst_lane, self, &o, err);
}

static int play_burst(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_collector_status s;
    plumb_collector *c;
    plumb_clock host = {0};
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_origin origin;
    uint64_t taken = 0, refused = 0;
    ops.name = "burst";
    ops.start = burst_start;
    ROLE_NEEDS((c = plumb_collector_register(&ops, NULL, NULL)) != NULL);
    PLUMB_STAGE(stage, "stage");
    plumb_origin_capture(&origin, burst_lane, 0);
    e.name = plumb_name_get("kernel");
    e.origin = &origin;
    for (int i = 0; i < BURST; i++) {
        int rc;
        e.begin = plumb_host_ticks();
        e.end = plumb_host_ticks();
        rc = plumb_emit(burst_lane, host, &e);
        taken += rc == PLUMB_OK;
        refused += rc == PLUMB_ERR_MEMORY;
    }
    plumb_collector_status_get(&s, c);
    ROLE_NEEDS(taken + refused == BURST && s.emitted == BURST && s.dropped == refused);
    ROLE_NEEDS(refused > 0);
    return 0;
}

/* ---- Ring mode ------------------------------------------------------------------------------- */

enum { EMITTERS = 4, EMITS = 20000, LAST = 100, PLACES = 64, SLOTS_OF_ONE = 3 };

/* An event whose four arguments, in two slots, belong together. */
static void emit_number(uint64_t number)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_event_arg args[4];
    plumb_clock host = {0};
    static const char *const keys[] = {"a", "b", "c", "d"};
    memset(args, 0, sizeof args);
    for (int i = 0; i < 4; i++) {
        args[i].key = plumb_name_get(keys[i]);
        args[i].type = 1;
        args[i].value.i64 = (int64_t)(number + (uint64_t)i);
    }
    e.name = plumb_name_get("kernel");
    e.args = args;
    e.arg_count = 4;
    e.begin = plumb_host_ticks();
    e.end = plumb_host_ticks();
    plumb_emit(burst_lane, host, &e);
}

static void *emit_numbers(void *arg)
{
    uint64_t mine = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; i < EMITS; i++)
        emit_number(i * EMITTERS + mine);
    return NULL;
}

/* Many emit and overwrite each other while pieces are kept; then one alone, to whom the end
 * belongs. */
static int play_ring(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_collector_status s;
    plumb_collector *c;
    pthread_t threads[EMITTERS];
    ops.name = "burst";
    ops.start = burst_start;
    ROLE_NEEDS((c = plumb_collector_register(&ops, NULL, NULL)) != NULL);
    PLUMB_SPAN("span");
    for (uintptr_t i = 0; i < EMITTERS; i++)
        ROLE_NEEDS(pthread_create(&threads[i], NULL, emit_numbers, (void *)i) == 0);
    for (int i = 0; i < 5; i++)
        ROLE_NEEDS(plumb_trace_keep("in between", NULL) == PLUMB_OK);
    for (int i = 0; i < EMITTERS; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t i = 0; i < LAST; i++)
        emit_number(10000000 + i);
    plumb_collector_status_get(&s, c);
    ROLE_NEEDS(s.emitted == EMITTERS * EMITS + LAST);
    return 0;
}

static void run(struct trace_read *t, const char *role, const char *dir,
                const char *const *settings)
{
    struct child c = child_start(role, dir, settings);
    int status = child_end(&c);
    if (status)
        fail_msg("%s: status %x: %s", role, status, child_errors(&c));
    trace_read_run(t, in_place(dir));
}

static const char *const traced[] = {"PLUMB_TRACE=1", "PLUMB_COLLECT=fake:queues=3", NULL};

/* Kernels in the trace, each once, none overlapping another of its track. */
static size_t check_kernels(const struct trace_read *t)
{
    static bool seen[1 << 20];
    size_t kernels = 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < t->count; i++) {
        const struct trace_slice *s = &t->slices[i];
        const char *number = strstr(s->more, "number=");
        uint64_t n;
        if (strcmp(s->name, "kernel") != 0)
            continue;
        kernels++;
        assert_int_equal(s->parent, 0);
        assert_true(s->end >= s->begin && s->end != UINT64_MAX);
        assert_non_null(number);
        n = strtoull(number + 7, NULL, 10);
        assert_true(n >= 1 && n < sizeof seen && !seen[n]);
        seen[n] = true;
        assert_non_null(strstr(s->more, "clock_bound_ns="));
        assert_non_null(strstr(s->more, "node=launch"));
    }
    return kernels;
}

static void every_event_is_there_once_on_a_lane_without_overlap(void **state)
{
    struct trace_read t;
    (void)state;
    run(&t, "works", "works", traced);
    assert_int_equal(check_kernels(&t), WORKS);
    assert_int_equal(trace_count(&t, "plumb.capture"), WORKS);
    assert_true(trace_says(&t, "plumb.clock.fake.drift_ppm"));
    trace_fini(&t);
}

static void a_work_lies_where_the_host_waited_for_it(void **state)
{
    const char *const exact[] = {"PLUMB_TRACE=1", "PLUMB_CLOCK=virtual", "PLUMB_COLLECT=fake",
                                 NULL};
    const struct trace_slice *a, *b, *kernel, *wait, *launch;
    struct trace_read t;
    (void)state;
    run(&t, "two_stages", "exact", exact);
    a = trace_find(&t, "A", 0);
    b = trace_find(&t, "B", 0);
    kernel = trace_find(&t, "kernel", 0);
    wait = trace_find(&t, "\"waiting", 0);
    launch = trace_find(&t, "plumb.capture", 0);
    assert_int_equal(a->end - a->begin, 0);
    assert_int_equal(b->end - b->begin, 100 * MS);
    assert_int_equal(kernel->begin, a->begin);
    assert_int_equal(kernel->end - kernel->begin, 100 * MS);
    assert_int_equal(wait->begin, b->begin);
    assert_int_equal(wait->end, b->end);
    assert_true(kernel->track != b->track && wait->track != kernel->track);
    assert_non_null(strstr(kernel->more, "step=7"));
    assert_non_null(strstr(kernel->more, "clock_bound_ns=0u"));
    assert_non_null(strstr(wait->more, "for A"));
    assert_int_equal(launch->begin, a->begin);
    trace_fini(&t);
}

static const struct plumb_timing_node *node_of(const struct plumb_timing *t, const char *name)
{
    for (size_t i = 0; i < t->node_count; i++) {
        if (strcmp(t->nodes[i].name, name) == 0)
            return &t->nodes[i];
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

static void check_killed(const char *dir)
{
    struct child c = child_start("killed", dir, traced);
    const struct plumb_timing_node *node;
    struct plumb_load load;
    struct trace_read t;
    plumb_error err = {0, ""};
    int status;
    size_t kernels;
    child_await_ready(&c);
    kill(c.pid, SIGKILL);
    status = child_end(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (plumb_load_run(&load, in_place(dir), &err) < 0)
        fail_msg("%s", err.message);
    node = node_of(&load.timing, "launch");
    /* An emit that was cut short may have counted its event and no more, on each of 4 threads. */
    assert_true(node->device.ns.count + 4 >= WORKS / 3);
    assert_true(node->use.works + 4 >= WORKS / 3 && node->use.launches >= node->use.works);
    assert_int_equal(load.timing.collector_count, 1);
    assert_int_equal(load.timing.collectors[0].lane_count, QUEUES);
    assert_true(load.timing.collectors[0].lanes[0].events >= WORKS / 3 / QUEUES);
    trace_read_run(&t, in_place(dir));
    kernels = check_kernels(&t);
    assert_true(kernels <= node->device.ns.count + 4 && kernels + 4 >= node->device.ns.count);
    assert_true(trace_says(&t, "plumb.clock.fake.drift_ppm"));
    trace_fini(&t);
    plumb_timing_fini(&load.timing);
}

/* Neither statistics, nor what was in a lane and not yet in the file. */
static void a_killed_process_loses_no_event(void **state)
{
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        char dir[32];
        snprintf(dir, sizeof dir, "killed-%d", i);
        check_killed(dir);
    }
}

/* An event that did not fit is counted in the trace as well, and statistics have all events. */
static void drops_are_counted_where_they_are_and_statistics_have_them(void **state)
{
    const char *const settings[] = {"PLUMB_TRACE=1", NULL};
    struct plumb_load load;
    struct trace_read t;
    uint64_t dropped = 0;
    plumb_error err = {0, ""};
    (void)state;
    run(&t, "burst", "burst", settings);
    for (size_t i = 0; i < t.count; i++) {
        const char *events = strstr(t.slices[i].more, "events=");
        if (strcmp(t.slices[i].name, "\"plumb.dropped\"") == 0 && events)
            dropped += strtoull(events + 7, NULL, 10);
    }
    assert_true(dropped > 0);
    assert_true(trace_says(&t, "1 losers=1 loser="));
    assert_int_equal(trace_count(&t, "kernel") + dropped, BURST);
    if (plumb_load_run(&load, in_place("burst"), &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(node_of(&load.timing, "stage")->device.ns.count, BURST);
    assert_int_equal(node_of(&load.timing, "stage")->use.works, BURST);
    assert_int_equal(load.timing.collectors[0].lanes[0].dropped, dropped);
    trace_fini(&t);
    plumb_timing_fini(&load.timing);
}

static uint64_t arg_of(const struct trace_slice *s, const char *key)
{
    char wanted[16];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(s->more, wanted);
    if (!at)
        fail_msg("no '%s' in '%s'", key, s->more);
    return strtoull(at + 3, NULL, 10);
}

/* Whole events, each once; returns how many. */
static size_t check_numbers(const struct trace_read *t, uint64_t least)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct trace_slice *s = &t->slices[i];
        if (strcmp(s->name, "kernel") != 0)
            continue;
        n++;
        uint64_t a = arg_of(s, "a");
        assert_true(a >= least);
        assert_int_equal(arg_of(s, "b"), a + 1);
        assert_int_equal(arg_of(s, "c"), a + 2);
        assert_int_equal(arg_of(s, "d"), a + 3);
        for (size_t k = i + 1; k < t->count; k++)
            if (strcmp(t->slices[k].name, "kernel") == 0)
                assert_true(arg_of(&t->slices[k], "a") != a);
    }
    return n;
}

static void the_newest_events_of_a_lane_are_kept_whole(void **state)
{
    static const char *const settings[] = {"PLUMB_TRACE=1", "PLUMB_TRACE_MODE=ring", NULL};
    struct trace_read t;
    (void)state;
    run(&t, "ring", "ring", settings);
    assert_int_equal(check_numbers(&t, 10000000 + LAST - PLACES / SLOTS_OF_ONE),
                     PLACES / SLOTS_OF_ONE);
    assert_int_equal(trace_count(&t, "span"), 1);
    trace_fini(&t);
    for (int i = 1; i <= 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "ring/kept-%d.pftrace", i);
        if (access(in_place(path), F_OK) < 0)
            continue; /* one wish that came while another was waiting */
        trace_read_file(&t, in_place(path));
        assert_true(check_numbers(&t, 0) <= PLACES / SLOTS_OF_ONE);
        trace_fini(&t);
    }
}

static void a_killed_flight_recorder_has_the_lanes(void **state)
{
    static const char *const settings[] = {"PLUMB_TRACE=1", "PLUMB_TRACE_MODE=ring",
                                           "PLUMB_COLLECT=fake:queues=3", NULL};
    struct child c = child_start("killed", "killed-ring", settings);
    struct plumb_load load;
    struct trace_read t;
    plumb_error err = {0, ""};
    (void)state;
    child_await_ready(&c);
    kill(c.pid, SIGKILL);
    child_end(&c);
    if (plumb_load_run(&load, in_place("killed-ring"), &err) < 0)
        fail_msg("%s", err.message);
    plumb_timing_fini(&load.timing);
    trace_read_run(&t, in_place("killed-ring"));
    assert_true(check_kernels(&t) > WORKS / 3 - 10);
    trace_fini(&t);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"works", play_works},           {"killed", play_killed},
                                        {"burst", play_burst},           {"ring", play_ring},
                                        {"two_stages", play_two_stages}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_there_once_on_a_lane_without_overlap),
        cmocka_unit_test(a_killed_process_loses_no_event),
        cmocka_unit_test(drops_are_counted_where_they_are_and_statistics_have_them),
        cmocka_unit_test(a_work_lies_where_the_host_waited_for_it),
        cmocka_unit_test(the_newest_events_of_a_lane_are_kept_whole),
        cmocka_unit_test(a_killed_flight_recorder_has_the_lanes),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
