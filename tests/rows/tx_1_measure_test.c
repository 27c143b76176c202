/* TX-1: plumb_measure() warms up, synchronises before each clock read and returns the upper middle
 * of the samples; asynchronous work counts in full; (+) a pipeline that was never executed is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

/* A device with a queue: launching is free, synchronising does what was launched. */
static struct {
    int queued, done, syncs, calls;
    int calls_at_sync[64];
    uint64_t work_ns;
} fake;

static void fake_sync(void *arg)
{
    assert_ptr_equal(arg, &fake);
    if (fake.syncs < 64)
        fake.calls_at_sync[fake.syncs] = fake.calls;
    fake.syncs++;
    for (; fake.done < fake.queued; fake.done++)
        record_work_ns(fake.work_ns);
}

static void launch(void *arg)
{
    assert_ptr_equal(arg, &fake);
    fake.calls++;
    fake.queued++;
}

static plumb_device *device;

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    if (!device)
        device = plumb_device_register("fake", fake_sync, &fake);
    assert_non_null(device);
    return 0;
}

static plumb_measure_options options(void)
{
    plumb_measure_options o;
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    return o;
}

static void three_warm_ups_and_twenty_samples_are_the_default(void **state)
{
    plumb_measured m;
    (void)state;
    assert_int_equal(plumb_measure(&m, launch, &fake, NULL, NULL), PLUMB_OK);
    assert_int_equal(fake.calls, 23);
    assert_int_equal(m.warmups, 3);
    assert_int_equal(m.samples, 20);
    assert_int_equal(fake.syncs, 0);
    assert_true(m.min_ns <= m.median_ns && m.median_ns <= m.max_ns);
    assert_true(m.min_ns <= m.mean_ns && m.mean_ns <= m.max_ns);
}

static void asynchronous_work_counts_in_full(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m;
    (void)state;
    fake.work_ns = 500000;
    o.device = device;
    o.samples = 5;
    assert_int_equal(plumb_measure(&m, launch, &fake, &o, NULL), PLUMB_OK);
    assert_true(m.min_ns >= 500000 && m.median_ns >= 500000);
    assert_int_equal(fake.done, 8);
}

static void the_device_is_synchronised_before_each_clock_read(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m;
    (void)state;
    o.device = device;
    o.warmups = 2;
    o.samples = 4;
    assert_int_equal(plumb_measure(&m, launch, &fake, &o, NULL), PLUMB_OK);
    /* Before and after each sample, and what the warm-ups left is done before the first begins. */
    assert_int_equal(fake.syncs, 8);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fake.calls_at_sync[2 * i], 2 + i);
        assert_int_equal(fake.calls_at_sync[2 * i + 1], 3 + i);
    }
}

static void warm_ups_are_not_in_the_samples(void **state);

static void slow_at_first(void *arg)
{
    launch(arg);
    if (fake.calls <= 3)
        record_work_ns(20000000);
    else
        record_work_ns(1000);
}

static void warm_ups_are_not_in_the_samples(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m;
    uint64_t begin;
    (void)state;
    o.samples = 1;
    begin = record_now_ns();
    assert_int_equal(plumb_measure(&m, slow_at_first, &fake, &o, NULL), PLUMB_OK);
    /* 60 ms of warm-ups lie outside the only sample. */
    assert_true(m.median_ns + 60e6 <= (double)(record_now_ns() - begin));
    o.warmups = -1;
    fake.calls = 0;
    assert_int_equal(plumb_measure(&m, slow_at_first, &fake, &o, NULL), PLUMB_OK);
    assert_int_equal(m.warmups, 0);
    assert_true(m.median_ns >= 20e6);
}

static void fast_then_slow(void *arg)
{
    launch(arg);
    if (fake.calls > 2)
        record_work_ns(20000000);
}

static void the_median_is_the_upper_middle(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m;
    (void)state;
    o.warmups = -1;
    o.samples = 4;
    /* Two short, two long samples: the lower middle is short, and so is their mean below 20 ms. */
    assert_int_equal(plumb_measure(&m, fast_then_slow, &fake, &o, NULL), PLUMB_OK);
    assert_true(m.median_ns >= 20e6);
    assert_true(m.median_ns <= m.max_ns);
}

static int counted_calls, executed_from;

static void lazy(void *arg)
{
    (void)arg;
    /* Builds a graph; only later calls execute it. */
    if (++counted_calls >= executed_from)
        plumb_counter_add("dispatches", 1);
}

static void a_lazy_pipeline_that_never_ran_is_refused(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m, before;
    plumb_error err = {0, ""};
    (void)state;
    memset(&m, 0x5a, sizeof m);
    before = m;
    record_start();
    o.counter = "dispatches";
    counted_calls = 0;
    executed_from = 1000000;
    assert_int_equal(plumb_measure(&m, lazy, NULL, &o, &err), PLUMB_ERR_NOT_RUN);
    assert_int_equal(err.code, PLUMB_ERR_NOT_RUN);
    assert_non_null(strstr(err.message, "'dispatches'"));
    assert_memory_equal(&m, &before, sizeof m);
    counted_calls = 0;
    executed_from = 1;
    assert_int_equal(plumb_measure(&m, lazy, NULL, &o, &err), PLUMB_OK);
    assert_int_equal(m.samples, 20);
    /* Executed in the warm-ups alone does not count. */
    counted_calls = 0;
    executed_from = 10;
    assert_int_equal(plumb_measure(&m, lazy, NULL, &o, &err), PLUMB_ERR_NOT_RUN);
    record_stop();
}

static void a_counter_cannot_be_checked_while_nothing_is_recorded(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m;
    plumb_error err = {0, ""};
    (void)state;
    o.counter = "dispatches";
    assert_int_equal(plumb_measure(&m, lazy, NULL, &o, &err), PLUMB_ERR_STATE);
    assert_true(err.message[0] != '\0');
}

static void wrong_arguments_are_refused(void **state)
{
    plumb_measure_options o = options();
    plumb_measured m;
    (void)state;
    assert_int_equal(plumb_measure(NULL, launch, &fake, NULL, NULL), PLUMB_ERR_ARG);
    assert_int_equal(plumb_measure(&m, NULL, &fake, NULL, NULL), PLUMB_ERR_ARG);
    o.samples = -1;
    assert_int_equal(plumb_measure(&m, launch, &fake, &o, NULL), PLUMB_ERR_ARG);
    o.samples = 2000000000;
    assert_int_equal(plumb_measure(&m, launch, &fake, &o, NULL), PLUMB_ERR_ARG);
    assert_int_equal(fake.calls, 0);
}

int main(void)
{
#define FRESH(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        FRESH(three_warm_ups_and_twenty_samples_are_the_default),
        FRESH(asynchronous_work_counts_in_full),
        FRESH(the_device_is_synchronised_before_each_clock_read),
        FRESH(warm_ups_are_not_in_the_samples),
        FRESH(the_median_is_the_upper_middle),
        FRESH(a_lazy_pipeline_that_never_ran_is_refused),
        FRESH(a_counter_cannot_be_checked_while_nothing_is_recorded),
        FRESH(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
