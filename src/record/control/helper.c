/* helper.c: see helper.h.
 *
 * Each job has two numbers: how often it was asked for, and up to which of these it is done. Who
 * asks counts up the first, rings, and waits for the second: many who ask at once are answered by
 * one turn. The helper sleeps on the bell until it rings or something is due by the clock. */
#include "record/control/helper.h"
#include "record/run/carve.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "base/cancel.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/process/resident.h"
#include "record/activation/activation.h"
#include "record/control/control.h"
#include "record/control/keeper.h"
#include "record/run/run.h"
#include "record/run/runtime.h"
#include "record/stage/ledger.h"
#include "record/trace/trace.h"

enum { STACK_BYTES = 256 * 1024, NAP_NS = 1000000, NAPS = 1000 };
static const enum plumb_job URGENT = PLUMB_JOB_MODULES;
enum { SECOND = 1000000000, DESCRIPTORS_MAX = 65536 };

static struct {
    uint32_t bell;     /* atomic: counts rings */
    uint32_t sleeping; /* atomic: it has to be woken */
    uint32_t there;    /* atomic: it does what is asked, now or as soon as it runs */
    uint32_t threads;  /* atomic: of plumb's, that run */
    uint32_t ending;   /* atomic: it is to end */
    pthread_t thread;
    clockid_t cpu; /* its processor time */
    struct {
        uint32_t asked, done; /* atomic */
    } job[PLUMB_JOBS];
} helper;

static __thread bool is_own __attribute__((tls_model("initial-exec")));
static __thread bool is_helper __attribute__((tls_model("initial-exec")));

bool plumb_helper_is_there(void)
{
    return PLUMB_ACQUIRE(helper.there) != 0;
}

bool plumb_helper_is_me(void)
{
    return is_own;
}

/* ---- Threads --------------------------------------------------------------------------------- */

struct birth {
    void *(*run)(void *arg);
    void *arg;
    bool own;
    uint32_t copied; /* atomic */
};

static void *begin(void *arg)
{
    struct birth *birth = arg, b = *birth;
    is_own = b.own;
    if (b.own)
        plumb_log_hold();
    PLUMB_RELEASE(birth->copied, 1);
    plumb_futex_wake(&birth->copied);
    pthread_setname_np(pthread_self(), "plumb");
    plumb_own_cpu_begin();
    return b.run(b.arg);
}

/* `birth` has to stay until it is copied. */
static int make_thread(pthread_t *out, struct birth *birth, size_t size)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int code;
    pthread_attr_init(&attr);
    if (size)
        pthread_attr_setstacksize(&attr, size);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    code = pthread_create(out, &attr, begin, birth);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (code == 0)
        __atomic_fetch_add(&helper.threads, 1, __ATOMIC_ACQ_REL);
    return code;
}

static void await_birth(const struct birth *birth)
{
    while (!PLUMB_ACQUIRE(birth->copied))
        plumb_futex_wait(&birth->copied, 0, UINT64_MAX);
}

int plumb_own_thread(pthread_t *out, void *(*run)(void *arg), void *arg, size_t size)
{
    struct birth birth = {run, arg, is_own, 0};
    int code = make_thread(out, &birth, size);
    if (code == 0)
        await_birth(&birth);
    return code;
}

void plumb_own_thread_ends(void)
{
    plumb_own_cpu_end();
    __atomic_fetch_sub(&helper.threads, 1, __ATOMIC_ACQ_REL);
}

