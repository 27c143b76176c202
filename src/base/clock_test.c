/* Tests of clock.c: a reading that is later than all of before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_reading_is_later_than_any_of_before),
        cmocka_unit_test(a_clock_that_stands_still_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
