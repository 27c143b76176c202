/* timeout: 120
 * A window that is switched off while its writer waits for the disk, for longer than the switch
 * waits for it. The spans that the writer has in hand reach the file later: they are in it, and not
 * among the losses as well. The disk is the pwrite() of this program, which libplumb calls. */
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
#include "record/runtime/thread.h"
#include "record/trace/switch.h"
#include "record_timing.h"
#include "record_trace.h"
#include "runtime/child.h"
#include "trace_ends.h"

enum { FIRST = 1000, SPANS = 200000 };

static struct {
    uint32_t slow;  /* atomic: a write waits until it is 0 */
    uint32_t waits; /* atomic: one does */
    uint32_t fails; /* atomic: and has failed then */
} disk;

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (PLUMB_ACQUIRE(disk.slow)) {
        PLUMB_RELEASE(disk.waits, 1);
        while (PLUMB_ACQUIRE(disk.slow))
            sched_yield();
        if (PLUMB_ACQUIRE(disk.fails)) {
            errno = EIO;
            return -1;
        }
    }
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

/* The disk is fast again once the window has let go of the thread. */
static void *speed_up(void *arg)
{
    struct plumb_thread *recorder = arg;
    while (PLUMB_LOAD(recorder->queue))
        sched_yield();
    PLUMB_RELEASE(disk.slow, 0);
    return NULL;
}

static void spans(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("work");
    }
}

/* Records SPANS spans in a window. Returns the result of switching it off. */
static int run(const char *place, uint32_t fails, struct trace_read *t, struct plumb_timing *timing)
{
    plumb_options o = plumb_options_default();
    plumb_error err = {0, ""};
    char path[1200];
    pthread_t thread;
    int rc;
    o.run_dir = place;
    disk.waits = 0;
    disk.fails = fails;
    record_start_with(o);
    spans(10);
    assert_int_equal(plumb_trace_switch_on(NULL, path, sizeof path, &err), PLUMB_OK);
    PLUMB_RELEASE(disk.slow, 1);
    spans(FIRST);
    while (!PLUMB_ACQUIRE(disk.waits)) /* it has some of them in hand */
        sched_yield();
    spans(SPANS - FIRST);
    assert_int_equal(pthread_create(&thread, NULL, speed_up, plumb_tls), 0);
    rc = plumb_trace_switch_off(path, sizeof path, &err);
    pthread_join(thread, NULL);
    spans(10);
    trace_read_file(t, path);
    record_finish(timing);
    return rc;
}

static void spans_that_the_writer_has_in_hand_are_not_lost_as_well(void **state)
{
    struct plumb_timing timing;
    struct trace_read t;
    (void)state;
    assert_int_equal(run("slow", 0, &t, &timing), PLUMB_OK);
    assert_int_equal(timing.window_count, 1);
    assert_true(timing.windows[0].dropped > 0); /* otherwise nothing was tested */
    assert_true(timing.windows[0].spans >= FIRST / 2);
    assert_int_equal(trace_tally_of(&t, "work").whole, timing.windows[0].spans);
    assert_int_equal(timing.windows[0].spans + timing.windows[0].dropped, SPANS);
    assert_int_equal(timing_node(&timing, NULL, "work")->untraced, timing.windows[0].dropped);
    trace_fini(&t);
    plumb_timing_fini(&timing);
}

/* Then the file ends where it was committed last, and all that was on its way is lost. */
static void a_disk_that_fails_after_that_loses_what_was_in_hand(void **state)
{
    struct plumb_timing timing;
    struct trace_read t;
    (void)state;
    assert_int_equal(run("fails", 1, &t, &timing), PLUMB_ERR_IO);
    assert_int_equal(timing.windows[0].spans + timing.windows[0].dropped, SPANS);
    assert_int_equal(trace_tally_of(&t, "work").whole, timing.windows[0].spans);
    assert_int_equal(timing_node(&timing, NULL, "work")->untraced, timing.windows[0].dropped);
    trace_fini(&t);
    plumb_timing_fini(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(spans_that_the_writer_has_in_hand_are_not_lost_as_well,
                                  record_close),
        cmocka_unit_test_teardown(a_disk_that_fails_after_that_loses_what_was_in_hand,
                                  record_close),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
