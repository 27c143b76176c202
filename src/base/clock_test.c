/* Tests of clock.c: a reading that is later than all of before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

/* The kernel's clock: as it is, one made of the counter, or a device that takes a while to read. */
static enum { AS_IT_IS, COUNTER, DEVICE } kernel_clock;

int clock_gettime(clockid_t id, struct timespec *t)
{
#if defined(__x86_64__)
    uint64_t now = __rdtsc();
    if (kernel_clock == DEVICE)
        while (__rdtsc() < now + 8000)
            continue;
    if (kernel_clock != AS_IT_IS) {
        now = __rdtsc() / 4;
        t->tv_sec = (time_t)(now / 1000000000);
        t->tv_nsec = (long)(now % 1000000000);
        return 0;
    }
#endif
    return (int)syscall(SYS_clock_gettime, id, t);
}

static void the_next_reading_is_later_than_any_of_before(void **state)
{
    const enum plumb_clock_source sources[] = {PLUMB_CLOCK_GETTIME,
                                               plumb_clock_pick(PLUMB_CLOCK_AUTO)};
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t before = plumb_ticks_from(sources[i % 2]);
        uint64_t next = plumb_ticks_next(sources[i % 2]);
        assert_true(next > before);
        assert_true(plumb_ticks_from(sources[i % 2]) >= next);
    }
}

static void a_clock_that_stands_still_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(plumb_ticks_next(PLUMB_CLOCK_VIRTUAL), plumb_clock_virtual_ns);
}

static bool trusted(const char *source)
{
    FILE *f = fopen("source", "we");
    assert_non_null(f);
    assert_true(fprintf(f, "%s\n", source) > 0);
    assert_int_equal(fclose(f), 0);
    return plumb_clock_counter_is_trusted("source");
}

static void the_counter_is_trusted_as_far_as_the_kernel_does(void **state)
{
    (void)state;
    if (!trusted("tsc"))
        skip(); /* no such counter */
    assert_true(trusted("kvm-clock"));
    assert_false(trusted("hpet"));
    assert_false(trusted("acpi_pm"));
    kernel_clock = COUNTER;
    assert_true(plumb_clock_counter_is_trusted("no/such/file"));
    kernel_clock = DEVICE;
    assert_false(plumb_clock_counter_is_trusted("no/such/file"));
    assert_true(trusted("tsc"));
    kernel_clock = AS_IT_IS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_reading_is_later_than_any_of_before),
        cmocka_unit_test(a_clock_that_stands_still_is_not_waited_for),
        cmocka_unit_test(the_counter_is_trusted_as_far_as_the_kernel_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
