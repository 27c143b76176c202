/* Times on an asynchronous device: host and device are separate, waits are named, and all time is
 * accounted for. The clock moves only when the test moves it, so every figure is exact. */
#include <pthread.h>

#include "child.h"

#include "model/timing.h"
#include "read/run/timing.h"
#include <plumb/fake.h>

enum { MS = 1000000 };

/* ---- Roles ----------------------------------------------------------------------------------- */

/* A enqueues 100 ms and returns at once, B blocks until they are done. */
static void two_stages(const char *id, uint64_t before_b)
{
    plumb_request r = plumb_request_begin(id, NULL);
    uint64_t work;
    {
        PLUMB_STAGE(a, "A");
        work = plumb_fake_enqueue(0, 0, "kernel", 100 * MS);
        ROLE_NEEDS(work != 0);
    }
    ROLE_NEEDS(plumb_fake_advance(before_b) == PLUMB_OK);
    {
        PLUMB_STAGE(b, "B");
        ROLE_NEEDS(plumb_fake_wait(work) == PLUMB_OK);
    }
    plumb_request_end(r);
}

static int play_two_stages(void)
{
    two_stages("whole", 0);
    return 0;
}

static int play_gap(void)
{
    two_stages("gap", 10 * MS);
    two_stages("small gap", 1 * MS);
    return 0;
}

/* Work launched by a nested node, and by a worker that has adopted the stage's context. */
static void *worker(void *arg)
{
    PLUMB_ADOPT(arg);
    {
        PLUMB_SPAN("worker");
        ROLE_NEEDS(plumb_fake_enqueue(0, 1, "kernel", 7 * MS) != 0);
    }
    return NULL;
}

static int play_nested(void)
{
    plumb_context context;
    pthread_t thread;
    uint64_t last;
    PLUMB_STAGE(outer, "outer");
    {
        PLUMB_STAGE(inner, "inner");
        {
            PLUMB_SPAN("layer");
            last = plumb_fake_enqueue(0, 0, "kernel", 30 * MS);
            last = plumb_fake_enqueue(plumb_node_get("named"), 0, "kernel", 10 * MS);
        }
        plumb_context_capture(&context);
        ROLE_NEEDS(pthread_create(&thread, NULL, worker, &context) == 0);
        pthread_join(thread, NULL);
    }
    ROLE_NEEDS(plumb_fake_wait(last) == PLUMB_OK);
    return 0;
}

static void sync_nothing(void *arg)
{
    (void)arg;
}

static int play_launch_only(void)
{
    plumb_device *device = plumb_device_register("dev", sync_nothing, NULL);
    plumb_node_set_device(plumb_node_get("on a device"), device);
    {
        PLUMB_SPAN("on a device");
    }
    {
        PLUMB_SPAN("launches");
        ROLE_NEEDS(plumb_fake_enqueue(0, 0, "kernel", MS) != 0);
    }
    {
        PLUMB_SPAN("on no device");
    }
    return 0;
}

/* ---- The test's side ------------------------------------------------------------------------- */

static void record(struct plumb_timing *t, const char *role, const char *dir,
                   const char *const *settings)
{
    struct child c = child_start(role, dir, settings);
    plumb_error err = {0, ""};
    int status = child_end(&c);
    char file[1200];
    snprintf(file, sizeof file, "%s/timing.json", in_place(dir));
    if (status)
        fail_msg("%s: status %x: %s", role, status, child_errors(&c));
    if (plumb_timing_read(t, file, &err) < 0)
        fail_msg("%s", err.message);
}

static const char *const exact[] = {"PLUMB_CLOCK=virtual", "PLUMB_COLLECT=fake:queues=2", NULL};

