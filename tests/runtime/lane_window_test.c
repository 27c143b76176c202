/* A lane that a collector opens in the instant in which a trace window is switched on: between the
 * moment when lanes get their queues and the moment from which events are in the trace. The instant
 * is that in which libplumb makes the file, by the open() of this program. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "record/trace/switch.h"
#include "record_timing.h"
#include "record_trace.h"
#include "runtime/child.h"
#include "trace_ends.h"
#include <plumb/collector.h>

enum { EVENTS = 10 };
enum { NOTHING, ARMED, NOW, DONE };

static uint32_t instant; /* atomic: one of the above */
static plumb_collector *self;
static plumb_lane early, late;

int open(const char *path, int flags, ...)
{
    const char *dot = strrchr(path, '.');
    mode_t mode = 0;
    va_list ap;
    va_start(ap, flags);
    if (flags & O_CREAT)
        mode = va_arg(ap, mode_t);
    va_end(ap);
    if (dot && strcmp(dot, ".pftrace") == 0 && PLUMB_LOAD(instant) == ARMED) {
        PLUMB_RELEASE(instant, NOW);
        while (PLUMB_ACQUIRE(instant) == NOW)
            sched_yield();
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int open_lane(plumb_lane *out, const char *name)
{
    plumb_lane_options o = plumb_lane_options_default();
    o.name = name;
    o.slots = 64; /* fits what there is: the helper, which would make space, waits */
    return plumb_lane_open(out, self, &o, NULL);
}

static int start(plumb_collector *c, void *arg, const char *options, plumb_error *err)
{
    (void)arg;
    (void)options;
    (void)err;
    self = c;
    return open_lane(&early, "early");
}

static void *open_late(void *arg)
{
    while (PLUMB_ACQUIRE(instant) != NOW)
        sched_yield();
    *(int *)arg = open_lane(&late, "late");
    PLUMB_RELEASE(instant, DONE);
    return NULL;
}

static void emit(plumb_lane lane, const char *name)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    const plumb_clock host = {0};
    e.name = plumb_name_get(name);
    e.begin = plumb_host_ticks();
    e.end = plumb_host_ticks();
    assert_int_equal(plumb_emit(lane, host, &e), PLUMB_OK);
}

static void a_lane_of_the_instant_of_the_switch_is_in_the_trace(void **state)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    plumb_options o = plumb_options_default();
    struct trace_read t;
    plumb_error err = {0, ""};
    pthread_t thread;
    char path[1200];
    int rc = -1;
    (void)state;
    ops.name = "two_lanes";
    ops.start = start;
    assert_non_null(plumb_collector_register(&ops, NULL, &err));
    o.run_dir = "instant";
    record_start_with(o);
    assert_int_equal(pthread_create(&thread, NULL, open_late, &rc), 0);
    PLUMB_RELEASE(instant, ARMED);
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_OK);
    pthread_join(thread, NULL);
    assert_int_equal(rc, PLUMB_OK);
    for (int i = 0; i < EVENTS; i++) {
        emit(early, "of_early");
        emit(late, "of_late");
    }
    assert_int_equal(plumb_trace_switch_off(path, sizeof path, &err), PLUMB_OK);
    trace_read_file(&t, path);
    assert_int_equal(trace_count(&t, "of_early"), EVENTS);
    assert_int_equal(trace_count(&t, "of_late"), EVENTS);
    trace_fini(&t);
    record_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_lane_of_the_instant_of_the_switch_is_in_the_trace,
                                  record_close),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