uint32_t plumb_own_threads(void)
{
    return PLUMB_ACQUIRE(helper.threads);
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void (*const job_of[PLUMB_JOBS])(void) = {
    [PLUMB_JOB_GROW] = plumb_carve_grow,
    [PLUMB_JOB_RSS] = plumb_rss_take,
    [PLUMB_JOB_RSS_RESET] = plumb_rss_reset,
    [PLUMB_JOB_STACKS] = plumb_trace_stacks_do_find,
    [PLUMB_JOB_MODULES] = plumb_act_modules_do_decide,
    [PLUMB_JOB_OPEN] = plumb_run_do_open,
    [PLUMB_JOB_ACTIVATIONS] = plumb_activations_do_open,
    [PLUMB_JOB_ENVIRONMENT] = plumb_runtime_environment_do_read,
    [PLUMB_JOB_STOP] = plumb_run_do_stop,
};

static void serve(enum plumb_job last)
{
    for (enum plumb_job i = 0; i <= last; i++) {
        uint32_t asked = PLUMB_ACQUIRE(helper.job[i].asked);
        if (asked == helper.job[i].done)
            continue;
        job_of[i]();
        PLUMB_RELEASE(helper.job[i].done, asked);
        plumb_futex_wake(&helper.job[i].done);
    }
}

static void sleep_until_rung(uint32_t heard, uint64_t ns)
{
    __atomic_store_n(&helper.sleeping, 1, __ATOMIC_SEQ_CST);
    if (PLUMB_LOAD_ORDERED(helper.bell) == heard)
        plumb_futex_wait(&helper.bell, heard, ns);
    PLUMB_STORE(helper.sleeping, 0);
}

static void ring(void)
{
    __atomic_fetch_add(&helper.bell, 1, __ATOMIC_SEQ_CST);
    if (PLUMB_LOAD_ORDERED(helper.sleeping))
        plumb_futex_wake(&helper.bell);
}

static uint32_t ask(enum plumb_job job)
{
    uint32_t ticket = __atomic_add_fetch(&helper.job[job].asked, 1, __ATOMIC_ACQ_REL);
    ring();
    return ticket;
}

static bool is_done(enum plumb_job job, uint32_t ticket)
{
    return (int32_t)(PLUMB_ACQUIRE(helper.job[job].done) - ticket) >= 0;
}

static bool await(enum plumb_job job, uint32_t ticket, uint64_t ns)
{
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC), until = now + ns;
    while (!is_done(job, ticket) && now < until && plumb_helper_is_there()) {
        uint32_t seen = PLUMB_LOAD(helper.job[job].done);
        if (!is_done(job, ticket))
            plumb_futex_wait(&helper.job[job].done, seen, until - now);
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    }
    return is_done(job, ticket);
}

/* On this thread. What a job calls may end a thread that is cancelled. */
static void do_it_here(enum plumb_job job)
{
    struct plumb_cancel before;
    before = plumb_cancel_off();
    job_of[job]();
    plumb_cancel_on(before);
}

bool plumb_helper_do(enum plumb_job job, uint64_t ns)
{
    if (!is_own && plumb_helper_is_there() && await(job, ask(job), ns))
        return true;
    if (!is_own && plumb_helper_is_there())
        return false;
    do_it_here(job);
    return true;
}

void plumb_helper_ask(enum plumb_job job)
{
    if (plumb_helper_is_there())
        ask(job);
}