static const struct plumb_timing_node *node_of(const struct plumb_timing *t, const char *name)
{
    for (size_t i = 0; i < t->node_count; i++) {
        if (strcmp(t->nodes[i].name, name) == 0)
            return &t->nodes[i];
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

static void a_launch_takes_no_host_time_and_a_wait_no_device_time(void **state)
{
    struct plumb_timing t;
    const struct plumb_timing_node *a, *b;
    const struct plumb_timing_request *r;
    (void)state;
    record(&t, "two_stages", "two-stages", exact);
    a = node_of(&t, "A");
    b = node_of(&t, "B");
    assert_int_equal(a->host.ns.total, 0);
    assert_int_equal(a->device.ns.count, 1);
    assert_int_equal(a->device.ns.total, 100 * MS);
    assert_int_equal(a->use.device_ns, 100 * MS);
    assert_int_equal(a->use.launches, 1);
    assert_int_equal(a->use.wait_ns, 0);
    assert_int_equal(b->host.ns.total, 100 * MS);
    assert_int_equal(b->device.ns.count, 0);
    assert_int_equal(b->use.device_ns, 0);
    assert_int_equal(b->use.wait_ns, 100 * MS);
    assert_int_equal(b->use.waited_for, 1);
    assert_string_equal(t.nodes[b->use.waits[0].node].name, "A");
    assert_int_equal(b->use.waits[0].ns, 100 * MS);
    r = &t.requests[0];
    assert_int_equal(r->wall_ns, 100 * MS);
    assert_int_equal(r->exclusive_ns, 100 * MS);
    assert_int_equal(r->stages[0].use.device_ns, 100 * MS);
    assert_int_equal(r->stages[0].exclusive_ns, 0);
    assert_int_equal(r->stages[1].use.wait_ns, 100 * MS);
    assert_int_equal(r->stages[1].exclusive_ns, 100 * MS);
    assert_int_equal(t.collector_count, 1);
    assert_string_equal(t.collectors[0].state, "stopped");
    assert_int_equal(t.collectors[0].clocks[0].bound_ns, 0);
    assert_true(t.collectors[0].clocks[0].drift_ppm > 49.99 &&
                t.collectors[0].clocks[0].drift_ppm < 50.01);
    plumb_timing_fini(&t);
}

static void what_no_stage_explains_is_named(void **state)
{
    struct plumb_timing t;
    struct plumb_buf line = {0};
    (void)state;
    record(&t, "gap", "gap", exact);
    for (size_t i = 0; i < 2; i++) {
        const struct plumb_timing_request *r = &t.requests[i];
        uint64_t sum = plumb_timing_unaccounted_ns(r);
        for (size_t k = 0; k < r->stage_count; k++)
            sum += r->stages[k].exclusive_ns;
        assert_int_equal(sum, r->wall_ns);
        assert_int_equal(r->wall_ns, 100 * MS);
        assert_int_equal(r->gap.ns, i == 0 ? 10 * MS : MS);
        assert_string_equal(t.nodes[r->gap.after].name, "A");
        assert_string_equal(t.nodes[r->gap.before].name, "B");
    }
    assert_true(plumb_timing_unaccounted_line(&line, &t));
    assert_string_equal(line.data, "request 'gap': 10.0 % of it (10.00 ms) lies in none of its "
                                   "stages; the longest gap, 10.00 ms, is between 'A' and 'B'");
    plumb_buf_fini(&line);
    plumb_timing_fini(&t);
}

static void work_belongs_to_its_node_and_to_the_stage_around_it(void **state)
{
    struct plumb_timing t;
    (void)state;
    record(&t, "nested", "nested", exact);
    assert_int_equal(node_of(&t, "layer")->device.ns.total, 30 * MS);
    assert_int_equal(node_of(&t, "named")->device.ns.total, 10 * MS);
    assert_int_equal(node_of(&t, "worker")->device.ns.total, 7 * MS);
    assert_int_equal(node_of(&t, "inner")->device.ns.count, 0);
    assert_int_equal(node_of(&t, "inner")->use.device_ns, 40 * MS);
    assert_int_equal(node_of(&t, "inner")->use.works, 2);
    assert_int_equal(node_of(&t, "outer")->use.device_ns, 0);
    assert_int_equal(node_of(&t, "outer")->use.wait_ns, 40 * MS);
    assert_string_equal(t.nodes[node_of(&t, "outer")->use.waits[0].node].name, "inner");
    assert_int_equal(node_of(&t, "worker")->use.device_ns, 7 * MS);
    plumb_timing_fini(&t);
}

static void rows_without_sync_or_events_are_launch_times(void **state)
{
    const char *const launches[] = {"PLUMB_CLOCK=virtual", "PLUMB_COLLECT=fake:events=0", NULL};
    const char *const synced[] = {"PLUMB_CLOCK=virtual", "PLUMB_COLLECT=fake:events=0",
                                  "PLUMB_SYNC=1", NULL};
    struct plumb_timing t;
    (void)state;
    record(&t, "launch_only", "launch-only", launches);
    assert_string_equal(plumb_timing_device_times(node_of(&t, "on a device")), "launch");
    assert_string_equal(plumb_timing_device_times(node_of(&t, "launches")), "launch");
    assert_string_equal(plumb_timing_device_times(node_of(&t, "on no device")), "");
    assert_true(t.collectors[0].lanes[0].launch_only);
    plumb_timing_fini(&t);
    record(&t, "launch_only", "synced", synced);
    assert_string_equal(plumb_timing_device_times(node_of(&t, "on a device")), "synced");
    assert_string_equal(plumb_timing_device_times(node_of(&t, "launches")), "launch");
    plumb_timing_fini(&t);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {{"two_stages", play_two_stages},
                                        {"gap", play_gap},
                                        {"nested", play_nested},
                                        {"launch_only", play_launch_only},
                                        {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_takes_no_host_time_and_a_wait_no_device_time),
        cmocka_unit_test(what_no_stage_explains_is_named),
        cmocka_unit_test(work_belongs_to_its_node_and_to_the_stage_around_it),
        cmocka_unit_test(rows_without_sync_or_events_are_launch_times),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
