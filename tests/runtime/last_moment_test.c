/* labels: notsan
 * The last moment of a killed process: its run ends with the newest reading of its counter,
 * wherever the mapping has it, and not with its last anchor. The clock is moved by hand. */
#include "record/runtime/enter.h"
#include "record/runtime/runtime.h"
#include "runtime/child.h"

#include "record.h"
#include "virtual_clock.h"

enum { WORK_NS = 850000000, MORE_NS = 150000000, FOLDS = 500, EARLY_ANCHORS = 2 };

static const char *const settings[] = {"PLUMB_CLOCK=virtual", "PLUMB_MEMORY=0", NULL};

static int killed(void)
{
    kill(getpid(), SIGKILL);
    return 0;
}

static void work(void)
{
    PLUMB_SPAN("work");
    clock_move(WORK_NS);
}

static int role_end(void)
{
    work();
    return killed();
}

static int role_begin(void)
{
    static struct plumb_point open = PLUMB_POINT_INIT("open", PLUMB_POINT_PLAIN);
    work();
    clock_move(MORE_NS);
    plumb_begin(&open);
    return killed();
}

/* Many blocks later: the span is in a state, or in the block after the folded ones. */
static int role_folded(void)
{
    for (int i = 0; i < FOLDS; i++) {
        PLUMB_SPAN("many");
        clock_move(WORK_NS / FOLDS);
    }
    return killed();
}

static int role_async(void)
{
    work();
    clock_move(MORE_NS);
    plumb_async_begin(plumb_node_get("request"));
    return killed();
}

static int role_request(void)
{
    work();
    clock_move(MORE_NS);
    plumb_request_begin("r1", NULL);
    return killed();
}

/* Nothing was recorded for a while: plumb's own thread has seen that the process lives. */
static int role_idle(void)
{
    static struct plumb_point stuck = PLUMB_POINT_INIT("stuck", PLUMB_POINT_PLAIN);
    work();
    plumb_begin(&stuck);
    while (PLUMB_ACQUIRE(plumb_rt.run->h->anchor) < EARLY_ANCHORS)
        sched_yield();
    clock_move(MORE_NS);
    while (PLUMB_LOAD(plumb_rt.run->h->seen_ticks) != clock_now())
        sched_yield();
    return killed();
}

static void lasts(const char *role, uint64_t ns, struct plumb_load *run)
{
    struct child c;
    int status = child_run(&c, role, role, settings);
    assert_signaled(&c, status, SIGKILL);
    load_run(run, in_place(role));
    assert_int_equal(run->state, PLUMB_LOAD_RECOVERED);
    assert_int_equal(run->timing.wall_clock_ns, ns);
    assert_int_equal(run->timing.end_unix_ns - run->timing.start_unix_ns, ns);
    assert_consistent(&run->timing, false);
}

static void a_killed_run_ends_with_its_newest_record(void **state)
{
    struct plumb_load run;
    (void)state;
    lasts("end", WORK_NS, &run);
    plumb_timing_fini(&run.timing);
    lasts("begin", WORK_NS + MORE_NS, &run);
    assert_int_equal(run.timing.open[0].age_ns, 0);
    plumb_timing_fini(&run.timing);
    lasts("folded", WORK_NS, &run);
    plumb_timing_fini(&run.timing);
}

static void a_killed_run_ends_with_what_it_opened_last(void **state)
{
    struct plumb_load run;
    (void)state;
    lasts("async", WORK_NS + MORE_NS, &run);
    plumb_timing_fini(&run.timing);
    lasts("request", WORK_NS + MORE_NS, &run);
    plumb_timing_fini(&run.timing);
}

static void an_open_span_lasts_while_its_process_was_seen_alive(void **state)
{
    struct plumb_load run;
    (void)state;
    lasts("idle", WORK_NS + MORE_NS, &run);
    assert_int_equal(run.timing.open_count, 1);
    assert_string_equal(run.timing.open[0].node, "stuck");
    assert_int_equal(run.timing.open[0].age_ns, MORE_NS);
    plumb_timing_fini(&run.timing);
}

int main(int argc, char **argv)
{
    static const struct role roles[] = {
        {"end", role_end},     {"begin", role_begin},     {"folded", role_folded},
        {"async", role_async}, {"request", role_request}, {"idle", role_idle},
        {NULL, NULL},
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_run_ends_with_its_newest_record),
        cmocka_unit_test(a_killed_run_ends_with_what_it_opened_last),
        cmocka_unit_test(an_open_span_lasts_while_its_process_was_seen_alive),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