static uint64_t cpu_ns(void)
{
    struct timespec t = {0, 0};
    clock_gettime(helper.cpu, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

bool plumb_helper_do_patiently(enum plumb_job job, uint64_t ns)
{
    uint64_t cpu, before = 0, quiet = 0;
    uint32_t ticket;
    bool done = false;
    if (is_own || !plumb_helper_is_there())
        return plumb_helper_do(job, ns);
    ticket = ask(job);
    while (!done && quiet < ns && plumb_helper_is_there()) {
        done = await(job, ticket, SECOND);
        cpu = cpu_ns();
        quiet = cpu != before ? 0 : quiet + SECOND;
        before = cpu;
    }
    if (!done && !plumb_helper_is_there())
        return plumb_helper_do(job, ns);
    return done;
}

void plumb_helper_pause(uint64_t ns)
{
    uint32_t heard = PLUMB_LOAD_ORDERED(helper.bell);
    if (is_helper) {
        serve(URGENT);
        sleep_until_rung(heard, ns);
    } else {
        plumb_nap(ns);
    }
}

void plumb_helper_lock(pthread_mutex_t *mutex)
{
    while (is_helper && pthread_mutex_trylock(mutex) != 0)
        plumb_helper_pause(NAP_NS);
    if (!is_helper)
        pthread_mutex_lock(mutex);
}

/* ---- Its life -------------------------------------------------------------------------------- */

/* How the process ran when the library was loaded: what the thread that makes the helper has done
 * to itself since is not the helper's. */
static struct {
    unsigned char cpus[1024];
    long cpus_bytes;
    int policy, nice;
} at_load;

void plumb_helper_loaded(void)
{
    pid_t first = getpid();
    int saved = errno;
    at_load.cpus_bytes = syscall(SYS_sched_getaffinity, first, sizeof at_load.cpus, at_load.cpus);
    at_load.policy = sched_getscheduler(first) & ~SCHED_RESET_ON_FORK;
    at_load.nice = getpriority(PRIO_PROCESS, (id_t)first);
    if (at_load.policy == SCHED_FIFO || at_load.policy == SCHED_RR || at_load.policy < 0)
        at_load.policy = SCHED_OTHER;
    errno = saved;
}

static void settle(void)
{
    const struct sched_param none = {0};
    if (at_load.cpus_bytes > 0)
        syscall(SYS_sched_setaffinity, 0, at_load.cpus_bytes, at_load.cpus);
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != at_load.policy)
        sched_setscheduler(0, at_load.policy, &none);
    if (getpriority(PRIO_PROCESS, 0) != at_load.nice)
        setpriority(PRIO_PROCESS, 0, at_load.nice);
}

/* The kernel is older than close_range(). */
static bool leave_one_by_one(int first)
{
    struct rlimit limit;
    int most = DESCRIPTORS_MAX;
    if (unshare(CLONE_FILES) < 0)
        return false;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < DESCRIPTORS_MAX)
        most = (int)limit.rlim_max;
    while (first < most)
        close(first++);
    return true;
}

/* A table of this thread's own with nothing in it: whoever reads the other end of a program's pipe
 * waits until all copies are closed. */
bool plumb_own_table(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const int first = STDERR_FILENO + 1; /* for what they report */
#else
    const int first = 0;
#endif
    if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_UNSHARE) < 0 && !leave_one_by_one(first))
        return false;
    /* What libc writes to 2 as it aborts must not come into a file of ours: here it goes nowhere.
     */
    for (int fd = first; fd <= STDERR_FILENO; fd++)
        if (epoll_create1(EPOLL_CLOEXEC) < 0)
            break;
    return true;
}

/* libc reserves 64 MiB of addresses for a thread that allocates: too many where few may be had. */
static bool has_room(void)
{
    enum { PART = 16 };
    const rlim_t arena = UINT64_C(64) << 20;
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur / PART >= arena;
}

/* What has_room() asked about: now, and not when the program counts on what is left. */
static void reserve(void)
{
    void *p = malloc(1);
    __asm__ volatile("" : : "r"(p) : "memory"); /* or the compiler leaves both out */
    free(p);
}

/* There is no helper after all: who asked does it. */
static void give_up(void)
{
    PLUMB_RELEASE(helper.there, 0);
    for (enum plumb_job i = 0; i < PLUMB_JOBS; i++)
        plumb_futex_wake(&helper.job[i].done);
}

static void *helper_main(void *unused)
{
    (void)unused;
    is_helper = true;
    /* The program may have set its limits meanwhile. */
    if (!has_room() || !plumb_own_table()) {
        give_up();
        plumb_own_thread_ends();
        return NULL;
    }
    settle();
    plumb_resident_keep();
    reserve();
    while (!PLUMB_ACQUIRE(helper.ending)) {
        uint32_t heard = PLUMB_LOAD_ORDERED(helper.bell);
        serve(PLUMB_JOBS - 1);
        sleep_until_rung(heard, plumb_control_turn());
    }
    serve(PLUMB_JOBS - 1);
    plumb_own_thread_ends();
    return NULL;
}

