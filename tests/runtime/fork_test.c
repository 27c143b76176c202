/* labels: plain
 * (The allocator of a sanitizer does not survive a fork while other threads run.)
 *
 * A forked child has a run of its own, or none. It never touches the open spans of its parent. */
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>

#include "runtime/child.h"

static void record(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("work");
    }
}

/* Starts `role` with PLUMB_DIR below the test's folder. */
static void play(const char *role, const char *extra)
{
    char dir[1100];
    /* In a child of a fork the leak checker finds the parent's threads, and says so. */
    const char *const settings[] = {"PLUMB=1", dir, "PLUMB_QUIET=1", "ASAN_OPTIONS=detect_leaks=0",
                                    extra,     NULL};
    struct child c;
    int status;
    snprintf(dir, sizeof dir, "PLUMB_DIR=%s", in_place(role));
    status = child_run(&c, role, NULL, settings);
    assert_exited(&c, status, 0);
    assert_string_equal(child_errors(&c), "");
}

/* The counts of "work" in the runs that a role left, in ascending order. */
static int works_of(const char *role, uint64_t *counts, int room)
{
    char dirs[8][1024];
    int n = runs_below(dirs, 8, in_place(role));
    assert_true(n <= room && n <= 8);
    for (int i = 0; i < n; i++) {
        struct plumb_load run;
        int at = i;
        uint64_t count;
        load_run(&run, dirs[i]);
        assert_consistent(&run.timing, true);
        count = count_of(&run.timing, "work");
        plumb_timing_fini(&run.timing);
        for (; at > 0 && counts[at - 1] > count; at--)
            counts[at] = counts[at - 1];
        counts[at] = count;
    }
    return n;
}

/* ---- Plain forks
 * -----------------------------------------------------------------------------------
 */

static int role_child_records(void)
{
    pid_t pid;
    record(10);
    pid = fork();
    if (pid == 0) {
        record(5);
        exit(7);
    }
    child_needs_exit(pid, 7);
    record(10);
    return 0;
}

static void a_child_that_records_has_a_run_of_its_own(void **state)
{
    uint64_t counts[2];
    (void)state;
    play("child_records", NULL);
    assert_int_equal(works_of("child_records", counts, 2), 2);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 20);
}

static void a_child_gets_a_directory_beside_a_given_one(void **state)
{
    struct child c;
    char command[1200], line[1200] = "";
    FILE *f;
    int status = child_run(&c, "child_records", "given", NULL);
    (void)state;
    assert_exited(&c, status, 0);
    assert_true(run_has(in_place("given"), "timing.json"));
    snprintf(command, sizeof command, "ls -d '%s'.[0-9]*/timing.json", in_place("given"));
    f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_null(fgets(line, sizeof line, f));
    pclose(f);
}

static int role_child_is_silent(void)
{
    pid_t pid;
    record(10);
    pid = fork();
    if (pid == 0)
        exit(0);
    child_needs_exit(pid, 0);
    pid = fork();
    if (pid == 0)
        _exit(0);
    child_needs_exit(pid, 0);
    return 0;
}

static void a_child_that_records_nothing_leaves_nothing(void **state)
{
    uint64_t counts[1];
    (void)state;
    play("child_is_silent", NULL);
    assert_int_equal(works_of("child_is_silent", counts, 1), 1);
    assert_int_equal(counts[0], 10);
}

static int role_child_is_off(void)
{
    return role_child_records();
}

static void plumb_fork_off_leaves_children_alone(void **state)
{
    uint64_t counts[1];
    (void)state;
    play("child_is_off", "PLUMB_FORK=off");
    assert_int_equal(works_of("child_is_off", counts, 1), 1);
    assert_int_equal(counts[0], 20);
}

static int role_grandchild(void)
{
    pid_t pid;
    record(10);
    pid = fork();
    if (pid == 0) {
        record(5);
        pid = fork();
        if (pid == 0) {
            record(2);
            exit(0);
        }
        child_needs_exit(pid, 0);
        record(1);
        exit(0);
    }
    child_needs_exit(pid, 0);
    return 0;
}

static void a_grandchild_has_a_run_of_its_own_too(void **state)
{
    uint64_t counts[3];
    (void)state;
    play("grandchild", NULL);
    assert_int_equal(works_of("grandchild", counts, 3), 3);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 6);
    assert_int_equal(counts[2], 10);
}

static int role_fork_before_the_first_span(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        record(5);
        exit(0);
    }
    child_needs_exit(pid, 0);
    record(10);
    return 0;
}

static void a_fork_before_the_first_span_makes_two_runs(void **state)
{
    uint64_t counts[2];
    (void)state;
    play("fork_before_the_first_span", NULL);
    assert_int_equal(works_of("fork_before_the_first_span", counts, 2), 2);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 10);
}

