/* timeout: 300 Tests of live_watch.h: a busy program is read from outside, through its file, and
 * each reading must be one that the program could have stopped at. Nothing depends on how fast
 * either is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "live/read.h"
#include "read/run/live_watch.h"
#include "read/run/load.h"
#include "record.h"

enum {
    WORKERS = 8,
    INNERS = 3,
    SAMPLE_NS = 12345,
    READINGS = 120,
    WIDE = 40,
    NEW_NAMES = 100,
#ifdef __SANITIZE_THREAD__
    NEW_RUNS = 3, /* of some seconds each there */
#else
    NEW_RUNS = 10,
#endif
    FULL_NODES = 300
};

static const char run_dir[] = "watched-run";

/* The progress of the program's threads, written after the work. */
static struct progress {
    uint64_t rounds; /* of outer spans that have ended */
    char line[56];
} * done;
static uint32_t *stop;
static pthread_t threads[WORKERS + 1];
static int threads_started;
static pid_t program;       /* 0: none */
static uint32_t new_names;  /* rounds with a node of their own: folds make states */
static uint32_t wide_names; /* further nodes of a round: the copy of a thread takes longer */

struct nodes {
    plumb_node outer, inner, sample;
    plumb_node wide[WIDE];
};

static void round_of(const struct nodes *n)
{
    plumb_span outer = plumb_begin_node(n->outer);
    for (int i = 0; i < INNERS; i++)
        plumb_end(plumb_begin_node(n->inner));
    plumb_record_ns(n->sample, SAMPLE_NS);
    plumb_end(outer);
}

static plumb_node node_of(const char *form, int i)
{
    char name[48];
    snprintf(name, sizeof name, form, i);
    return plumb_node_get(name);
}

static void *work(void *arg)
{
    int t = (int)(uintptr_t)arg;
    struct nodes n = {node_of("outer.%d", t), node_of("inner.%d", t), node_of("sample.%d", t), {0}};
    for (uint32_t i = 0; i < wide_names; i++)
        n.wide[i] = node_of("wide.%d", 1000 * t + (int)i);
    while (!PLUMB_LOAD(*stop)) {
        uint64_t round = done[t].rounds;
        for (uint32_t i = 0; i < wide_names; i++)
            plumb_end(plumb_begin_node(n.wide[i]));
        if (round < new_names)
            plumb_end(plumb_begin_node(node_of("new.%d", 1000 * t + (int)round)));
        round_of(&n);
        PLUMB_RELEASE(done[t].rounds, done[t].rounds + 1);
    }
    return NULL;
}

/* A short thread with nodes of its own: thread blocks change hands, and the mapping grows. */
static void *visit(void *arg)
{
    struct nodes n = {node_of("visitor.%d", (int)(uintptr_t)arg),
                      plumb_node_get("visitor.inner"),
                      plumb_node_get("visitor.sample"),
                      {0}};
    round_of(&n);
    return NULL;
}

static void *send_visitors(void *arg)
{
    (void)arg;
    for (uintptr_t i = 0; !PLUMB_LOAD(*stop); i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, visit, (void *)(i % 500)) == 0)
            pthread_join(t, NULL);
    }
    return NULL;
}

/* ---- What each reading must be --------------------------------------------------------------- */

static const struct plumb_timing_node *find(const struct plumb_timing *t, const char *form, int i)
{
    char name[32];
    snprintf(name, sizeof name, form, i);
    for (size_t n = 0; n < t->node_count; n++) {
        if (strcmp(t->nodes[n].name, name) == 0)
            return &t->nodes[n];
    }
    return NULL;
}

static uint64_t count_of(const struct plumb_timing_node *n)
{
    return n ? n->host.ns.count : 0;
}

