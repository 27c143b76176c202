/* Clocks that cannot be read at will: their collector passes what it measured itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"

#include "live/lane_clock.h"
#include "record/runtime/carve.h"
#include "record/runtime/runtime.h"
#include <plumb/collector.h>

static plumb_lane lane;
static plumb_clock hidden;
enum { AHEAD = 1000000000 }; /* ns that this clock is ahead of the host's */

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options l = plumb_lane_options_default();
    plumb_clock_options c = plumb_clock_options_default();
    (void)arg;
    (void)options;
    l.name = "queue";
    c.name = "hidden";
    if (plumb_clock_open(&hidden, self, &c, err) < 0)
        return PLUMB_ERR_STATE;
    return plumb_lane_open(&lane, self, &l, err);
}

static int emit(uint64_t begin, uint64_t end)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    e.begin = begin;
    e.end = end;
    return plumb_emit(lane, hidden, &e);
}

static plumb_collector *begin(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_collector *c;
    ops.name = "hidden";
    ops.start = start;
    c = plumb_collector_register(&ops, NULL, NULL);
    assert_non_null(c);
    record_start();
    assert_true(hidden.id != 0);
    return c;
}

static void end(plumb_collector *c)
{
    record_stop();
    assert_int_equal(plumb_collector_unregister(c, NULL), PLUMB_OK);
}

/* The time of `source` on the host's clock. */
static struct plumb_lane_time converted(uint64_t source)
{
    struct plumb_lane_time t = {0, 0};
    uint32_t last = plumb_rt.run->h->clocks.count - 1;
    assert_true(plumb_lane_clock_convert(
        &t, plumb_table_at(plumb_rt.run, &plumb_rt.run->h->clocks, last), source, UINT64_MAX));
    return t;
}

static void a_time_has_the_bound_of_the_readings_around_it(void **state)
{
    plumb_collector *c = begin();
    uint64_t now = plumb_host_ticks(), source = record_now_ns() + AHEAD;
    struct plumb_lane_time t;
    (void)state;
    assert_int_equal(emit(source, source), PLUMB_ERR_ARG); /* nothing is known of it yet */
    assert_int_equal(plumb_clock_anchor_between(hidden, source, now - 4000, now - 1000), PLUMB_OK);
    t = converted(source);
    assert_int_equal(t.ticks, now - 2500);
    assert_int_equal(t.bound, 1500);
    assert_int_equal(emit(source - 10, source), PLUMB_OK);
    end(c);
}

static void what_cannot_be_an_anchor_is_refused(void **state)
{
    plumb_collector *c = begin();
    const plumb_clock none = {0};
    uint64_t now = plumb_host_ticks(), source = record_now_ns() + AHEAD;
    (void)state;
    assert_int_equal(plumb_clock_anchor_between(none, source, now, now), PLUMB_ERR_ARG);
    assert_int_equal(plumb_clock_anchor_between(hidden, source, now, now - 1), PLUMB_ERR_ARG);
    assert_int_equal(plumb_clock_anchor_between(hidden, source, 0, UINT64_MAX), PLUMB_ERR_ARG);
    assert_int_equal(plumb_clock_anchor(hidden), PLUMB_ERR_STATE); /* it cannot be read */
    assert_int_equal(plumb_clock_anchor_between(hidden, source, now - 9, now), PLUMB_OK);
    assert_int_equal(plumb_clock_anchor_between(hidden, source - 99, now - 99, now - 90),
                     PLUMB_ERR_STATE); /* earlier than the last */
    end(c);
    assert_int_equal(plumb_clock_anchor_between(hidden, source + 99, now + 99, now + 99),
                     PLUMB_ERR_STATE); /* the run is over */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_time_has_the_bound_of_the_readings_around_it, record_close),
        cmocka_unit_test_teardown(what_cannot_be_an_anchor_is_refused, record_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
