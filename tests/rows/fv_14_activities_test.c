/* Host spans are always collected; a device's work by whoever finds its device, whatever kind it
 * is. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include <plumb/fake.h>

static int found; /* whether the machine has the device */

static int now(uint64_t *out, void *arg)
{
    (void)arg;
    *out = record_now_ns();
    return 0;
}

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options lane = plumb_lane_options_default();
    plumb_clock_options clock = plumb_clock_options_default();
    plumb_event work = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_origin origin;
    plumb_lane l;
    plumb_clock c;
    (void)arg;
    if (!found) {
        err->code = PLUMB_ERR_ABSENT;
        strcpy(err->message, "this machine has no npu");
        return PLUMB_ERR_ABSENT;
    }
    assert_true(options[0] == '\0' || strcmp(options, "fast=1") == 0);
    lane.name = "npu queue";
    lane.device = "npu:0";
    clock.now = now;
    if (plumb_lane_open(&l, self, &lane, err) < 0 || plumb_clock_open(&c, self, &clock, err) < 0)
        return PLUMB_ERR_STATE;
    plumb_origin_capture(&origin, l, plumb_node_get("on the npu"));
    now(&work.end, NULL);
    work.begin = work.end - 5000;
    work.origin = &origin;
    return plumb_emit(l, c, &work);
}

static plumb_collector *npu;

static int setup(void **state)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    (void)state;
    ops.name = "npu";
    ops.help = "another vendor's device";
    ops.start = start;
    npu = plumb_collector_register(&ops, NULL, NULL);
    return npu ? 0 : -1;
}

static uint32_t recorded(const char *collect, double *device_ms)
{
    plumb_options o = plumb_options_default();
    plumb_collector_status s;
    plumb_row row;
    o.collect = collect;
    record_start_with(o);
    {
        PLUMB_SPAN("on the host");
    }
    assert_int_equal(record_count("on the host"), 1);
    row = record_row("on the npu");
    assert_int_equal(plumb_collector_status_get(&s, npu), PLUMB_OK);
    record_stop();
    *device_ms = row.device_total_ms;
    return s.state;
}

static void device_work_is_collected_where_the_device_is(void **state)
{
    double ms;
    (void)state;
    found = 0;
    assert_int_equal(recorded(NULL, &ms), PLUMB_COLLECTOR_ABSENT);
    assert_true(ms == 0);
    found = 1;
    assert_int_equal(recorded(NULL, &ms), PLUMB_COLLECTOR_RUNNING);
    assert_true(ms > 0.0049 && ms < 0.0051);
}

static void collectors_can_be_chosen(void **state)
{
    double ms;
    (void)state;
    found = 1;
    assert_int_equal(recorded("none", &ms), PLUMB_COLLECTOR_IDLE);
    assert_true(ms == 0);
    assert_int_equal(recorded("fake", &ms), PLUMB_COLLECTOR_IDLE);
    assert_int_equal(recorded("fake,npu:fast=1", &ms), PLUMB_COLLECTOR_RUNNING);
    assert_true(ms > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(device_work_is_collected_where_the_device_is, record_close),
        cmocka_unit_test_teardown(collectors_can_be_chosen, record_close),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