/* No row is torn, whichever it is. */
static void check_row(const struct plumb_timing_node *n)
{
    const struct plumb_stats *s = &n->host.ns;
    uint64_t held = 0;
    for (size_t b = 0; b < n->host.bucket_count; b++)
        held += n->host.buckets[b].count;
    if (held != s->count)
        fail_msg("%s: %llu in buckets, %llu counted", n->name, (unsigned long long)held,
                 (unsigned long long)s->count);
    if (!s->count)
        return;
    assert_true(s->min <= s->max && s->last >= s->min && s->last <= s->max);
    assert_true(s->total >= s->min * s->count && s->total <= s->max * s->count);
    assert_true(n->host.p50_ns >= (double)s->min && n->host.p99_ns <= (double)s->max);
    assert_true(n->self_ns <= s->total || strstr(n->name, "sample"));
    if (strstr(n->name, "sample")) {
        assert_true(s->min == SAMPLE_NS && s->max == SAMPLE_NS);
        assert_true(s->total == s->count * SAMPLE_NS);
    }
}

static bool is_open(const struct plumb_timing *t, const char *form, int i)
{
    char name[32];
    snprintf(name, sizeof name, form, i);
    for (size_t n = 0; n < t->open_count; n++) {
        if (strcmp(t->open[n].node, name) == 0)
            return true;
    }
    return false;
}

/* The relations between the rows of a thread that was copied as of one moment. */
static void check_thread(const struct plumb_timing *t, int i)
{
    const struct plumb_timing_node *outer = find(t, "outer.%d", i);
    uint64_t rounds = count_of(outer), inners = count_of(find(t, "inner.%d", i)),
             samples = count_of(find(t, "sample.%d", i));
    assert_true(inners >= INNERS * rounds && inners - INNERS * rounds <= INNERS);
    assert_true(samples >= rounds && samples - rounds <= 1);
    assert_true(samples == rounds || inners - INNERS * rounds == INNERS);
    assert_true(inners == INNERS * rounds || is_open(t, "outer.%d", i));
    for (uint32_t w = 0; w < wide_names; w++) {
        uint64_t runs = count_of(find(t, "wide.%d", 1000 * i + (int)w));
        assert_true(runs >= rounds && runs <= rounds + 1);
    }
}

struct seen {
    uint64_t before[WORKERS], last[WORKERS];
    uint64_t apart, refused, useful; /* readings; useful: some thread had gone on */
};

static void check_reading(struct seen *seen, const struct plumb_timing *t,
                          const struct plumb_live_moment *m)
{
    bool went_on = false;
    for (size_t n = 0; n < t->node_count; n++)
        check_row(&t->nodes[n]);
    for (int i = 0; i < WORKERS; i++) {
        uint64_t rounds = count_of(find(t, "outer.%d", i)), after = PLUMB_ACQUIRE(done[i].rounds);
        if (!m->threads_apart)
            check_thread(t, i);
        assert_true(rounds >= seen->before[i]); /* all that ended before the reading began */
        assert_true(rounds <= after + 1);
        assert_true(rounds >= seen->last[i]);
        went_on |= rounds > seen->last[i];
        seen->last[i] = rounds;
    }
    seen->useful += went_on;
    for (size_t n = 0; n < t->open_count; n++)
        assert_true(t->open[n].age_ns <= t->wall_clock_ns);
    seen->apart += m->threads_apart != 0;
}

static void read_at_rest(struct plumb_live_watch *w, struct seen *seen)
{
    struct plumb_timing t;
    struct plumb_live_moment m;
    plumb_timing_init(&t);
    assert_int_equal(plumb_live_watch_read(w, &t, &m, NULL), PLUMB_OK);
    assert_int_equal(m.threads_apart, 0);
    check_reading(seen, &t, &m);
    plumb_timing_fini(&t);
}