/* ---- The parent's files
 * ------------------------------------------------------------------------------
 */

/* Without the clock anchors, which the control thread goes on taking. */
static uint64_t checksum(const char *path)
{
    size_t from = offsetof(struct plumb_live_header, now), at = 0;
    size_t upto = offsetof(struct plumb_live_header, skip_first_n);
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    FILE *f = fopen(path, "re");
    ROLE_NEEDS(f != NULL);
    for (int c; (c = getc(f)) != EOF; at++)
        h = at >= from && at < upto ? h : (h ^ (unsigned char)c) * UINT64_C(0x100000001b3);
    fclose(f);
    return h;
}

/* The child ends a span and a scope that the parent had open, then records in every other way. */
static void child_of_an_open_span(plumb_span outer, plumb_scope phase)
{
    plumb_rows *rows = NULL;
    plumb_end(outer);
    plumb_scope_end(phase);
    record(300);
    plumb_counter_add("things", 1);
    ROLE_NEEDS(plumb_summary_rows(&rows, NULL, NULL, NULL) == PLUMB_OK);
    plumb_rows_free(rows);
    ROLE_NEEDS(plumb_reset(NULL, NULL) == PLUMB_OK);
    record(3);
    exit(0);
}

static int role_parent_untouched(void)
{
    static struct plumb_point point = PLUMB_POINT_INIT("outer", PLUMB_POINT_PLAIN);
    char dir[1000], live[1100];
    plumb_scope phase = plumb_phase_begin("train");
    plumb_span outer;
    uint64_t before;
    pid_t pid;
    record(100);
    outer = plumb_begin(&point);
    ROLE_NEEDS(plumb_run_dir(dir, sizeof dir, NULL) == PLUMB_OK);
    snprintf(live, sizeof live, "%s/" PLUMB_LIVE_NAME, dir);
    before = checksum(live);
    pid = fork();
    if (pid == 0)
        child_of_an_open_span(outer, phase);
    child_needs_exit(pid, 0);
    ROLE_NEEDS(checksum(live) == before);
    plumb_end(outer);
    plumb_scope_end(phase);
    return 0;
}

static void a_child_never_touches_the_parents_files(void **state)
{
    char dirs[2][1024];
    bool saw_parent = false;
    (void)state;
    play("parent_untouched", "PLUMB_MEMORY=off"); /* samples would change the file as well */
    assert_int_equal(runs_below(dirs, 2, in_place("parent_untouched")), 2);
    for (int i = 0; i < 2; i++) {
        struct plumb_load run;
        load_run(&run, dirs[i]);
        if (count_of(&run.timing, "outer")) {
            saw_parent = true;
            assert_int_equal(count_of(&run.timing, "outer"), 1);
            assert_int_equal(count_of(&run.timing, "work"), 100);
            assert_int_equal(run.timing.open_count, 0);
            assert_int_equal(run.timing.count_count, 0);
        } else {
            assert_int_equal(count_of(&run.timing, "work"), 3);
        }
        plumb_timing_fini(&run.timing);
    }
    assert_true(saw_parent);
}

static int role_raw_fork(void)
{
    long pid;
    record(10);
    pid = syscall(SYS_fork); /* no atfork handler runs */
    if (pid == 0) {
        record(5);
        _exit(0);
    }
    child_needs_exit((pid_t)pid, 0);
    record(10);
    return 0;
}

static void a_fork_that_nobody_was_told_of_is_noticed(void **state)
{
    uint64_t counts[2];
    (void)state;
    play("raw_fork", NULL);
    assert_int_equal(works_of("raw_fork", counts, 2), 2);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 20);
}

/* ---- While other threads record
 * ------------------------------------------------------------------------ */

enum { FORKS = 20 };
static uint32_t enough;
static uint64_t recorded_elsewhere;

static void *record_until_enough(void *arg)
{
    uint64_t n = 0;
    (void)arg;
    while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE)) {
        char name[32];
        record(20);
        snprintf(name, sizeof name, "new.%" PRIu64, n % 500); /* takes the lock */
        plumb_node_get(name);
        n += 20;
    }
    __atomic_fetch_add(&recorded_elsewhere, n, __ATOMIC_RELAXED);
    return NULL;
}