static bool is_wanted(void)
{
    return plumb_rt.settings.helper && has_room();
}

const char *plumb_helper_cure(void)
{
    return plumb_rt.settings.helper ? "raise the limit of the address space (ulimit -v) to 1 GiB"
                                    : "set PLUMB_HELPER=on";
}

void plumb_helper_start(void)
{
    static struct birth birth;
    bool locked = plumb_life_locked;
    int code;
    if (helper.there || plumb_helper_is_ending() || !is_wanted())
        return;
    /* A process that records nothing does not wait for it. */
    PLUMB_RELEASE(helper.there, 1);
    birth = (struct birth){helper_main, NULL, true, 0};
    /* A span in the program's malloc() must not wait for who is being made. */
    plumb_life_locked = true;
    code = make_thread(&helper.thread, &birth, STACK_BYTES);
    plumb_life_locked = locked;
    if (code) {
        PLUMB_RELEASE(helper.there, 0);
        plumb_say("plumb: cannot start its thread: %s; memory is not sampled, there is no trace, a "
                  "run that is killed keeps a coarse clock, and signals end it without a report",
                  strerror(code));
        return;
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    /* Being born it has their allocator's lock, which a fork would leave to the child. */
    await_birth(&birth);
#endif
    pthread_getcpuclockid(helper.thread, &helper.cpu);
    plumb_keeper_needed();
}

bool plumb_helper_end(void)
{
    if (!helper.there || plumb_keeper_is_there())
        return false;
    PLUMB_RELEASE(helper.there, 0);
    PLUMB_RELEASE(helper.ending, 1);
    ring();
    return true;
}

void plumb_helper_join(void)
{
    struct timespec t;
    struct plumb_cancel before;
    before = plumb_cancel_off();
    pthread_join(helper.thread, NULL);
    /* The kernel counts it a moment longer, as long as it has a clock: unshare() would still be
     * refused. */
    for (int i = 0; i < NAPS && clock_gettime(helper.cpu, &t) == 0; i++)
        plumb_helper_pause(NAP_NS / 10);
    plumb_cancel_on(before);
    PLUMB_RELEASE(helper.ending, 0);
}

bool plumb_helper_is_ending(void)
{
    return PLUMB_ACQUIRE(helper.ending) != 0;
}

/* ---- By the first span ----------------------------------------------------------------------- */

static struct {
    uint32_t waits;   /* atomic: and has had no span outside of handlers */
    sigset_t blocked; /* at the fork, or when the library was loaded */
} late;

void plumb_helper_start_late(void)
{
    pthread_sigmask(SIG_SETMASK, NULL, &late.blocked);
    PLUMB_STORE(late.waits, 1);
}

void plumb_helper_forget(void)
{
    memset(&helper, 0, sizeof helper);
    plumb_helper_start_late();
}

static bool is_handled(int sig)
{
    struct sigaction a;
    return sigaction(sig, NULL, &a) == 0 &&
           (a.sa_flags & SA_SIGINFO || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN));
}

/* A handler's own signal is blocked while it runs, or it has a stack of its own; no more can be
 * known. */
static bool seems_in_handler(void)
{
    sigset_t now;
    stack_t stack;
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK)
        return true;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int sig = 1; sig < NSIG; sig++) {
        if (sigismember(&now, sig) == 1 && sigismember(&late.blocked, sig) != 1 && is_handled(sig))
            return true;
    }
    return false;
}

bool plumb_helper_start_by_span(void)
{
    if (!PLUMB_ACQUIRE(late.waits) || plumb_helper_is_there())
        return true;
    if (seems_in_handler())
        return false;
    plumb_life_lock();
    plumb_helper_start();
    plumb_life_unlock();
    PLUMB_RELEASE(late.waits, 0);
    return true;
}
