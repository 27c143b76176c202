/* labels: plain
 * Not under sanitizers: AddressSanitizer takes the frames that a cancellation unwound for written
 * to, and the allocators do not survive a fork while other threads run.
 *
 * A random host: each seed is a process that starts and stops runs with random settings. Its
 * threads nest spans and stages, fail them, are cancelled, fork, load and unload a plug-in, take
 * summaries and use descriptors of their own, under signals whose handler records and forks. From
 * some moment on its files may not grow, and it may be killed.
 *
 * The model: each thread counts a span of a node before the span begins and after it has ended, in
 * memory that it shares with the test. So the count of each node in a run lies between the spans
 * that ended and those that began, minus those counted as dropped; if the threads have ended, it is
 * exact. Descriptors of the host stay what they are, its children end as they intend, and no thread
 * hangs.
 *
 * TEST_FEATURES, a sum of values of `enum feature`, leaves the other features out, to reduce a seed
 * that failed. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "runtime/child.h"

#define PLUGIN_PATH TEST_PLUMB_BUILD_DIR "/tests/bin/libplumb_host_plugin.so"
#define SEEDS_DEFAULT 50
#include "seeds.h"

enum { THREADS = 3, RUNS = 2, ROUNDS = 12, DEPTH = 4, OWN = 4, WATCHDOG_MS = 60000 };
enum { NAMED = 6, STAGE = NAMED, SAMPLE, CANCELLED, PLUGIN, HANDLER, NODES };
enum feature {
    FORKS = 1,
    SIGNALS = 2,
    SIGNAL_FORKS = 4,
    CANCELS = 8,
    KILLS_THREADS = 16, /* cancels them at any instruction */
    PLUGINS = 32,
    STOPS = 64, /* while threads record */
    SUMMARIES = 128,
    FILES = 256,
    CLOSES = 512, /* every descriptor that is not the host's */
    LIMITS = 1024,
    DIES = 2048,
    TRACES = 4096,
    SMALL = 8192,    /* small PLUMB_MAX_STATE */
    NUMBERS = 16384, /* a descriptor that was closed is free, where there is one thread */
    FEATURES = 2 * NUMBERS - 1 - SIGNAL_FORKS - KILLS_THREADS - NUMBERS
};
static const char *const names[NODES] = {"a",     "b",      "c",         "d",      "e",      "f",
                                         "stage", "sample", "cancelled", "plugin", "handler"};

/* ---- What the process shares with the test --------------------------------------------------- */

struct counts {
    uint64_t begun[NODES], ended[NODES];
};
struct run {
    struct counts counts;
    char dir[200];
    int opened, small, stopped_busy, limited;
};
static struct side {
    struct run runs[RUNS];
    int last;                       /* the run that is open, or was */
    const char *doing[THREADS + 1]; /* literals, of which the test has the same */
} * side;

/* ---- The process ----------------------------------------------------------------------------- */

/* A child that returned from the handler that forked it is in the middle of something of its
 * parent's. */
#define NEEDS(condition)                                                                           \
    do {                                                                                           \
        if (!is_child)                                                                             \
            ROLE_NEEDS(condition);                                                                 \
        else if (!(condition))                                                                     \
            _exit(5);                                                                              \
    } while (0)

struct own {
    int fd; /* -1: none */
    struct stat was;
    char text[8];
};
struct thread {
    pthread_t id;
    int number, others; /* whether other threads run */
    uint64_t random;
    struct own own[OWN];
};

static struct counts unshared; /* of a child, which has a run of its own */
static struct counts *counts;  /* where the spans of this process are counted */
static plumb_node nodes[NODES];
static unsigned features;
static volatile sig_atomic_t is_child, forks_left;
static int limited, few_nodes;     /* from now on: later runs too */
static _Thread_local int may_fork; /* in a handler */

static int chance(struct thread *t, int n)
{
    return (int)(random_next(&t->random) % (uint64_t)n);
}

static void begin_count(int node)
{
    __atomic_fetch_add(&counts->begun[node], 1, __ATOMIC_SEQ_CST);
}

static void end_count(int node)
{
    __atomic_fetch_add(&counts->ended[node], 1, __ATOMIC_SEQ_CST);
}

