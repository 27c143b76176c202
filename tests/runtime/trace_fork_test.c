/* labels: plain
 * (The allocator of a sanitizer does not survive a fork while other threads run.)
 *
 * Forks of a traced process: its trace stays whole, whatever its children do. A child that records
 * has a trace of its own work alone; a child that does not record leaves no file. */
#include <pthread.h>
#include <sys/syscall.h>

#include "descriptors.h"
#include "runtime/child.h"

#include "record_trace.h"
#include "trace_ends.h"

enum { RUNS = 24 };

static void record(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN_AS(s, "work");
        plumb_arg_i64(s, "i", i);
        PLUMB_SPAN("inside");
    }
}

/* ---- What a role left ------------------------------------------------------------------------ */

struct left {
    uint64_t work, outer, lost;
    uint32_t pid;
    bool recovered, kept;
};

/* One run: all that ended is whole in its trace, or counted as lost. */
static void look_for(const char *name, const struct plumb_timing *timing,
                     const struct trace_read *t, struct left *out, uint64_t *ended)
{
    struct trace_tally n = trace_tally_of(t, name);
    uint64_t untraced;
    *ended = trace_ended_of(timing, name, &untraced);
    assert_int_equal(n.whole + untraced, *ended);
    assert_int_equal(n.open, 0);
    out->lost += untraced;
}

static struct left look_at(const char *dir)
{
    struct left out = {0};
    struct plumb_load run;
    struct trace_read t;
    uint64_t inside;
    load_run(&run, dir);
    assert_consistent(&run.timing, true);
    trace_read_run(&t, dir);
    look_for("work", &run.timing, &t, &out, &out.work);
    look_for("inside", &run.timing, &t, &out, &inside);
    look_for("outer", &run.timing, &t, &out, &out.outer);
    assert_int_equal(inside, out.work);
    out.pid = run.timing.pid;
    out.recovered = run.state == PLUMB_LOAD_RECOVERED;
    out.kept = run_has(dir, "kept-1.pftrace");
    plumb_timing_fini(&run.timing);
    trace_fini(&t);
    return out;
}

/* Plays `role` traced, and looks at the runs it left: the parent's first, then by their work. */
static int play(const char *role, const char *mode, const char *fork_mode, struct left *out)
{
    static int plays;
    char place[64], dir[1100], dirs[RUNS][1024];
    const char *const settings[] = {
        "PLUMB_TRACE=1", "PLUMB_MEMORY=off", dir, "PLUMB_QUIET=1", mode, fork_mode, NULL};
    struct child c;
    int n;
    snprintf(place, sizeof place, "%s-%d", role, plays++);
    snprintf(dir, sizeof dir, "PLUMB_DIR=%s", in_place(place));
    int status = child_run(&c, role, NULL, settings);
    assert_exited(&c, status, 0);
    assert_string_equal(child_errors(&c), "");
    n = runs_below(dirs, RUNS, in_place(place));
    assert_in_range(n, 1, RUNS);
    for (int i = 0; i < n; i++) {
        struct left one = look_at(dirs[i]);
        int at = i;
        bool parent = one.pid == (uint32_t)c.pid;
        for (; at > 0 &&
               (parent || (out[at - 1].pid != (uint32_t)c.pid && out[at - 1].work > one.work));
             at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    assert_int_equal(out[0].pid, c.pid);
    return n;
}

static void assert_left(const struct left *l, uint64_t work, uint64_t outer)
{
    assert_int_equal(l->work, work);
    assert_int_equal(l->outer, outer);
    assert_int_equal(l->lost, 0);
}

/* ---- Roles ----------------------------------------------------------------------------------- */

/* Forks below an open span, which the child ends as well: it is the parent's. */
static int fork_below(void (*in_child)(void), long (*make)(void), int code)
{
    static struct plumb_point point = PLUMB_POINT_INIT("outer", PLUMB_POINT_PLAIN);
    char dir[1024];
    record(10);
    ROLE_NEEDS(plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK && strlen(dir) > 0 &&
               descriptor_of_process(dir) && !descriptor_of_program(dir));
    plumb_span outer = plumb_begin(&point);
    pid_t pid = (pid_t)make();
    if (pid == 0) {
        plumb_end(outer);
        in_child();
        ROLE_NEEDS(!descriptor_of_process(dir));
        exit(code);
    }
    child_needs_exit(pid, code);
    record(10);
    plumb_end(outer);
    return 0;
}

static long libc_fork(void)
{
    return fork();
}

static long raw_fork(void)
{
    return syscall(SYS_fork); /* no atfork handler runs */
}

static void record_five(void)
{
    record(5);
}

static void record_five_and_leave(void)
{
    record(5);
    _exit(7);
}

static void nothing(void)
{
}

/* Restarts its own trace, which is kept next to that of the parent. */
static void stop_and_start(void)
{
    record(2);
    ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK);
    record(3);
}

static int role_records(void)
{
    return fork_below(record_five, libc_fork, 7);
}

static int role_raw(void)
{
    return fork_below(record_five, raw_fork, 7);
}

static int role_dies(void)
{
    return fork_below(record_five_and_leave, libc_fork, 7);
}

static int role_silent(void)
{
    return fork_below(nothing, libc_fork, 0);
}

static int role_restarts(void)
{
    return fork_below(stop_and_start, libc_fork, 0);
}

static int role_keeps(void)
{
    int rc = fork_below(record_five, libc_fork, 7);
    ROLE_NEEDS(plumb_trace_keep("after a fork", NULL) == PLUMB_OK);
    return rc;
}

enum { FORKS = 6 };
static uint32_t enough;

static void *record_until_enough(void *arg)
{
    while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE)) {
        record(20);
        sched_yield();
    }
    return arg;
}