static void read_often(struct plumb_live_watch *w, struct seen *seen, uint64_t readings)
{
    struct plumb_timing t;
    struct plumb_live_moment m;
    plumb_error err = {0, ""};
    plumb_timing_init(&t);
    while (seen->useful + seen->refused < readings) {
        for (int i = 0; i < WORKERS; i++)
            seen->before[i] = PLUMB_ACQUIRE(done[i].rounds);
        int rc = plumb_live_watch_read(w, &t, &m, &err);
        if (rc == PLUMB_ERR_STATE) {
            seen->refused++;
            continue;
        }
        if (rc < 0)
            fail_msg("%s", err.message);
        assert_int_equal(m.state, PLUMB_LIVE_WATCH_RECORDS);
        check_reading(seen, &t, &m);
    }
    plumb_timing_fini(&t);
}

/* ---- The program ----------------------------------------------------------------------------- */

static int share_progress(void **state)
{
    size_t bytes = WORKERS * sizeof *done + sizeof *stop;
    (void)state;
    done = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stop = (uint32_t *)(void *)(done + WORKERS);
    return done == MAP_FAILED;
}

static plumb_options options_of_run(void)
{
    plumb_options o = plumb_options_default();
    o.run_dir = run_dir;
    return o;
}

static void start_threads(bool visitors)
{
    *stop = 0;
    for (int i = 0; i < WORKERS + visitors; i++) {
        void *(*begin)(void *) = i < WORKERS ? work : send_visitors;
        assert_int_equal(pthread_create(&threads[i], NULL, begin, (void *)(uintptr_t)i), 0);
        threads_started++;
    }
}

static void stop_threads(void)
{
    PLUMB_STORE(*stop, 1);
    while (threads_started)
        pthread_join(threads[--threads_started], NULL);
}

static void watch_busy_program(uint32_t names, bool visitors, uint64_t readings)
{
    struct plumb_live_watch w;
    struct seen seen = {.apart = 0};
    plumb_error err = {0, ""};
    memset(done, 0, WORKERS * sizeof *done);
    wide_names = names;
    record_start_with(options_of_run());
    start_threads(visitors);
    if (plumb_live_watch_open(&w, run_dir, &err) < 0)
        fail_msg("%s", err.message);
    read_often(&w, &seen, readings);
    stop_threads();
    print_message("%d readings: %d with a thread apart, %d refused\n", (int)readings,
                  (int)seen.apart, (int)seen.refused);
    assert_true(seen.refused < readings / 10);
    read_at_rest(&w, &seen);
    for (int i = 0; i < WORKERS; i++)
        assert_true(seen.last[i] == done[i].rounds);
    plumb_live_watch_close(&w);
    record_stop();
    record_remove(run_dir);
}

static void states_that_a_fold_makes_are_read_once(void **state)
{
    (void)state;
    new_names = NEW_NAMES;
    for (int i = 0; i < NEW_RUNS; i++)
        watch_busy_program(0, false, READINGS / 8);
}

static void no_reading_of_eight_busy_threads_is_torn(void **state)
{
    (void)state;
    watch_busy_program(0, false, READINGS);
}

static void threads_that_come_and_go_are_counted_once(void **state)
{
    (void)state;
    watch_busy_program(0, true, READINGS / 2);
}

static void rows_of_threads_too_fast_to_copy_are_right_each_by_itself(void **state)
{
    (void)state;
    watch_busy_program(WIDE, false, READINGS / 4);
}

/* ---- Processes that end, and damaged mappings ------------------------------------------------ */

/* Starts the busy program as a process of its own; returns when all its threads record. */
static pid_t start_program(void)
{
    pid_t pid;
    memset(done, 0, WORKERS * sizeof *done);
    *stop = 0;
    wide_names = 0;
    pid = program = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t t;
        plumb_options o = options_of_run();
        o.quiet = PLUMB_ON;
        if (plumb_start(&o, NULL) < 0)
            _exit(1);
        for (uintptr_t i = 0; i < WORKERS; i++)
            pthread_create(&t, NULL, work, (void *)i);
        for (;;)
            pause();
    }
    for (int i = 0; i < WORKERS; i++) {
        while (PLUMB_ACQUIRE(done[i].rounds) < 50) {
            assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
            usleep(1000);
        }
    }
    return pid;
}