static int role_forks_among_threads(void)
{
    pthread_t threads[2];
    char note[64];
    for (int i = 0; i < 2; i++)
        ROLE_NEEDS(pthread_create(&threads[i], NULL, record_until_enough, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid;
        record(1);
        pid = fork();
        if (pid == 0) {
            record(1);
            exit(0);
        }
        child_needs_exit(pid, 0);
    }
    __atomic_store_n(&enough, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    snprintf(note, sizeof note, "%" PRIu64, recorded_elsewhere + FORKS);
    ROLE_NEEDS(write(CHILD_READY_FD, note, strlen(note)) > 0);
    return 0;
}

static void forks_among_recording_threads_neither_hang_nor_lose_a_span(void **state)
{
    char dir[1100], note[64] = "";
    const char *const settings[] = {"PLUMB=1", dir, "PLUMB_QUIET=1", NULL};
    struct child c;
    struct plumb_load run;
    char dirs[FORKS + 1][1024];
    uint64_t most = 0;
    int status;
    (void)state;
    snprintf(dir, sizeof dir, "PLUMB_DIR=%s", in_place("among"));
    c = child_start("forks_among_threads", NULL, settings);
    while (read(c.ready_fd, note + strlen(note), sizeof note - 1 - strlen(note)) > 0)
        continue;
    status = child_end(&c);
    assert_exited(&c, status, 0);
    assert_int_equal(runs_below(dirs, FORKS + 1, in_place("among")), FORKS + 1);
    for (int i = 0; i < FORKS + 1; i++) {
        uint64_t n;
        load_run(&run, dirs[i]);
        n = count_of(&run.timing, "work");
        most = n > most ? n : most;
        plumb_timing_fini(&run.timing);
    }
    assert_int_equal(most, strtoull(note, NULL, 10));
}

/* ---- Exec
 * ------------------------------------------------------------------------------------------------
 */

static int role_execs_true(void)
{
    char *args[] = {(char *)"true", NULL};
    pid_t pid;
    record(10);
    pid = fork();
    if (pid == 0) {
        execv("/bin/true", args);
        _exit(1);
    }
    child_needs_exit(pid, 0);
    pid = vfork();
    if (pid == 0) {
        execv("/bin/true", args);
        _exit(1);
    }
    child_needs_exit(pid, 0);
    ROLE_NEEDS(posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) == 0);
    child_needs_exit(pid, 0);
    ROLE_NEEDS(system("true") == 0);
    record(10);
    return 0;
}

static void a_child_that_execs_leaves_nothing_and_disturbs_nothing(void **state)
{
    uint64_t counts[1];
    (void)state;
    play("execs_true", NULL);
    assert_int_equal(works_of("execs_true", counts, 1), 1);
    assert_int_equal(counts[0], 20);
}

static int role_leaf(void)
{
    record(3);
    return 0;
}

static int role_execs_a_recorder(void)
{
    char *args[] = {(char *)"self", (char *)"leaf", NULL};
    pid_t pid;
    record(10);
    pid = vfork();
    if (pid == 0) {
        execv("/proc/self/exe", args);
        _exit(1);
    }
    child_needs_exit(pid, 0);
    return 0;
}

static void a_child_that_execs_a_recording_program_has_its_run(void **state)
{
    uint64_t counts[2];
    (void)state;
    play("execs_a_recorder", NULL);
    assert_int_equal(works_of("execs_a_recorder", counts, 2), 2);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 10);
}

static const struct role roles[] = {{"child_records", role_child_records},
                                    {"child_is_silent", role_child_is_silent},
                                    {"child_is_off", role_child_is_off},
                                    {"grandchild", role_grandchild},
                                    {"fork_before_the_first_span", role_fork_before_the_first_span},
                                    {"parent_untouched", role_parent_untouched},
                                    {"raw_fork", role_raw_fork},
                                    {"forks_among_threads", role_forks_among_threads},
                                    {"execs_true", role_execs_true},
                                    {"leaf", role_leaf},
                                    {"execs_a_recorder", role_execs_a_recorder},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_records_has_a_run_of_its_own),
        cmocka_unit_test(a_child_gets_a_directory_beside_a_given_one),
        cmocka_unit_test(a_child_that_records_nothing_leaves_nothing),
        cmocka_unit_test(plumb_fork_off_leaves_children_alone),
        cmocka_unit_test(a_grandchild_has_a_run_of_its_own_too),
        cmocka_unit_test(a_fork_before_the_first_span_makes_two_runs),
        cmocka_unit_test(a_child_never_touches_the_parents_files),
        cmocka_unit_test(a_fork_that_nobody_was_told_of_is_noticed),
        cmocka_unit_test(forks_among_recording_threads_neither_hang_nor_lose_a_span),
        cmocka_unit_test(a_child_that_execs_leaves_nothing_and_disturbs_nothing),
        cmocka_unit_test(a_child_that_execs_a_recording_program_has_its_run),
    };
    if (argc > 1)
        return child_play(roles, argv[1]);
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
