/* CV-10: with sync on, the device's synchronise function is called exactly twice a span, before
 * each clock read: on the node's device, else the pipeline's; a node without either is never
 * synced. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

struct device {
    plumb_device *handle;
    int syncs;
    pthread_t thread;
    int inside_runtime_calls; /* spans that the device itself records */
};

static void synchronise(void *arg)
{
    struct device *d = arg;
    d->syncs++;
    d->thread = pthread_self();
    if (d->inside_runtime_calls) {
        PLUMB_SPAN("in the device");
    }
}

static struct device pipeline_device, node_device;

static void configure(plumb_pipeline *pipeline, uint32_t sync)
{
    plumb_config c = plumb_config_default();
    c.enabled = 1;
    c.sync = sync;
    c.reset = 1;
    assert_int_equal(plumb_configure(pipeline, &c, NULL), PLUMB_OK);
}

static int setup(void **state)
{
    record_setup(state);
    pipeline_device.handle = plumb_device_register("pipeline", synchronise, &pipeline_device);
    node_device.handle = plumb_device_register("node", synchronise, &node_device);
    assert_non_null(pipeline_device.handle);
    assert_non_null(node_device.handle);
    pipeline_device.syncs = node_device.syncs = 0;
    plumb_pipeline_set_device(NULL, NULL);
    configure(NULL, 1);
    return 0;
}

static void run(const char *name, int times)
{
    plumb_node node = plumb_node_get(name);
    for (int i = 0; i < times; i++) {
        PLUMB_SPAN_NODE(node);
    }
}

static void a_span_is_synced_exactly_twice(void **state)
{
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    run("gpu", 1);
    assert_int_equal(pipeline_device.syncs, 2);
    run("gpu", 500);
    assert_int_equal(pipeline_device.syncs, 2 * 501);
    assert_int_equal(record_count("gpu"), 501);
    assert_true(pthread_equal(pipeline_device.thread, pthread_self()));
}

static void nested_spans_are_each_synced_twice(void **state)
{
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    {
        PLUMB_SPAN("outer");
        run("inner", 3);
    }
    assert_int_equal(pipeline_device.syncs, 2 * 4);
}

static void the_nodes_device_goes_before_the_pipelines(void **state)
{
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    plumb_node_set_device(plumb_node_get("on its own device"), node_device.handle);
    run("on its own device", 5);
    assert_int_equal(node_device.syncs, 10);
    assert_int_equal(pipeline_device.syncs, 0);
    run("gpu", 2);
    assert_int_equal(node_device.syncs, 10);
    assert_int_equal(pipeline_device.syncs, 4);
    plumb_node_set_device(plumb_node_get("on its own device"), NULL);
    run("on its own device", 1);
    assert_int_equal(node_device.syncs, 10);
    assert_int_equal(pipeline_device.syncs, 6);
}

static void a_cpu_only_node_is_never_synced(void **state)
{
    (void)state;
    run("cpu", 100);
    assert_int_equal(record_count("cpu"), 100);
    assert_int_equal(pipeline_device.syncs + node_device.syncs, 0);
}

static void without_sync_nobody_is_synced(void **state)
{
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    plumb_node_set_device(plumb_node_get("other"), node_device.handle);
    configure(NULL, 0);
    run("gpu", 100);
    run("other", 100);
    assert_int_equal(pipeline_device.syncs + node_device.syncs, 0);
    assert_int_equal(record_count("gpu"), 100);
    plumb_node_set_device(plumb_node_get("other"), NULL);
}

static void a_disabled_pipeline_is_not_synced(void **state)
{
    plumb_config c = plumb_config_default();
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    c.sync = 1;
    assert_int_equal(plumb_configure(NULL, &c, NULL), PLUMB_OK);
    run("gpu", 100);
    assert_int_equal(pipeline_device.syncs, 0);
}

static void each_pipeline_syncs_its_own_device(void **state)
{
    plumb_pipeline *other = plumb_pipeline_get("other");
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    plumb_pipeline_set_device(other, node_device.handle);
    configure(other, 1);
    {
        PLUMB_PIPELINE(other);
        run("gpu", 3);
    }
    run("gpu", 2);
    assert_int_equal(node_device.syncs, 6);
    assert_int_equal(pipeline_device.syncs, 4);
}

static void laps_are_synced_before_every_clock_read(void **state)
{
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    {
        PLUMB_LAPS(laps);
        PLUMB_LAP(laps, "first");
        PLUMB_LAP(laps, "second");
        PLUMB_LAP(laps, "third");
    }
    assert_int_equal(record_count("first") + record_count("second") + record_count("third"), 3);
    assert_in_range(pipeline_device.syncs, 4, 6);
}

static void an_abandoned_span_is_synced_like_any_other(void **state)
{
    (void)state;
    plumb_pipeline_set_device(NULL, pipeline_device.handle);
    {
        PLUMB_SPAN_AS(span, "failing");
        plumb_span_fail(span, "why");
    }
    assert_int_equal(pipeline_device.syncs, 2);
    assert_int_equal(record_row("failing").failures, 1);
}