static void kill_program(pid_t pid)
{
    program = 0;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_killed_process_is_read_to_its_last_span(void **state)
{
    struct plumb_live_watch w;
    struct plumb_live_moment m;
    struct plumb_timing t, file;
    struct seen seen = {.apart = 0};
    pid_t pid = start_program();
    (void)state;
    assert_int_equal(plumb_live_watch_open(&w, run_dir, NULL), PLUMB_OK);
    read_often(&w, &seen, 5);
    kill_program(pid);
    plumb_timing_init(&t);
    plumb_timing_init(&file);
    assert_int_equal(plumb_live_watch_read(&w, &t, &m, NULL), PLUMB_OK);
    assert_int_equal(m.state, PLUMB_LIVE_WATCH_KILLED);
    assert_int_equal(m.threads_apart, 0);
    check_reading(&seen, &t, &m);
    /* As the report of the run will be. */
    assert_int_equal(plumb_live_read(&file, run_dir, NULL), PLUMB_OK);
    assert_int_equal(t.node_count, file.node_count);
    for (size_t i = 0; i < t.node_count; i++) {
        assert_string_equal(t.nodes[i].name, file.nodes[i].name);
        assert_memory_equal(&t.nodes[i].host.ns, &file.nodes[i].host.ns, sizeof t.nodes[i].host.ns);
    }
    assert_true(t.wall_clock_ns == file.wall_clock_ns && t.open_count == file.open_count);
    plumb_timing_fini(&t);
    plumb_timing_fini(&file);
    plumb_live_watch_close(&w);
    record_remove(run_dir);
}

/* A watch that is opened after the end finds no process with the number in the mapping. */
static void a_killed_process_records_no_more_at_once(void **state)
{
    struct plumb_live_watch w;
    pid_t pid = start_program();
    (void)state;
    assert_int_equal(plumb_live_watch_open(&w, run_dir, NULL), PLUMB_OK);
    assert_true(plumb_live_watch_records(&w));
    plumb_live_watch_close(&w);
    kill_program(pid);
    assert_int_equal(plumb_live_watch_open(&w, run_dir, NULL), PLUMB_OK);
    assert_false(plumb_live_watch_records(&w));
    plumb_live_watch_close(&w);
    record_remove(run_dir);
}

static void the_report_of_a_running_process_is_as_exact(void **state)
{
    struct seen seen = {.apart = 0};
    struct plumb_live_moment m = {.state = PLUMB_LIVE_WATCH_RECORDS, .threads_apart = 1};
    struct plumb_load load;
    pid_t pid = start_program();
    (void)state;
    while (seen.useful < 30) {
        for (int i = 0; i < WORKERS; i++)
            seen.before[i] = PLUMB_ACQUIRE(done[i].rounds);
        assert_int_equal(plumb_load_run(&load, run_dir, NULL), PLUMB_OK);
        assert_int_equal(load.state, PLUMB_LOAD_LIVE);
        check_reading(&seen, &load.timing, &m);
        plumb_timing_fini(&load.timing);
    }
    kill_program(pid);
    assert_int_equal(plumb_load_run(&load, run_dir, NULL), PLUMB_OK);
    assert_int_equal(load.state, PLUMB_LOAD_RECOVERED);
    m.threads_apart = 0;
    check_reading(&seen, &load.timing, &m);
    plumb_timing_fini(&load.timing);
}

/* ---- Another root directory, another mount namespace
 * ------------------------------------------ */

/* Hides the program's files from this process: below a root of its own, and there in a file system
 * that is mounted in its namespace alone. Returns 0 where that is not permitted. */
static int hide(const char *jail, bool mounted)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/inside", jail);
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
        return 0;
    if (mounted &&
        (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
         mount("none", dir, "tmpfs", 0, NULL) < 0))
        return 0;
    return chroot(jail) == 0 && chdir("/inside") == 0;
}

