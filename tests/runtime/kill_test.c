/* labels: notsan
 * A process is killed at 200 random moments while two threads record. The recovered figures are
 * exactly those that the threads report by a side channel, and the open spans are known. The same
 * holds for every other sudden end. */
#include <pthread.h>

#include "runtime/ops.h"

enum { KILLS = 200, JUST_KILLED = 30, THREADS = 2 };

/* ---- Killed at random
 * -------------------------------------------------------------------------- */

static void *second_thread(void *side)
{
    ops_run(1, (uint64_t *)side + 16, 0);
    return NULL;
}

static void record_until_killed(const char *dir, void *arg)
{
    uint64_t *side = arg;
    plumb_options options = plumb_options_default();
    pthread_t thread;
    options.run_dir = dir;
    options.quiet = PLUMB_ON;
    ROLE_NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    ROLE_NEEDS(pthread_create(&thread, NULL, second_thread, side) == 0);
    ops_run(0, side, 0);
}

static void recovered_counts_equal_the_side_channel_after_200_kills(void **state)
{
    uint64_t *side = child_side(4096), random = 0x9e3779b9, folds = 0;
    struct victim victim = {record_until_killed, side, side, 4096, side, 0, 0};
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        struct plumb_load run;
        const char *dir;
        uint64_t after = random_next(&random) % (UINT64_C(64) << random_next(&random) % 10);
        victim.least = after + 1;
        victim.longer = random_next(&random) % 4096;
        dir = child_kill(&victim, i);
        load_run(&run, dir);
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        assert_true(run_has(dir, "timing.json"));
        for (unsigned who = 0; who < THREADS; who++)
            folds += ops_found(&run.timing, who, side[16 * who]) > 60;
        assert_consistent(&run.timing, false);
        plumb_timing_fini(&run.timing);
        remove_run(dir);
    }
    /* Otherwise the kills prove nothing about folded statistics. */
    assert_true(folds > KILLS / 2);
    munmap(side, 4096);
}

/* ---- Open spans
 * ----------------------------------------------------------------------------------
 */

static void open_some(void)
{
    static struct plumb_point outer = PLUMB_POINT_INIT("outer", PLUMB_POINT_PLAIN);
    static struct plumb_point inner = PLUMB_POINT_INIT("inner", PLUMB_POINT_PLAIN);
    plumb_async_begin(plumb_node_get("request"));
    plumb_begin(&outer);
    for (int i = 0; i < 1000; i++) {
        PLUMB_SPAN("leaf");
    }
    plumb_begin(&inner);
}

static int role_killed(void)
{
    open_some();
    kill(getpid(), SIGKILL);
    return 0;
}

static int role_segv(void)
{
    int *volatile nowhere = (int *)(uintptr_t)8;
    open_some();
    signal(SIGSEGV, SIG_DFL); /* sanitizers catch it */
    *nowhere = 1;
    return 0;
}

static int role_abort(void)
{
    open_some();
    signal(SIGABRT, SIG_DFL);
    abort();
}

static int role__exit(void)
{
    open_some();
    _exit(7);
}

static void recovers_the_open_spans_of(const char *role, int code, int sig)
{
    const char *dir = in_place(role);
    struct plumb_load run;
    struct child c;
    int status = child_run(&c, role, role, NULL);
    if (sig)
        assert_signaled(&c, status, sig);
    else
        assert_exited(&c, status, code);
    assert_false(run_has(dir, "timing.json"));
    load_run(&run, dir);
    assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
    assert_true(run.timing.recovered);
    assert_int_equal(count_of(&run.timing, "leaf"), 1000);
    assert_int_equal(run.timing.open_count, 3);
    assert_string_equal(run.timing.open[0].node, "outer");
    assert_string_equal(run.timing.open[1].node, "inner");
    assert_string_equal(run.timing.open[2].node, "request");
    assert_int_equal(run.timing.open[1].depth, 2);
    assert_consistent(&run.timing, true);
    plumb_timing_fini(&run.timing);
}

static void a_killed_process_leaves_its_open_spans(void **state)
{
    (void)state;
    recovers_the_open_spans_of("killed", 0, SIGKILL);
}