static void spans(struct thread *t, int depth)
{
    int node = chance(t, NAMED);
    begin_count(node);
    plumb_span span = plumb_begin_node(nodes[node]);
    for (int i = chance(t, 4); depth > 1 && i > 0; i--)
        spans(t, depth - 1);
    plumb_end(span);
    end_count(node);
}

static void do_spans(struct thread *t)
{
    for (int i = chance(t, 40); i >= 0; i--)
        spans(t, 1 + chance(t, DEPTH));
}

static void do_stage(struct thread *t)
{
    begin_count(STAGE);
    {
        PLUMB_STAGE(stage, "stage");
        plumb_stage_input_value(stage, "n", plumb_value_i64(chance(t, 3)));
        spans(t, 2);
    }
    end_count(STAGE);
}

static void do_samples(struct thread *t)
{
    for (int i = chance(t, 100); i >= 0; i--) {
        begin_count(SAMPLE);
        plumb_record_ns(nodes[SAMPLE], (uint64_t)chance(t, 1000));
        end_count(SAMPLE);
    }
}

static void do_async(struct thread *t)
{
    int node = chance(t, NAMED);
    begin_count(node);
    plumb_async span = plumb_async_begin(nodes[node]);
    spans(t, 1);
    plumb_async_end(span);
    end_count(node);
}

static void do_failure(struct thread *t)
{
    char why[32];
    plumb_span span = plumb_begin_node(nodes[chance(t, NAMED)]);
    snprintf(why, sizeof why, "reason %d", chance(t, 1000));
    plumb_span_fail(span, why);
    plumb_end(span);
}

/* Its spans are its own run's. */
static void child(struct thread *t)
{
    counts = &unshared;
    is_child = 1;
    do_spans(t);
    do_stage(t);
    if (chance(t, 2))
        exit(5);
    _exit(5);
}

static void do_fork(struct thread *t)
{
    pid_t pid;
    begin_count(0);
    plumb_span span = plumb_begin_node(nodes[0]);
    pid = fork();
    NEEDS(pid >= 0);
    if (pid == 0)
        child(t);
    NEEDS(child_status_of(pid) == 5 << 8);
    plumb_end(span);
    end_count(0);
}

static void *cancelled(void *begun)
{
    if (features & KILLS_THREADS && *(int *)begun < 0)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    __atomic_store_n((int *)begun, 1, __ATOMIC_RELEASE);
    for (;;) {
        begin_count(CANCELLED);
        {
            PLUMB_STAGE(stage, "cancelled");
        }
        end_count(CANCELLED);
        pthread_testcancel();
    }
    return NULL;
}

static void do_cancel(struct thread *t)
{
    pthread_t thread;
    int begun = chance(t, 2) ? 0 : -1;
    NEEDS(pthread_create(&thread, NULL, cancelled, &begun) == 0);
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) <= 0)
        sched_yield();
    for (int i = chance(t, 20); i >= 0; i--)
        spans(t, 1);
    NEEDS(pthread_cancel(thread) == 0);
    NEEDS(pthread_join(thread, NULL) == 0);
}

static void do_plugin(struct thread *t)
{
    int n = chance(t, 30);
    void *plugin = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    union {
        void *address;
        void (*work)(int);
    } symbol;
    NEEDS(plugin != NULL);
    NEEDS((symbol.address = dlsym(plugin, "plugin_work")) != NULL);
    __atomic_fetch_add(&counts->begun[PLUGIN], (uint64_t)n, __ATOMIC_SEQ_CST);
    symbol.work(n);
    __atomic_fetch_add(&counts->ended[PLUGIN], (uint64_t)n, __ATOMIC_SEQ_CST);
    NEEDS(dlclose(plugin) == 0);
}

/* A summary has the spans that had ended before it was asked for, and none that had not begun when
 * it came. If its run is stopped in the meantime, or has a small mapping, it has fewer. */