static void watch_hidden(bool mounted)
{
    static const char jail[] = "watched-jail";
    struct plumb_live_watch w;
    struct plumb_live_moment m;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    int status = 0;
    pid_t pid;
    memset(done, 0, WORKERS * sizeof *done);
    mkdir(jail, 0700);
    mkdir("watched-jail/inside", 0700);
    if ((pid = program = fork()) == 0) {
        plumb_options o = plumb_options_default();
        pthread_t thread;
        if (!hide(jail, mounted))
            _exit(77);
        o.run_dir = "/inside/run";
        o.quiet = PLUMB_ON;
        if (plumb_start(&o, NULL) < 0)
            _exit(1);
        *stop = 0;
        pthread_create(&thread, NULL, work, NULL);
        for (;;)
            pause();
    }
    while (PLUMB_ACQUIRE(done[0].rounds) < 50 && waitpid(pid, &status, WNOHANG) == 0)
        usleep(1000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("not permitted here: chroot, mount or a namespace of one's own\n");
        program = 0;
        skip();
    }
    assert_int_equal(status, 0);
    status = plumb_live_watch_open_pid(&w, (uint32_t)pid, &err);
    plumb_timing_init(&t);
    if (status == PLUMB_OK)
        status = plumb_live_watch_read(&w, &t, &m, &err);
    kill_program(pid);
    if (status < 0)
        fail_msg("%s", err.message);
    assert_int_equal(m.state, PLUMB_LIVE_WATCH_RECORDS);
    assert_true(count_of(find(&t, "outer.%d", 0)) >= 50);
    plumb_timing_fini(&t);
    plumb_live_watch_close(&w);
}

static void a_process_with_a_root_of_its_own_is_found(void **state)
{
    (void)state;
    watch_hidden(false);
}

static void a_process_in_another_mount_namespace_is_found(void **state)
{
    (void)state;
    watch_hidden(true);
}

static void a_process_is_found_by_its_number(void **state)
{
    struct plumb_live_watch w;
    struct plumb_live_moment m;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    pid_t pid = start_program();
    char dir[PATH_MAX];
    (void)state;
    if (plumb_live_watch_open_pid(&w, (uint32_t)pid, &err) < 0)
        fail_msg("%s", err.message);
    assert_non_null(realpath(run_dir, dir));
    assert_string_equal(w.run_dir, dir);
    plumb_timing_init(&t);
    assert_int_equal(plumb_live_watch_read(&w, &t, &m, NULL), PLUMB_OK);
    assert_int_equal(m.state, PLUMB_LIVE_WATCH_RECORDS);
    assert_true(t.node_count >= 3 * WORKERS);
    plumb_timing_fini(&t);
    plumb_live_watch_close(&w);
    kill_program(pid);
    assert_int_equal(plumb_live_watch_open_pid(&w, (uint32_t)pid, &err), PLUMB_ERR_NOT_FOUND);
    assert_int_equal(plumb_live_watch_open_pid(&w, (uint32_t)getpid(), &err), PLUMB_ERR_NOT_FOUND);
    record_remove(run_dir);
}

static void a_mapping_that_is_cut_short_while_it_is_watched_is_refused(void **state)
{
    struct plumb_live_watch w;
    struct plumb_live_moment m;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    char path[64];
    pid_t pid = start_program();
    (void)state;
    assert_int_equal(plumb_live_watch_open(&w, run_dir, NULL), PLUMB_OK);
    kill_program(pid);
    snprintf(path, sizeof path, "%s/live.plumb", run_dir);
    plumb_timing_init(&t);
    for (off_t bytes = 200000; bytes > 0; bytes -= 9999) {
        assert_int_equal(truncate(path, bytes), 0);
        assert_int_equal(plumb_live_watch_read(&w, &t, &m, &err), PLUMB_ERR_FORMAT);
    }
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(plumb_live_watch_read(&w, &t, &m, &err), PLUMB_ERR_FORMAT);
    plumb_timing_fini(&t);
    plumb_live_watch_close(&w);
    assert_int_equal(plumb_live_watch_open(&w, run_dir, &err), PLUMB_ERR_FORMAT);
    record_remove(run_dir);
    assert_int_equal(plumb_live_watch_open(&w, run_dir, &err), PLUMB_ERR_NOT_FOUND);
}

