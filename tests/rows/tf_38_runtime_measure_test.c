/* TF-38: how long something took by a clock that the caller gives, and its devices' peaks, each
 * device once; the work may be spread over threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record_memory.h"

static double times[2];
static int reading;

static double next_time(void *arg)
{
    assert_ptr_equal(arg, times);
    return times[reading++];
}

static plumb_runtime_options options(void)
{
    plumb_runtime_options o = {.size = sizeof o};
    o.now_s = next_time;
    o.arg = times;
    reading = 0;
    times[0] = 10.0;
    times[1] = 12.5;
    return o;
}

static void an_injected_clock_gives_exact_seconds(void **state)
{
    plumb_runtime_options o = options();
    plumb_runtime_result result = {.size = sizeof result};
    plumb_runtime_run *run;
    (void)state;
    assert_int_equal(plumb_runtime_begin(&run, &o, NULL), PLUMB_OK);
    assert_int_equal(plumb_runtime_finish(run, &result, NULL), PLUMB_OK);
    assert_true(result.seconds == 2.5);
    assert_int_equal(result.device_count, 0);
}

static void *allocate(void *arg)
{
    (void)arg;
    mem_alloc(2, 2000);
    mem_free(2);
    return NULL;
}

static void peaks_of_each_device_once(void **state)
{
    static const char *const devices[] = {"cuda:0", "cuda:1", "cuda:0", "xpu:0"};
    plumb_runtime_options o = options();
    plumb_runtime_result result = {.size = sizeof result};
    plumb_runtime_run *run;
    pthread_t thread;
    (void)state;
    mem_alloc(1, 5000);
    mem_free(1); /* before: not its peak */
    mem_alloc(1, 100);
    o.devices = devices;
    o.device_count = 4;
    o.capture_peak_memory = 1;
    assert_int_equal(plumb_runtime_begin(&run, &o, NULL), PLUMB_OK);
    plumb_mem_reserve("cuda:0", "caching", NULL, 4096);
    assert_int_equal(pthread_create(&thread, NULL, allocate, NULL), 0);
    pthread_join(thread, NULL);
    plumb_memory_reset_peak(); /* somebody else's business */
    assert_int_equal(plumb_runtime_finish(run, &result, NULL), PLUMB_OK);
    assert_int_equal(result.device_count, 3);
    assert_string_equal(result.memory[0].device, "cuda:0");
    assert_int_equal(result.memory[0].peak_allocated_bytes, 2100);
    assert_int_equal(result.memory[0].peak_reserved_bytes, 4096);
    assert_string_equal(result.memory[1].device, "cuda:1");
    assert_int_equal(result.memory[1].peak_allocated_bytes, 0);
    assert_string_equal(result.memory[2].device, "xpu:0");
}

static void measures_without_a_recording(void **state)
{
    plumb_runtime_options o = options();
    plumb_runtime_result result = {.size = sizeof result};
    plumb_runtime_run *run;
    (void)state;
    o.capture_peak_memory = 1;
    assert_false(plumb_is_recording());
    assert_int_equal(plumb_runtime_begin(&run, &o, NULL), PLUMB_OK);
    assert_int_equal(plumb_runtime_finish(run, &result, NULL), PLUMB_OK);
    assert_true(result.seconds == 2.5);
}

static void bad_arguments_are_refused_with_a_reason(void **state)
{
    const char *const unnamed[] = {NULL};
    plumb_runtime_options o = options();
    plumb_runtime_run *run;
    plumb_error err;
    (void)state;
    o.devices = unnamed;
    o.device_count = 1;
    assert_int_equal(plumb_runtime_begin(&run, &o, &err), PLUMB_ERR_ARG);
    assert_non_null(strstr(err.message, "device"));
    assert_null(run);
    o.devices = NULL;
    o.device_count = 2;
    assert_int_equal(plumb_runtime_begin(&run, &o, &err), PLUMB_ERR_ARG);
    assert_string_equal(err.message, "plumb_runtime_begin: devices is NULL, but device_count is 2");
    assert_null(run);
    assert_true(plumb_runtime_finish(NULL, NULL, &err) < 0);
}

int main(void)
{
#define IN_A_RUN(f) cmocka_unit_test_setup_teardown(f, record_setup, record_teardown)
    const struct CMUnitTest tests[] = {
        IN_A_RUN(an_injected_clock_gives_exact_seconds),
        IN_A_RUN(peaks_of_each_device_once),
        cmocka_unit_test(measures_without_a_recording),
        IN_A_RUN(bad_arguments_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
