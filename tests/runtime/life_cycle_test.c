/* labels: notsan
 * How a run begins and ends: at exit, at stop, by a signal; each time with the
 * host's own status. */
#include <pthread.h>

#include "runtime/child.h"

static void record(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("work");
    }
}

static uint64_t work_of(const char *dir, enum plumb_load_state state)
{
    struct plumb_load run;
    uint64_t n;
    load_run(&run, dir);
    assert_int_equal(run.state, state);
    assert_consistent(&run.timing, true);
    n = count_of(&run.timing, "work");
    plumb_timing_fini(&run.timing);
    return n;
}

/* A run that ended by itself, and nothing else in its directory. */
static void assert_ended_with(const char *dir, uint64_t n)
{
    assert_true(run_has(dir, "timing.json"));
    assert_false(run_has(dir, PLUMB_LIVE_NAME));
    assert_false(run_has_temporary(dir));
    assert_int_equal(work_of(dir, PLUMB_LOAD_ENDED), n);
}

/* ---- Exit and stop
 * -------------------------------------------------------------------------------
 */

static int role_exits_3(void)
{
    record(100);
    exit(3);
}

static void a_run_ends_at_exit_and_the_status_is_the_same(void **state)
{
    struct child c;
    int status = child_run(&c, "exits_3", "at-exit", NULL);
    (void)state;
    assert_exited(&c, status, 3);
    assert_ended_with(in_place("at-exit"), 100);
    assert_non_null(strstr(child_errors(&c), "plumb report "));
}

static int role_quick_exits(void)
{
    record(100);
    quick_exit(4);
}

static void quick_exit_leaves_everything_to_recovery(void **state)
{
    struct child c;
    int status = child_run(&c, "quick_exits", "quick-exit", NULL);
    (void)state;
    assert_exited(&c, status, 4);
    assert_int_equal(work_of(in_place("quick-exit"), PLUMB_LOAD_RECOVERED), 100);
}

static int role_does_nothing(void)
{
    return 0;
}

static void a_run_without_a_span_leaves_no_directory_and_says_so(void **state)
{
    struct child c;
    int status = child_run(&c, "does_nothing", "nothing", NULL);
    (void)state;
    assert_exited(&c, status, 0);
    assert_false(exists(in_place("nothing")));
    assert_non_null(strstr(child_errors(&c), "nothing was recorded"));
}

static void a_quiet_run_says_nothing(void **state)
{
    const char *const settings[] = {"PLUMB_QUIET=1", NULL};
    struct child c;
    int status = child_run(&c, "exits_3", "quiet", settings);
    (void)state;
    assert_exited(&c, status, 3);
    assert_string_equal(child_errors(&c), "");
}

static void plumb_0_wins_over_everything(void **state)
{
    const char *const settings[] = {"PLUMB=0", NULL};
    struct child c;
    int status = child_run(&c, "exits_3", "off", settings);
    (void)state;
    assert_exited(&c, status, 3);
    assert_false(exists(in_place("off")));
    assert_string_equal(child_errors(&c), "");
}

static int role_stops_and_starts(void)
{
    char first[1024], second[1024];
    plumb_error err = {0, ""};
    record(10);
    ROLE_NEEDS(plumb_run_dir(first, sizeof first, NULL) == PLUMB_OK);
    plumb_options another = plumb_options_default();
    ROLE_NEEDS(plumb_start(&another, &err) == PLUMB_ERR_STATE && err.message[0]);
    ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK && !plumb_is_recording());
    ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    record(1000); /* between runs: not recorded */
    ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK && plumb_is_recording());
    record(20);
    ROLE_NEEDS(plumb_run_dir(second, sizeof second, NULL) == PLUMB_OK);
    ROLE_NEEDS(strcmp(first, second) != 0);
    return 0;
}

static void stop_is_idempotent_and_a_second_start_opens_a_second_directory(void **state)
{
    char settings_dir[1100], dirs[2][1024];
    const char *const settings[] = {"PLUMB=1", settings_dir, NULL};
    struct child c;
    int status;
    (void)state;
    snprintf(settings_dir, sizeof settings_dir, "PLUMB_DIR=%s", in_place("two-runs"));
    status = child_run(&c, "stops_and_starts", NULL, settings);
    assert_exited(&c, status, 0);
    assert_int_equal(runs_below(dirs, 2, in_place("two-runs")), 2);
    assert_ended_with(dirs[0], 10);
    assert_ended_with(dirs[1], 20);
}