static void the_variable_asks_for_sync(void **state)
{
    plumb_pipeline *fresh = plumb_pipeline_get("fresh");
    (void)state;
    record_stop();
    setenv("PLUMB_SYNC", "yes", 1);
    record_start();
    unsetenv("PLUMB_SYNC");
    plumb_pipeline_set_device(fresh, node_device.handle);
    {
        PLUMB_PIPELINE(fresh);
        run("gpu", 4);
    }
    assert_int_equal(node_device.syncs, 8);
}

static void a_device_that_records_spans_itself_disturbs_nothing(void **state)
{
    (void)state;
    pipeline_device.inside_runtime_calls = 1;
    plumb_node_set_device(plumb_node_get("gpu"), pipeline_device.handle);
    run("gpu", 10);
    assert_int_equal(pipeline_device.syncs, 20);
    assert_int_equal(record_count("gpu"), 10);
    assert_int_equal(record_count("in the device"), 20);
    pipeline_device.inside_runtime_calls = 0;
    plumb_node_set_device(plumb_node_get("gpu"), NULL);
}

static void a_device_without_a_function_is_none(void **state)
{
    (void)state;
    assert_null(plumb_device_register("broken", NULL, NULL));
    plumb_pipeline_set_device(NULL, NULL);
    run("gpu", 1);
    assert_int_equal(record_count("gpu"), 1);
}

static void a_device_that_is_unregistered_is_not_called(void **state)
{
    plumb_device *device = node_device.handle;
    (void)state;
    plumb_pipeline_set_device(NULL, device);
    plumb_node_set_device(plumb_node_get("own"), device);
    run("own", 1);
    run("other", 1);
    assert_int_equal(node_device.syncs, 4);
    assert_int_equal(plumb_device_unregister(device, NULL), PLUMB_OK);
    run("own", 100);
    run("other", 100);
    assert_int_equal(node_device.syncs, 4);
    assert_int_equal(record_count("own"), 101);
    assert_int_equal(plumb_device_unregister(device, NULL), PLUMB_ERR_ARG);
    assert_int_equal(plumb_device_unregister(NULL, NULL), PLUMB_ERR_ARG);
}

/* A plug-in may come and go as often as it likes. */
static void places_of_unregistered_devices_are_used_again(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct device d = {0};
        plumb_node node = plumb_node_get("plug-in");
        d.handle = plumb_device_register("plug-in", synchronise, &d);
        assert_non_null(d.handle);
        plumb_node_set_device(node, d.handle);
        run("plug-in", 1);
        assert_int_equal(d.syncs, 2);
        assert_int_equal(plumb_device_unregister(d.handle, NULL), PLUMB_OK);
    }
}

static uint32_t inside, let_go;

static void synchronise_long(void *arg)
{
    (void)arg;
    __atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&let_go, __ATOMIC_ACQUIRE))
        sched_yield();
    __atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
}

static void *one_span(void *arg)
{
    (void)arg;
    run("long", 1);
    return NULL;
}

static void *let_go_later(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000; i++)
        sched_yield();
    __atomic_store_n(&let_go, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void no_thread_is_in_the_function_of_an_unregistered_device(void **state)
{
    plumb_device *device = plumb_device_register("long", synchronise_long, NULL);
    pthread_t thread, other;
    (void)state;
    plumb_node_set_device(plumb_node_get("long"), device);
    assert_int_equal(pthread_create(&thread, NULL, one_span, NULL), 0);
    while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
        sched_yield();
    assert_int_equal(pthread_create(&other, NULL, let_go_later, NULL), 0);
    assert_int_equal(plumb_device_unregister(device, NULL), PLUMB_OK);
    assert_int_equal(__atomic_load_n(&inside, __ATOMIC_ACQUIRE), 0);
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(a_span_is_synced_exactly_twice),
        IN_A_RUN(nested_spans_are_each_synced_twice),
        IN_A_RUN(the_nodes_device_goes_before_the_pipelines),
        IN_A_RUN(a_cpu_only_node_is_never_synced),
        IN_A_RUN(without_sync_nobody_is_synced),
        IN_A_RUN(a_disabled_pipeline_is_not_synced),
        IN_A_RUN(each_pipeline_syncs_its_own_device),
        IN_A_RUN(laps_are_synced_before_every_clock_read),
        IN_A_RUN(an_abandoned_span_is_synced_like_any_other),
        IN_A_RUN(the_variable_asks_for_sync),
        IN_A_RUN(a_device_that_records_spans_itself_disturbs_nothing),
        IN_A_RUN(a_device_without_a_function_is_none),
        IN_A_RUN(a_device_that_is_unregistered_is_not_called),
        IN_A_RUN(places_of_unregistered_devices_are_used_again),
        IN_A_RUN(no_thread_is_in_the_function_of_an_unregistered_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