/* A process whose disk is full, or that may not make larger files, which is the same to it. */
static pid_t start_full_program(void)
{
    const struct rlimit limit = {256 << 10, 256 << 10};
    pid_t pid;
    *stop = 0;
    pid = program = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        plumb_options o = options_of_run();
        o.quiet = PLUMB_ON;
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || plumb_start(&o, NULL) < 0)
            _exit(1);
        for (int i = 0; i < 4 * FULL_NODES; i++)
            plumb_end(plumb_begin_node(node_of("full.%d", i % FULL_NODES)));
        PLUMB_STORE(*stop, 1);
        for (;;)
            pause();
    }
    while (!PLUMB_ACQUIRE(*stop)) {
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        usleep(1000);
    }
    return pid;
}

static void what_a_full_disk_keeps_out_of_the_file_is_not_passed_over(void **state)
{
    struct plumb_live_watch w;
    struct plumb_live_moment m;
    struct plumb_timing t;
    plumb_error err = {0, ""};
    pid_t pid = start_full_program();
    (void)state;
    assert_int_equal(plumb_live_watch_open(&w, run_dir, &err), PLUMB_OK);
    plumb_timing_init(&t);
    assert_int_equal(plumb_live_watch_read(&w, &t, &m, &err), PLUMB_ERR_IO);
    assert_non_null(strstr(err.message, "could not grow"));
    plumb_live_watch_close(&w);
    assert_int_equal(plumb_live_watch_open_pid(&w, (uint32_t)pid, &err), PLUMB_OK);
    assert_int_equal(plumb_live_watch_read(&w, &t, &m, &err), PLUMB_ERR_IO);
    kill_program(pid);
    assert_int_equal(plumb_live_watch_read(&w, &t, &m, &err), PLUMB_OK);
    assert_int_equal(m.state, PLUMB_LIVE_WATCH_KILLED);
    plumb_timing_fini(&t);
    plumb_live_watch_close(&w);
    record_remove(run_dir);
}

/* Ends what a test that failed has left: its threads, its program, its files. */
static int tidy(void **state)
{
    char command[64];
    stop_threads();
    new_names = 0;
    if (program > 0)
        kill_program(program);
    record_close(state);
    snprintf(command, sizeof command, "rm -rf '%s' watched-jail", run_dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(states_that_a_fold_makes_are_read_once, tidy),
        cmocka_unit_test_teardown(no_reading_of_eight_busy_threads_is_torn, tidy),
        cmocka_unit_test_teardown(threads_that_come_and_go_are_counted_once, tidy),
        cmocka_unit_test_teardown(rows_of_threads_too_fast_to_copy_are_right_each_by_itself, tidy),
        cmocka_unit_test_teardown(a_killed_process_is_read_to_its_last_span, tidy),
        cmocka_unit_test_teardown(a_killed_process_records_no_more_at_once, tidy),
        cmocka_unit_test_teardown(the_report_of_a_running_process_is_as_exact, tidy),
        cmocka_unit_test_teardown(a_process_with_a_root_of_its_own_is_found, tidy),
        cmocka_unit_test_teardown(a_process_in_another_mount_namespace_is_found, tidy),
        cmocka_unit_test_teardown(a_process_is_found_by_its_number, tidy),
        cmocka_unit_test_teardown(a_mapping_that_is_cut_short_while_it_is_watched_is_refused, tidy),
        cmocka_unit_test_teardown(what_a_full_disk_keeps_out_of_the_file_is_not_passed_over, tidy),
    };
    return cmocka_run_group_tests(tests, share_progress, NULL);
}