static uint64_t lines_of(const char *path)
{
    FILE *f = fopen(path, "re");
    uint64_t n = 0;
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static void start_and_stop(int times)
{
    for (int i = 0; i < times; i++) {
        char dir[1024];
        ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK);
        record(200);
        ROLE_NEEDS(plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK);
        ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
        remove_run(dir);
    }
}

static int role_cycles(void)
{
    uint64_t maps, kib;
    start_and_stop(20);
    maps = lines_of("/proc/self/maps");
    kib = resident_kib();
    start_and_stop(180);
    fprintf(stderr, "%" PRIu64 " KiB, %" PRIu64 " mappings more\n", resident_kib() - kib,
            lines_of("/proc/self/maps") - maps);
    /* A mapping left by each run would be 180; a sanitizer maps a few for itself. */
    ROLE_NEEDS(lines_of("/proc/self/maps") <= maps + 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ROLE_NEEDS(resident_kib() <= kib + 1024);
#endif
    ROLE_NEEDS(lines_of("/proc/self/maps") > 0);
    return 0;
}

static void two_hundred_starts_and_stops_do_not_grow_the_process(void **state)
{
    char settings_dir[1100];
    const char *const settings[] = {settings_dir, "PLUMB_QUIET=1", NULL};
    struct child c;
    int status;
    (void)state;
    snprintf(settings_dir, sizeof settings_dir, "PLUMB_DIR=%s", in_place("cycles"));
    status = child_run(&c, "cycles", NULL, settings);
    assert_exited(&c, status, 0);
}

/* ---- Signals
 * ---------------------------------------------------------------------------------------
 */

static volatile sig_atomic_t host_saw;

static void host_handler(int sig)
{
    host_saw = sig;
}

static int role_waits_default(void)
{
    record(100);
    child_ready();
    child_wait_go();
    return 0;
}

static int role_waits_ignoring(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    return role_waits_default();
}

static int until_the_host_saw_one(void)
{
    while (!host_saw)
        record(1);
    return host_saw == SIGTERM ? 15 : 2;
}

static int role_handles_before(void)
{
    signal(SIGTERM, host_handler);
    signal(SIGINT, host_handler);
    record(100);
    child_ready();
    return until_the_host_saw_one();
}

static int role_handles_after(void)
{
    record(100);
    signal(SIGTERM, host_handler);
    signal(SIGINT, host_handler);
    child_ready();
    return until_the_host_saw_one();
}

static int role_sigwaits(void)
{
    sigset_t set;
    int sig = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    record(100);
    child_ready();
    ROLE_NEEDS(sigwait(&set, &sig) == 0);
    return sig == SIGTERM ? 15 : 2;
}

static void *record_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        record(1000);
    return NULL;
}

static int role_busy_threads(void)
{
    pthread_t thread;
    record(100);
    ROLE_NEEDS(pthread_create(&thread, NULL, record_for_ever, NULL) == 0);
    child_ready();
    record_for_ever(NULL);
    return 0;
}

static int signalled(struct child *c, const char *role, const char *dir, int sig,
                     const char *const *settings)
{
    *c = child_start(role, dir, settings);
    child_await_ready(c);
    assert_int_equal(kill(c->pid, sig), 0);
    return child_end(c);
}

static const int term_and_int[] = {SIGTERM, SIGINT};

static void a_default_signal_ends_the_run_and_then_the_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *dir = i ? "default-int" : "default-term";
        struct child c;
        int status = signalled(&c, "waits_default", dir, term_and_int[i], NULL);
        assert_signaled(&c, status, term_and_int[i]);
        assert_ended_with(in_place(dir), 100);
    }
}

static void a_signal_that_hits_busy_threads_leaves_a_consistent_report(void **state)
{
    struct child c;
    int status = signalled(&c, "busy_threads", "busy", SIGTERM, NULL);
    (void)state;
    assert_signaled(&c, status, SIGTERM);
    assert_true(run_has(in_place("busy"), "timing.json"));
    assert_true(work_of(in_place("busy"), PLUMB_LOAD_ENDED) >= 100);
}

static void an_ignored_signal_stays_ignored(void **state)
{
    struct child c = child_start("waits_ignoring", "ignored", NULL);
    int status;
    (void)state;
    child_await_ready(&c);
    kill(c.pid, SIGTERM);
    kill(c.pid, SIGINT);
    child_go(&c);
    status = child_end(&c);
    assert_exited(&c, status, 0);
    assert_ended_with(in_place("ignored"), 100);
}