static void a_segmentation_fault_leaves_everything_and_the_signal_is_the_same(void **state)
{
    (void)state;
    recovers_the_open_spans_of("segv", 0, SIGSEGV);
}

static void an_abort_leaves_everything(void **state)
{
    (void)state;
    recovers_the_open_spans_of("abort", 0, SIGABRT);
}

static void _exit_leaves_everything_and_the_status_is_the_same(void **state)
{
    (void)state;
    recovers_the_open_spans_of("_exit", 7, 0);
}

/* A supervisor may be slow to wait for it, or never do. */
static void a_killed_process_that_nobody_waited_for_is_recovered(void **state)
{
    struct child c = child_start("killed", "unwaited", NULL);
    struct plumb_load run;
    siginfo_t info;
    (void)state;
    while (waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT) < 0)
        assert_int_equal(errno, EINTR);
    load_run(&run, in_place("unwaited"));
    assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
    assert_int_equal(count_of(&run.timing, "leaf"), 1000);
    plumb_timing_fini(&run.timing);
    assert_signaled(&c, child_end(&c), SIGKILL);
}

/* A reader that looks at once finds no recording process, whether the kernel has finished with it
 * or not. */
static void a_process_that_was_killed_just_now_does_not_record(void **state)
{
    uint64_t *side = child_side(4096);
    (void)state;
    for (int i = 0; i < JUST_KILLED; i++) {
        const char *dir = in_place("just");
        struct plumb_load run;
        pid_t pid;
        remove_run(dir);
        memset(side, 0, 4096);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            record_until_killed(dir, side);
            _exit(0);
        }
        while (__atomic_load_n(side, __ATOMIC_ACQUIRE) < 100)
            sched_yield();
        assert_int_equal(kill(pid, SIGKILL), 0);
        load_run(&run, dir);
        assert_int_equal(run.state, PLUMB_LOAD_RECOVERED);
        for (unsigned who = 0; who < THREADS; who++)
            ops_found(&run.timing, who, side[16 * who]);
        assert_consistent(&run.timing, false);
        plumb_timing_fini(&run.timing);
        assert_int_equal(WTERMSIG(child_status_of(pid)), SIGKILL);
        remove_run(dir);
    }
    munmap(side, 4096);
}

static void *outlives_the_first(void *arg)
{
    (void)arg;
    open_some();
    child_ready();
    child_wait_go();
    _exit(0);
}

static int role_first_thread_ends(void)
{
    pthread_t thread;
    ROLE_NEEDS(pthread_create(&thread, NULL, outlives_the_first, NULL) == 0);
    pthread_exit(NULL);
}

/* Whether the first thread of a process has ended. */
static bool first_has_ended(pid_t pid)
{
    char path[64], text[256], state = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    assert_int_equal(sscanf(strrchr(text, ')'), ") %c", &state), 1);
    return state == 'Z';
}

static void a_process_whose_first_thread_has_ended_still_records(void **state)
{
    struct child c = child_start("first_thread_ends", "first", NULL);
    struct plumb_load run;
    (void)state;
    child_await_ready(&c);
    while (!first_has_ended(c.pid))
        sched_yield();
    load_run(&run, in_place("first"));
    assert_int_equal(run.state, PLUMB_LOAD_LIVE);
    plumb_timing_fini(&run.timing);
    child_go(&c);
    assert_exited(&c, child_end(&c), 0);
}

static const struct role roles[] = {
    {"killed", role_killed}, {"first_thread_ends", role_first_thread_ends},
    {"segv", role_segv},     {"abort", role_abort},
    {"_exit", role__exit},   {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovered_counts_equal_the_side_channel_after_200_kills),
        cmocka_unit_test(a_killed_process_leaves_its_open_spans),
        cmocka_unit_test(a_segmentation_fault_leaves_everything_and_the_signal_is_the_same),
        cmocka_unit_test(an_abort_leaves_everything),
        cmocka_unit_test(_exit_leaves_everything_and_the_status_is_the_same),
        cmocka_unit_test(a_killed_process_that_nobody_waited_for_is_recovered),
        cmocka_unit_test(a_process_that_was_killed_just_now_does_not_record),
        cmocka_unit_test(a_process_whose_first_thread_has_ended_still_records),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