static void do_summary(struct thread *t)
{
    struct counts before = *counts;
    plumb_rows *rows = NULL;
    struct run *run = &side->runs[side->last];
    int rc = plumb_summary_rows(&rows, NULL, NULL, NULL);
    (void)t;
    NEEDS(rc == PLUMB_OK || run->stopped_busy || run->small);
    for (int n = 0; rc == PLUMB_OK && n < NODES; n++) {
        uint64_t count = 0;
        for (size_t i = 0; i < plumb_rows_count(rows); i++)
            if (strcmp(plumb_rows_get(rows, i)->node, names[n]) == 0)
                count += plumb_rows_get(rows, i)->count;
        if (count > __atomic_load_n(&counts->begun[n], __ATOMIC_SEQ_CST) ||
            (count < before.ended[n] && n != HANDLER && !run->stopped_busy && !run->small)) {
            fprintf(stderr,
                    "summary: %s: %" PRIu64 ", ended before %" PRIu64 ", begun %" PRIu64 "\n",
                    names[n], count, before.ended[n], counts->begun[n]);
            _exit(96);
        }
    }
    plumb_rows_free(rows);
}

static void own_check(const struct own *own)
{
    char text[sizeof own->text];
    struct stat is;
    NEEDS(fstat(own->fd, &is) == 0);
    NEEDS(is.st_dev == own->was.st_dev && is.st_ino == own->was.st_ino);
    NEEDS(is.st_size == sizeof text && pread(own->fd, text, sizeof text, 0) == sizeof text);
    NEEDS(memcmp(text, own->text, sizeof text) == 0);
}

static void own_open(struct thread *t, struct own *own)
{
    uint64_t content = random_next(&t->random);
    memcpy(own->text, &content, sizeof content);
    own->fd = memfd_create("own", MFD_CLOEXEC);
    NEEDS(own->fd >= 0);
    NEEDS(write(own->fd, own->text, sizeof own->text) == sizeof own->text);
    NEEDS(fstat(own->fd, &own->was) == 0);
}

static void own_close(struct thread *t, struct own *own)
{
    int fd = own->fd;
    NEEDS(close(fd) == 0);
    own->fd = -1;
    if (features & NUMBERS && !t->others) {
        own_open(t, own);
        NEEDS(own->fd <= fd);
    }
}

static void do_files(struct thread *t)
{
    for (int i = 0; i < 20; i++) {
        struct own *own = &t->own[chance(t, OWN)];
        if (own->fd < 0)
            own_open(t, own);
        own_check(own);
        if (chance(t, 2))
            own_close(t, own);
    }
}

static void do_close_all(struct thread *t)
{
    if (t->others)
        return;
    for (int fd = 3; fd < 64; fd++) {
        int mine = 0;
        for (int i = 0; i < OWN; i++)
            mine |= t->own[i].fd == fd;
        if (!mine)
            close(fd);
    }
    do_files(t);
}

static void do_limit(struct thread *t)
{
    struct rlimit limit = {4096 << chance(t, 8), RLIM_INFINITY};
    limited = side->runs[side->last].limited = 1;
    NEEDS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static const struct action {
    const char *name;
    void (*run)(struct thread *t);
    unsigned feature; /* 0: always, and a handler may fork in it */
    int one_in;
} actions[] = {
    {"spans", do_spans, 0, 1},
    {"stage", do_stage, 0, 2},
    {"samples", do_samples, 0, 4},
    {"async", do_async, 0, 2},
    {"failure", do_failure, 0, 2},
    {"fork", do_fork, FORKS, 24},
    {"cancel", do_cancel, CANCELS, 16},
    {"plug-in", do_plugin, PLUGINS, 12},
    {"summary", do_summary, SUMMARIES, 12},
    {"files", do_files, FILES, 4},
    {"close all", do_close_all, CLOSES, 8},
    {"limit", do_limit, LIMITS, 60},
};

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    int rounds = 1 + chance(t, ROUNDS);
    for (int i = 0; i < OWN; i++)
        t->own[i].fd = -1;
    for (int i = 0; i < rounds && !is_child; i++) {
        const struct action *a = &actions[chance(t, (int)(sizeof actions / sizeof *actions))];
        if ((a->feature && !(features & a->feature)) || chance(t, a->one_in))
            continue;
        side->doing[t->number] = a->name;
        may_fork = !a->feature;
        a->run(t);
        may_fork = 0;
        side->doing[t->number] = NULL;
    }
    if (is_child) /* returned from a handler that forked */
        _exit(5);
    for (int i = 0; i < OWN; i++)
        if (t->own[i].fd >= 0)
            close(t->own[i].fd);
    return NULL;
}