static void the_hosts_own_handlers_are_left_alone(void **state)
{
    static const char *const roles[] = {"handles_before", "handles_after"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        int sig = term_and_int[i % 2];
        char dir[64];
        struct child c;
        int status;
        snprintf(dir, sizeof dir, "%s-%d", roles[i / 2], sig);
        status = signalled(&c, roles[i / 2], dir, sig, NULL);
        assert_exited(&c, status, sig);
        assert_true(work_of(in_place(dir), PLUMB_LOAD_ENDED) >= 100);
    }
}

static void sigwait_gets_its_signals(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *dir = i ? "sigwait-int" : "sigwait-term";
        struct child c;
        int status = signalled(&c, "sigwaits", dir, term_and_int[i], NULL);
        assert_exited(&c, status, term_and_int[i]);
        assert_ended_with(in_place(dir), 100);
    }
}

static void plumb_signals_0_leaves_the_end_to_recovery(void **state)
{
    const char *const settings[] = {"PLUMB_SIGNALS=0", NULL};
    struct child c;
    int status = signalled(&c, "waits_default", "no-signals", SIGTERM, settings);
    (void)state;
    assert_signaled(&c, status, SIGTERM);
    assert_false(run_has(in_place("no-signals"), "timing.json"));
    assert_int_equal(work_of(in_place("no-signals"), PLUMB_LOAD_RECOVERED), 100);
}

static void other_signals_are_not_touched(void **state)
{
    struct child c;
    int status = signalled(&c, "waits_default", "hangup", SIGHUP, NULL);
    (void)state;
    assert_signaled(&c, status, SIGHUP);
    assert_int_equal(work_of(in_place("hangup"), PLUMB_LOAD_RECOVERED), 100);
}

static int role_gives_signals_back(void)
{
    struct sigaction now;
    ROLE_NEEDS(plumb_start(NULL, NULL) == PLUMB_OK);
    record(1);
    ROLE_NEEDS(plumb_stop(NULL) == PLUMB_OK);
    ROLE_NEEDS(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    ROLE_NEEDS(sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    child_ready();
    child_wait_go();
    return 0;
}

static void after_stop_signals_are_the_hosts_again(void **state)
{
    struct child c;
    int status = signalled(&c, "gives_signals_back", "given-back", SIGTERM, NULL);
    (void)state;
    assert_signaled(&c, status, SIGTERM);
    assert_ended_with(in_place("given-back"), 1);
}

/* ---- Another program in the same process
 * ------------------------------------------------------------ */

static int role_execs(void)
{
    char *args[] = {(char *)"true", NULL};
    record(100);
    execv("/bin/true", args);
    return 1;
}

static void what_was_recorded_before_exec_is_recovered(void **state)
{
    struct child c;
    int status = child_run(&c, "execs", "exec", NULL);
    (void)state;
    assert_exited(&c, status, 0);
    assert_int_equal(work_of(in_place("exec"), PLUMB_LOAD_RECOVERED), 100);
}

static const struct role roles[] = {{"exits_3", role_exits_3},
                                    {"quick_exits", role_quick_exits},
                                    {"does_nothing", role_does_nothing},
                                    {"stops_and_starts", role_stops_and_starts},
                                    {"cycles", role_cycles},
                                    {"waits_default", role_waits_default},
                                    {"waits_ignoring", role_waits_ignoring},
                                    {"handles_before", role_handles_before},
                                    {"handles_after", role_handles_after},
                                    {"sigwaits", role_sigwaits},
                                    {"busy_threads", role_busy_threads},
                                    {"gives_signals_back", role_gives_signals_back},
                                    {"execs", role_execs},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_at_exit_and_the_status_is_the_same),
        cmocka_unit_test(quick_exit_leaves_everything_to_recovery),
        cmocka_unit_test(a_run_without_a_span_leaves_no_directory_and_says_so),
        cmocka_unit_test(a_quiet_run_says_nothing),
        cmocka_unit_test(plumb_0_wins_over_everything),
        cmocka_unit_test(stop_is_idempotent_and_a_second_start_opens_a_second_directory),
        cmocka_unit_test(two_hundred_starts_and_stops_do_not_grow_the_process),
        cmocka_unit_test(a_default_signal_ends_the_run_and_then_the_process),
        cmocka_unit_test(a_signal_that_hits_busy_threads_leaves_a_consistent_report),
        cmocka_unit_test(an_ignored_signal_stays_ignored),
        cmocka_unit_test(the_hosts_own_handlers_are_left_alone),
        cmocka_unit_test(sigwait_gets_its_signals),
        cmocka_unit_test(plumb_signals_0_leaves_the_end_to_recovery),
        cmocka_unit_test(other_signals_are_not_touched),
        cmocka_unit_test(after_stop_signals_are_the_hosts_again),
        cmocka_unit_test(what_was_recorded_before_exec_is_recovered),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
