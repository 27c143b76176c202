/* How often memory is sampled: half as often when samples have filled a series, and as before when
 * stages have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/stage/ledger.h"

enum { POINTS = 5000 };

/* Points of a resident set that changes; `samples` of them, each time, are of plumb's own thread.
 */
static uint64_t pause_after_points(uint64_t samples)
{
    struct plumb_run *run = plumb_rt.run;
    uint64_t pause_ns;
    pthread_mutex_lock(&plumb_rt.ledger_lock);
    run->samples = 0;
    for (uint64_t i = 0; i < POINTS; i++) {
        if (i % 2 < samples)
            run->samples++;
        plumb_series_point(run, run->h->start.ticks + i, 1000000 + i % 7);
    }
    pause_ns = run->sample_pause_ns;
    pthread_mutex_unlock(&plumb_rt.ledger_lock);
    return pause_ns;
}

static void stages_that_fill_a_series_do_not_slow_the_samples(void **state)
{
    uint64_t before;
    (void)state;
    before = plumb_rt.run->sample_pause_ns;
    assert_true(before > 0);
    assert_int_equal(pause_after_points(0), before);
    assert_true(pause_after_points(1) > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stages_that_fill_a_series_do_not_slow_the_samples,
                                        record_setup, record_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
