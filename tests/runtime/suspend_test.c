/* labels: notsan
 * The machine is suspended while a run records: its counter goes on, and CLOCK_MONOTONIC_RAW stands
 * still for a while. This program's own clock_gettime() simulates such a clock. Durations before
 * and after the pause stay right, and the report mentions it. */
#include <sys/syscall.h>
#include <time.h>

#include "record/runtime/enter.h"
#include "record/runtime/runtime.h"
#include "runtime/child.h"

#include "record_trace.h"
#include "virtual_clock.h"

enum { SPANS = 20, SPAN_NS = 5000000, ASLEEP_NS = 400000000 };

#define WAIT_NS UINT64_C(20000000000)

/* ---- A clock that stands still --------------------------------------------------------------- */

static uint64_t still_from, still_until; /* real time; 0: it goes */

static uint64_t real_ns(clockid_t id)
{
    struct timespec t;
    syscall(SYS_clock_gettime, id, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    uint64_t from = PLUMB_ACQUIRE(still_from), until = PLUMB_ACQUIRE(still_until),
             now = real_ns(id);
    if (id == CLOCK_MONOTONIC_RAW && from && now > from)
        now = now < until ? from : now - (until - from);
    t->tv_sec = (time_t)(now / 1000000000);
    t->tv_nsec = (long)(now % 1000000000);
    return 0;
}

static void be_suspended(void)
{
    uint64_t now = real_ns(CLOCK_MONOTONIC_RAW);
    PLUMB_RELEASE(still_until, now + ASLEEP_NS);
    PLUMB_RELEASE(still_from, now);
    while (real_ns(CLOCK_MONOTONIC_RAW) <= now + ASLEEP_NS)
        continue;
}

/* ---- Durations ------------------------------------------------------------------------------- */

static void spans(uint64_t ticks)
{
    for (int i = 0; i < SPANS; i++) {
        PLUMB_SPAN("work");
        uint64_t until = plumb_ticks_from(PLUMB_CLOCK_TSC) + ticks;
        while (plumb_ticks_from(PLUMB_CLOCK_TSC) < until)
            continue;
    }
}

/* How many ticks there are in SPAN_NS, by the real clocks. Written down for the test. */
static uint64_t ticks_of_a_span(void)
{
    uint64_t ns = real_ns(CLOCK_MONOTONIC_RAW), ticks = plumb_ticks_from(PLUMB_CLOCK_TSC), now;
    FILE *f = fopen("tick_ns", "we");
    double tick_ns;
    while ((now = real_ns(CLOCK_MONOTONIC_RAW)) < ns + 50000000)
        continue;
    tick_ns = (double)(now - ns) / (double)(plumb_ticks_from(PLUMB_CLOCK_TSC) - ticks);
    ROLE_NEEDS(f && fprintf(f, "%.9f\n", tick_ns) > 0 && fclose(f) == 0);
    return (uint64_t)(SPAN_NS / tick_ns);
}

static int role_suspended(void)
{
    uint64_t ticks = ticks_of_a_span();
    spans(ticks);
    be_suspended();
    spans(ticks);
    return 0;
}

static uint32_t jumps_seen(void)
{
    const struct plumb_live_header *h = plumb_rt.run->h;
    return h->now[PLUMB_ACQUIRE(h->anchor) & 1].jumps;
}

static int role_suspended_and_killed(void)
{
    uint64_t ticks = ticks_of_a_span();
    spans(ticks);
    be_suspended();
    for (uint64_t until = real_ns(CLOCK_MONOTONIC) + WAIT_NS; !jumps_seen(); sched_yield())
        ROLE_NEEDS(real_ns(CLOCK_MONOTONIC) < until);
    spans(ticks);
    kill(getpid(), SIGKILL);
    return 0;
}

static bool has_counter(void)
{
    return plumb_clock_pick(PLUMB_CLOCK_USE_TSC) == PLUMB_CLOCK_TSC;
}

static double tick_ns_of_the_role(void)
{
    FILE *f = fopen("tick_ns", "re");
    double tick_ns = 0;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lf", &tick_ns), 1);
    fclose(f);
    return tick_ns;
}

static void assert_durations_hold(const char *role)
{
    struct plumb_load run;
    const struct plumb_timing_node *work;
    double off;
    load_run(&run, in_place(role));
    off = run.timing.clock.tick_ns / tick_ns_of_the_role() - 1;
    if (!(off < 2e-3 && off > -2e-3))
        fail_msg("tick_ns is %.6f, should be %.6f", run.timing.clock.tick_ns,
                 tick_ns_of_the_role());
    work = node_in(&run.timing, "inference", "work");
    assert_int_equal(work->host.ns.count, 2 * SPANS);
    assert_true(work->host.ns.min > SPAN_NS * 0.99);
    assert_int_equal(run.timing.clock.jumps, 1);
    assert_int_equal(run.timing.note_count, 1);
    assert_non_null(strstr(run.timing.notes[0], "its counter went on for 0."));
    plumb_timing_fini(&run.timing);
}

static void a_suspend_changes_no_duration(void **state)
{
    static const char *const settings[] = {"PLUMB_CLOCK=tsc", NULL};
    struct child c;
    (void)state;
    if (!has_counter()) {
        print_message("skipped: the clock of this machine is not the processor's counter\n");
        skip();
    }
    assert_exited(&c, child_run(&c, "suspended", "suspended", settings), 0);
    assert_durations_hold("suspended");
}

static void a_suspend_changes_no_duration_of_a_killed_run(void **state)
{
    static const char *const settings[] = {"PLUMB_CLOCK=tsc", NULL};
    struct child c;
    (void)state;
    if (!has_counter()) {
        print_message("skipped: the clock of this machine is not the processor's counter\n");
        skip();
    }
    assert_signaled(&c, child_run(&c, "suspended_and_killed", "suspended_and_killed", settings),
                    SIGKILL);
    assert_durations_hold("suspended_and_killed");
}

/* ---- Places in time, with a clock that is moved by hand ---------------------------------------
 */

enum { STEP_NS = 1000000, SLEEP_S = 3600, STEPS = 100, EARLY_ANCHORS = 2 };
#define SLEEP_NS (UINT64_C(1000000000) * SLEEP_S)

static void steps(const char *name)
{
    for (int i = 0; i < STEPS; i++) {
        PLUMB_SPAN_NODE(plumb_node_get(name));
        clock_move(STEP_NS);
    }
}

static int role_placed(void)
{
    steps("before");
    /* Before there are anchors, nothing is known of the counter. */
    while (PLUMB_ACQUIRE(plumb_rt.run->h->anchor) < EARLY_ANCHORS)
        sched_yield();
    clock_move(SLEEP_NS);
    __atomic_fetch_add(&plumb_clock_virtual_asleep_ns, SLEEP_NS, __ATOMIC_RELAXED);
    PLUMB_STAGE(late, "stage");
    steps("after");
    return 0;
}

/* The trace and the report date by the same clock, which stood still. */
static void the_trace_is_dated_by_the_clock_that_stood_still(void **state)
{
    static const char *const settings[] = {"PLUMB_CLOCK=virtual", "PLUMB_TRACE=1", NULL};
    struct child c;
    struct plumb_load run;
    struct trace_read t;
    uint64_t first = UINT64_MAX, last = 0;
    (void)state;
    assert_exited(&c, child_run(&c, "placed", "placed", settings), 0);
    load_run(&run, in_place("placed"));
    assert_int_equal(run.timing.wall_clock_ns, UINT64_C(2) * STEPS * STEP_NS);
    assert_int_equal(run.timing.stage_runs[0].begin_ns, UINT64_C(1) * STEPS * STEP_NS);
    assert_int_equal(run.timing.clock.jumps, 1);
    trace_read_run(&t, in_place("placed"));
    for (size_t i = 0; i < t.count; i++) {
        assert_true(t.slices[i].end >= t.slices[i].begin);
        first = t.slices[i].begin < first ? t.slices[i].begin : first;
        last = t.slices[i].end > last ? t.slices[i].end : last;
    }
    assert_int_equal(t.count, 2 * STEPS + 1);
    assert_int_equal(last - first, UINT64_C(2) * STEPS * STEP_NS);
    trace_fini(&t);
    plumb_timing_fini(&run.timing);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {
        {"suspended", role_suspended},
        {"suspended_and_killed", role_suspended_and_killed},
        {"placed", role_placed},
        {NULL, NULL},
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_suspend_changes_no_duration),
        cmocka_unit_test(a_suspend_changes_no_duration_of_a_killed_run),
        cmocka_unit_test(the_trace_is_dated_by_the_clock_that_stood_still),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
