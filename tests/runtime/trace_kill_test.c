/* labels: notsan
 * A traced process is killed at random moments while two threads record: with a large queue for the
 * trace and with a small one, below the bound of the file and at it, and in ring mode. The
 * recovered file is one that a reader accepts. Every span that ended is in it whole, or counted as
 * lost, and it has no span that never was. TEST_KILLS is the number of kills instead of 200; the
 * random numbers then begin elsewhere. */
#include <pthread.h>

#include "runtime/ops.h"

#include "record_trace.h"
#include "trace_ends.h"

enum { THREADS = 2, KINDS = 4, KILLS = 200 };

static void *second_thread(void *side)
{
    ops_run(1, (uint64_t *)side + 16, 0);
    return NULL;
}

/* Much room; little; a small bound; ring mode. */
struct part {
    uint64_t *side;
    int kind;
};

static void record_until_killed(const char *dir, void *arg)
{
    const struct part *part = arg;
    plumb_options options = plumb_options_default();
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    options.trace = PLUMB_ON;
    options.trace_ring_bytes = part->kind == 0 ? 0 : 16384;
    options.trace_max_bytes = part->kind == 2 ? 65536 : 0;
    options.trace_mode = part->kind == 3 ? PLUMB_TRACE_RING : PLUMB_TRACE_STOP;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    ROLE_NEEDS(pthread_create(&thread, NULL, second_thread, part->side) == 0);
    ops_run(0, part->side, 0);
}

static uint64_t open_of(const struct plumb_timing *t, const char *name)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->open_count; i++)
        n += strcmp(t->open[i].node, name) == 0;
    return n;
}

/* Returns how many spans of `name` were lost. */
static uint64_t compare(const struct trace_read *t, const struct plumb_timing *timing,
                        const char *name, int kind)
{
    uint64_t untraced, ended = trace_ended_of(timing, name, &untraced);
    struct trace_tally n = trace_tally_of(t, name);
    bool right = kind == 3 ? n.whole <= ended : n.whole + untraced == ended;
    if (!right || n.open > open_of(timing, name) || (kind < 2 && n.open != open_of(timing, name)) ||
        (!untraced && kind < 2 && n.cut))
        fail_msg("kind %d: %s: %" PRIu64 " ended, %" PRIu64 " untraced, %" PRIu64
                 " open; in the trace %" PRIu64 " whole, %" PRIu64 " cut, %" PRIu64 " open",
                 kind, name, ended, untraced, open_of(timing, name), n.whole, n.cut, n.open);
    return untraced;
}

static void look_at(const char *dir, int kind, uint64_t *lost, uint64_t *found)
{
    struct plumb_load run;
    struct trace_read t;
    load_run(&run, dir);
    if (run.state != PLUMB_LOAD_RECOVERED)
        fail_msg("%s: %s", dir, run.why.message);
    trace_read_run(&t, dir);
    for (unsigned who = 0; who < THREADS; who++) {
        struct ops_names names = ops_names_of(who);
        *lost += compare(&t, &run.timing, names.inner, kind);
        *lost += compare(&t, &run.timing, names.outer, kind);
    }
    *found += t.whole;
    assert_int_equal(t.bytes, run.timing.trace.bytes);
    if (kind == 2)
        assert_true(t.bytes <= 65536);
    trace_fini(&t);
    plumb_timing_fini(&run.timing);
    remove_run(dir);
}

static void every_span_is_whole_or_counted_after_kills(void **state)
{
    int kills = child_kills(KILLS);
    struct part part = {child_side(4096), 0};
    struct victim victim = {record_until_killed, &part, part.side, 4096, part.side, 0, 0};
    uint64_t random = 0x2545f491 + (uint64_t)kills, lost[KINDS] = {0}, found[KINDS] = {0};
    (void)state;
    assert_true(kills >= KINDS);
    for (int i = 0; i < kills; i++) {
        uint64_t after = random_next(&random) % (UINT64_C(64) << random_next(&random) % 10);
        part.kind = i % KINDS;
        victim.least = after + 1;
        victim.longer = random_next(&random) % 4096;
        look_at(child_kill(&victim, i), part.kind, &lost[part.kind], &found[part.kind]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        assert_true(found[kind] > 0);
    assert_true(lost[1] > 0 && lost[2] > 0); /* otherwise the small queues prove nothing */
    munmap(part.side, 4096);
}

/* Of a trace that was never begun, whose place a directory has taken; of spans that no fold has
 * seen. */
static void what_was_not_folded_is_counted_as_lost(void **state)
{
    const char *dir = in_place("unfolded");
    struct plumb_load run;
    uint64_t untraced;
    pid_t pid;
    (void)state;
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(mkdir(in_place("unfolded/trace.pftrace"), 0755), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        plumb_options options = plumb_options_default();
        options.run_dir = dir;
        options.quiet = PLUMB_ON;
        options.trace = PLUMB_ON;
        ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
        for (int i = 0; i < 10; i++) {
            PLUMB_SPAN("early");
        }
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(rmdir(in_place("unfolded/trace.pftrace")), 0);
    load_run(&run, dir);
    if (run.state != PLUMB_LOAD_RECOVERED)
        fail_msg("%s: %s", dir, run.why.message);
    assert_int_equal(trace_ended_of(&run.timing, "early", &untraced), 10);
    assert_int_equal(untraced, 10);
    assert_int_equal(run.timing.trace.dropped, 10);
    plumb_timing_fini(&run.timing);
    remove_run(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_folded_is_counted_as_lost),
        cmocka_unit_test(every_span_is_whole_or_counted_after_kills),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