static void on_signal(int number)
{
    struct counts *mine = counts;
    int saved = errno;
    (void)number;
    if (is_child)
        return;
    __atomic_fetch_add(&mine->begun[HANDLER], 1, __ATOMIC_SEQ_CST);
    {
        PLUMB_SPAN("handler");
    }
    __atomic_fetch_add(&mine->ended[HANDLER], 1, __ATOMIC_SEQ_CST);
    if (may_fork && forks_left-- > 0 && fork() == 0) {
        counts = &unshared;
        is_child = 1;
    }
    errno = saved;
}

static void signals(int us)
{
    struct itimerval timer = {{0, us}, {0, us}};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    NEEDS(sigaction(SIGALRM, &action, NULL) == 0);
    NEEDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static plumb_options options_of(struct thread *t, struct run *run)
{
    plumb_options o = plumb_options_default();
    o.quiet = PLUMB_ON;
    o.run_dir = run->dir;
    o.memory = (uint32_t)chance(t, 3);
    o.memory_interval_ms = 1;
    o.median_p2 = chance(t, 3) ? PLUMB_OFF : PLUMB_ON;
    o.ring_bytes = chance(t, 2) ? 4096 : 0;
    if (features & TRACES && chance(t, 3) == 0) {
        o.trace = PLUMB_ON;
        o.trace_mode = chance(t, 2) ? PLUMB_TRACE_RING : PLUMB_TRACE_STOP;
        o.trace_ring_bytes = 16384;
    }
    if (features & SMALL && chance(t, 4) == 0) {
        run->small = 1;
        if (chance(t, 2)) {
            few_nodes = 1; /* what was one of the others once stays so */
            o.max_nodes = 1 + (uint64_t)chance(t, NODES);
        } else {
            o.max_state_bytes = (200 + (uint64_t)chance(t, 800)) << 10;
        }
    }
    run->small |= few_nodes;
    run->limited = limited;
    return o;
}

/* Starts a run, lets threads work, ends it. */
static void one_run(struct thread *t, int i)
{
    struct thread threads[THREADS];
    struct run *run = &side->runs[i];
    plumb_options options;
    int count = 1 + chance(t, THREADS);
    options = options_of(t, run);
    run->stopped_busy = features & STOPS && chance(t, 4) == 0;
    run->opened = 1;
    counts = &run->counts;
    side->last = i;
    forks_left = features & SIGNAL_FORKS ? chance(t, 3) : 0;
    side->doing[THREADS] = "start";
    NEEDS(plumb_start(&options, NULL) == PLUMB_OK);
    for (int n = 0; n < NODES; n++)
        nodes[n] = plumb_node_get(names[n]);
    if (features & SIGNALS && chance(t, 2))
        signals(1000);
    side->doing[THREADS] = "wait for threads";
    for (int k = 0; k < count; k++) {
        threads[k] = (struct thread){.number = k,
                                     .others = count > 1 || features & SIGNAL_FORKS,
                                     .random = random_next(&t->random)};
        NEEDS(pthread_create(&threads[k].id, NULL, thread_main, &threads[k]) == 0);
    }
    if (run->stopped_busy)
        plumb_stop(NULL);
    for (int k = 0; k < count; k++)
        NEEDS(pthread_join(threads[k].id, NULL) == 0);
    if (features & SIGNALS)
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    for (int status; wait(&status) > 0;)
        NEEDS(status == 5 << 8);
    if (features & DIES && chance(t, 4) == 0)
        kill(getpid(), SIGKILL);
    side->doing[THREADS] = "stop";
    plumb_stop(NULL);
}

static void process(uint64_t seed)
{
    struct thread t = {.random = seed};
    int runs = 1 + chance(&t, RUNS);
    for (int i = 0; i < runs; i++)
        one_run(&t, i);
    if (chance(&t, 2))
        exit(5);
    _exit(5);
}

/* ---- The test -------------------------------------------------------------------------------- */

static uint64_t counted(const struct plumb_timing *t, int node)
{
    return count_of(t, names[node]);
}

/* Checks the count of `node` in the report of a run, which may have been killed. */
static void compare_node(const struct plumb_timing *t, const struct run *run, int node, bool least)
{
    uint64_t count = counted(t, node), ended = run->counts.ended[node];
    uint64_t dropped = node == HANDLER ? t->drops.reentrant : 0;
    /* A handler that interrupts its thread while that has no run is counted when the run ends. */
    least &= node != HANDLER || !t->recovered;
    if (count > run->counts.begun[node] || (least && count + dropped < ended))
        fail_msg("%s: %" PRIu64 " in the report, %" PRIu64 " dropped, %" PRIu64 " ended, %" PRIu64
                 " begun",
                 names[node], count, dropped, ended, run->counts.begun[node]);
}

/* All that ended is in some row, or counted as dropped; in handlers not where it was killed. */
static void compare_sum(const struct plumb_timing *t, const struct run *run)
{
    uint64_t sum = count_of(t, "(other)") + t->drops.lost_state + t->drops.too_deep +
                   t->drops.reentrant + t->drops.async;
    uint64_t ended = 0;
    for (int n = 0; n < NODES; n++) {
        if (n == HANDLER && t->recovered)
            continue;
        sum += counted(t, n);
        ended += run->counts.ended[n];
    }
    if (sum < ended)
        fail_msg("%" PRIu64 " of %" PRIu64 " are in the report or dropped", sum, ended);
}

static void look_at_run(const struct run *run)
{
    bool least;
    plumb_error err = {0, ""};
    struct plumb_load load;
    if (plumb_load_run(&load, run->dir, &err) < 0) {
        if (!run->limited)
            fail_msg("%s: %s", run->dir, err.message);
        return;
    }
    /* Where no report could be written there is what the mapping had when it could not grow. */
    least = !run->stopped_busy && !(run->limited && load.state != PLUMB_LOAD_ENDED);
    for (int n = 0; n < NODES; n++)
        compare_node(&load.timing, run, n, least && !run->small);
    if (least)
        compare_sum(&load.timing, run);
    assert_consistent(&load.timing, false);
    plumb_timing_fini(&load.timing);
}

/* Where it hangs, as far as can be seen from outside. */
static void tell_where(pid_t pid)
{
    char command[128];
    for (int i = 0; i <= THREADS; i++)
        if (side->doing[i])
            fprintf(stderr, "%s %d: %s\n", i < THREADS ? "thread" : "main", i, side->doing[i]);
    snprintf(
        command, sizeof command,
        "gdb -p %d -batch -ex 'thread apply all backtrace 12' 2>&1 | grep -E '^(Thread|#)' >&2",
        (int)pid);
    if (system(command) != 0)
        fprintf(stderr, "gdb tells nothing of process %d\n", (int)pid);
}

static int status_of(pid_t pid)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    assert_true(ended.fd >= 0);
    if (poll(&ended, 1, WATCHDOG_MS) == 0) {
        tell_where(pid);
        kill(pid, SIGKILL);
        child_status_of(pid);
        fail_msg("the process hangs");
    }
    close(ended.fd);
    return child_status_of(pid);
}

static void one(uint64_t seed)
{
    bool killed;
    int status;
    pid_t pid;
    memset(side, 0, sizeof *side);
    assert_int_equal(mkdir("seed", 0700), 0);
    for (int i = 0; i < RUNS; i++)
        snprintf(side->runs[i].dir, sizeof side->runs[i].dir, "seed/%d", i);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        process(seed);
    status = status_of(pid);
    killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 5) && !(killed && features & DIES))
        fail_msg("wait status %#x", status);
    for (int i = 0; i < RUNS; i++)
        if (side->runs[i].opened)
            look_at_run(&side->runs[i]);
    remove_tree("seed");
}

static void what_a_random_host_records_is_right_and_the_host_is_not_hurt(void **state)
{
    (void)state;
    side = mmap(NULL, sizeof *side, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(side, MAP_FAILED);
    features = (unsigned)seeds_setting("TEST_FEATURES", FEATURES);
    seeds_run(one);
    munmap(side, sizeof *side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_a_random_host_records_is_right_and_the_host_is_not_hurt,
                                  seeds_teardown),
    };
    return cmocka_run_group_tests(tests, fresh_place, NULL);
}