static int role_among_threads(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        ROLE_NEEDS(pthread_create(&threads[i], NULL, record_until_enough, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        record(1);
        pid_t pid = fork();
        if (pid == 0) {
            record(1);
            exit(0);
        }
        child_needs_exit(pid, 0);
    }
    __atomic_store_n(&enough, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

#define STOP "PLUMB_TRACE_MODE=stop"
#define RING "PLUMB_TRACE_MODE=ring"
#define FOLLOW "PLUMB_FORK=follow"

static void a_child_that_records_has_a_trace_of_its_own(void **state)
{
    struct left l[RUNS];
    (void)state;
    assert_int_equal(play("records", STOP, FOLLOW, l), 2);
    assert_left(&l[0], 20, 1);
    assert_left(&l[1], 5, 0);
    assert_int_equal(play("records", RING, FOLLOW, l), 2);
    assert_left(&l[0], 20, 1);
    assert_left(&l[1], 5, 0);
}

static void so_has_one_that_nobody_was_told_of(void **state)
{
    struct left l[RUNS];
    (void)state;
    assert_int_equal(play("raw", STOP, FOLLOW, l), 2);
    assert_left(&l[0], 20, 1);
    assert_left(&l[1], 5, 0);
}

static void a_child_that_dies_leaves_its_trace_to_be_recovered(void **state)
{
    static const char *const modes[] = {STOP, RING};
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct left l[RUNS];
        assert_int_equal(play("dies", modes[i], FOLLOW, l), 2);
        assert_left(&l[0], 20, 1);
        assert_left(&l[1], 5, 0);
        assert_false(l[0].recovered);
        assert_true(l[1].recovered);
    }
}

static void a_child_that_does_not_record_leaves_nothing(void **state)
{
    struct left l[RUNS];
    (void)state;
    assert_int_equal(play("silent", STOP, FOLLOW, l), 1);
    assert_left(&l[0], 20, 1);
    assert_int_equal(play("records", STOP, "PLUMB_FORK=off", l), 1);
    assert_left(&l[0], 20, 1);
}

static void a_child_may_stop_its_trace_and_start_another(void **state)
{
    struct left l[RUNS];
    (void)state;
    assert_int_equal(play("restarts", STOP, FOLLOW, l), 3);
    assert_left(&l[0], 20, 1);
    assert_left(&l[1], 2, 0);
    assert_left(&l[2], 3, 0);
}

static void the_parent_keeps_its_ring(void **state)
{
    struct left l[RUNS];
    (void)state;
    assert_int_equal(play("keeps", RING, FOLLOW, l), 2);
    assert_left(&l[0], 20, 1);
    assert_left(&l[1], 5, 0);
    assert_true(l[0].kept);
    assert_false(l[1].kept);
}

/* The writer may hold any lock, and be in the middle of any packet. */
static void forks_among_traced_threads_lose_no_span(void **state)
{
    struct left l[RUNS];
    (void)state;
    assert_int_equal(play("among_threads", STOP, FOLLOW, l), FORKS + 1);
    assert_true(l[0].work >= FORKS);
    for (int i = 1; i <= FORKS; i++)
        assert_left(&l[i], 1, 0);
}

static const struct role roles[] = {{"records", role_records},
                                    {"raw", role_raw},
                                    {"dies", role_dies},
                                    {"silent", role_silent},
                                    {"restarts", role_restarts},
                                    {"keeps", role_keeps},
                                    {"among_threads", role_among_threads},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_records_has_a_trace_of_its_own),
        cmocka_unit_test(so_has_one_that_nobody_was_told_of),
        cmocka_unit_test(a_child_that_dies_leaves_its_trace_to_be_recovered),
        cmocka_unit_test(a_child_that_does_not_record_leaves_nothing),
        cmocka_unit_test(a_child_may_stop_its_trace_and_start_another),
        cmocka_unit_test(the_parent_keeps_its_ring),
        cmocka_unit_test(forks_among_traced_threads_lose_no_span),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
