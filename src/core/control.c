/* control.c: the one thread that plumb adds to a process while a run is open, and the signals that
 * end a run.
 *
 * The thread blocks every signal and mostly sleeps: it takes clock anchors (after 5 ms, 50 ms, then
 * each second, so that a killed run still has a fitted clock), samples memory, calibrates the cost
 * of a span once per process, and finishes the run when a signal handler asks for it, because a
 * handler may not.
 *
 * SIGTERM and SIGINT are taken only where they are at SIG_DFL when the run opens, or, for a run
 * that opens before main(), a second later, when an interpreter that takes them for itself has
 * looked at them; the handler asks, waits at most 2 s, and lets the signal do what it would have
 * done.
 *
 * A program whose main() leaves by pthread_exit() ends with its last thread. Ours would be that
 * for ever, so the thread also looks whether the program's are all gone, and then ends the process
 * as the last of them would have: exit(0). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pages.h"
#include "core/ledger.h"
#include "core/runtime.h"
#include "format/live_clock.h"

enum { REQUEST_NONE = 0, REQUEST_END = 1, REQUEST_FINISH = 2, SIGNALS_AFTER_NS = 1000000000 };
enum { REPORT_STACK = 64 * 1024, FINISH_MS = 10000 };
enum { AFTER_JUMP_NS = 5000000 };
enum { LOOK_NS = 200000000 }; /* between looks whether anybody is left */

static struct {
    pthread_t thread;
    sem_t wake;
    sem_t born; /* posted once by the thread, when it runs */
    uint32_t running;
    uint32_t threads;  /* atomic: of plumb's, that run */
    uint32_t request;  /* atomic */
    uint32_t finished; /* atomic: the run that a signal asked to finish is over */
    bool taken[65];    /* signals with our handler */
    bool late;         /* signals are left alone at first */
} control;

static void signal_take(int sig);

/* ---- The thread ------------------------------------------------------------------------------ */

/* True: one more, soon. */
static bool anchor(struct plumb_run *run)
{
    struct plumb_anchor now;
    plumb_anchor_take(&now, plumb_rt.clock);
    return plumb_live_clock_take(run->h, &now);
}

static void sleep_for(uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (time_t)(ns % 1000000000u);
    t.tv_sec += (time_t)(ns / 1000000000u) + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    while (sem_clockwait(&control.wake, CLOCK_MONOTONIC, &t) < 0 && errno == EINTR)
        continue;
}

void plumb_own_thread(int change)
{
    __atomic_fetch_add(&control.threads, (uint32_t)change, __ATOMIC_ACQ_REL);
}

/* Whether main() has left by pthread_exit() and no thread of the program's runs any more: the first
 * thread is a zombie, and the others, of whom /proc tells the number, are ours. */
static bool is_alone(void)
{
    char text[1024];
    const char *p;
    unsigned long threads = 0;
    ssize_t n;
    int fd;
    /* Of the first thread alone: that of the process adds up the times of all threads. */
    snprintf(text, sizeof text, "/proc/self/task/%u/stat", plumb_rt.pid);
    if ((fd = open(text, O_RDONLY | O_CLOEXEC)) < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* "pid (name) state ..."; the number of threads is the 17th word behind the state. */
    p = strrchr(text, ')');
    if (!p || strncmp(p, ") Z ", 4) != 0)
        return false;
    p += 3;
    for (int i = 1; i < 17 && p; i++)
        p = strchr(p + 1, ' ');
    if (p)
        threads = strtoul(p, NULL, 10);
    return threads == 1ul + PLUMB_ACQUIRE(control.threads);
}

/* Ends the process as its last thread does. */
static void leave(void)
{
    plumb_stop_impl(NULL);
    PLUMB_RELEASE(control.finished, 1);
    exit(0);
}

static void *control_main(void *arg)
{
    struct plumb_run *run = arg;
    uint64_t pause_ns = 5000000, sample_ns, next_anchor, now, signals_at = UINT64_MAX;
    uint64_t look_at = 0, wait_ns;
    plumb_own_cpu_begin();
    sem_post(&control.born);
    if (!plumb_rt.overhead_ticks_x1000)
        plumb_calibrate();
    PLUMB_STORE(run->h->overhead_ticks_x1000, plumb_rt.overhead_ticks_x1000);
    PLUMB_STORE(run->h->overhead_work_ticks_x1000, plumb_rt.overhead_work_ticks_x1000);
    next_anchor = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + pause_ns;
    if (control.late && plumb_rt.settings.signals)
        signals_at = next_anchor + SIGNALS_AFTER_NS;
    while (PLUMB_ACQUIRE(control.request) == REQUEST_NONE) {
        PLUMB_STORE(run->h->seen_ticks, plumb_ticks_from(plumb_rt.clock));
        sample_ns = plumb_series_sample(run);
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
        if (now >= look_at) {
            if (is_alone())
                leave();
            look_at = now + LOOK_NS;
        }
        if (now < next_anchor) {
            wait_ns = next_anchor - now < look_at - now ? next_anchor - now : look_at - now;
            sleep_for(sample_ns && sample_ns < wait_ns ? sample_ns : wait_ns);
            continue;
        }
        plumb_own_cpu_store(run);
        if (anchor(run)) {
            next_anchor = now + AFTER_JUMP_NS;
            continue;
        }
        if (now >= signals_at) {
            signal_take(SIGTERM);
            signal_take(SIGINT);
            signals_at = UINT64_MAX;
        }
        pause_ns = pause_ns >= 50000000 ? 1000000000 : pause_ns * 10;
        next_anchor = now + pause_ns;
    }
    if (PLUMB_ACQUIRE(control.request) == REQUEST_FINISH) {
        plumb_stop_impl(NULL);
        PLUMB_RELEASE(control.finished, 1);
    }
    plumb_own_cpu_end();
    plumb_own_thread(-1);
    return NULL;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static void on_signal(int sig)
{
    int saved = errno;
    uint32_t none = REQUEST_NONE;
    struct timespec ms = {0, 1000000};
    sigset_t only;
    if (plumb_rt.pid == (uint32_t)getpid() && PLUMB_LOAD(control.running)) {
        /* Interrupted inside plumb or not, this thread changes nothing any more. */
        if (plumb_tls)
            PLUMB_RELEASE(plumb_tls->frozen, 1);
        if (__atomic_compare_exchange_n(&control.request, &none, REQUEST_FINISH, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            sem_post(&control.wake);
        for (int i = 0; i < 2000 && !PLUMB_ACQUIRE(control.finished); i++)
            nanosleep(&ms, NULL);
    }
    signal(sig, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, sig);
    raise(sig);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    errno = saved;
}

static void signal_take(int sig)
{
    struct sigaction now, mine;
    if (sigaction(sig, NULL, &now) < 0 || now.sa_flags & SA_SIGINFO || now.sa_handler != SIG_DFL)
        return;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_RESTART;
    sigfillset(&mine.sa_mask);
    control.taken[sig] = sigaction(sig, &mine, NULL) == 0;
}

static void signal_give_back(int sig)
{
    struct sigaction now;
    /* The host may have put its own handler in our place: that one stays. */
    if (control.taken[sig] && sigaction(sig, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == on_signal)
        signal(sig, SIG_DFL);
    control.taken[sig] = false;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

int plumb_control_thread(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int code;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    code = pthread_create(out, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (code)
        return code;
    plumb_own_thread(1);
    pthread_setname_np(*out, "plumb");
    return 0;
}

void plumb_control_start(struct plumb_run *run, bool early)
{
    int code;
    control.request = REQUEST_NONE;
    control.finished = 0;
    control.late = early;
    sem_init(&control.wake, 0, 0);
    sem_init(&control.born, 0, 0);
    code = plumb_control_thread(&control.thread, control_main, run);
    if (code) {
        plumb_say("plumb: cannot start its control thread: %s; a run that is killed keeps a coarse "
                  "clock, and signals end it without a report",
                  strerror(code));
        return;
    }
    /* A fork while a thread is being born can leave the child with a lock that nobody releases: a
     * sanitizer's allocator takes one there. From here on the thread allocates nothing. */
    while (sem_wait(&control.born) < 0 && errno == EINTR)
        continue;
    PLUMB_RELEASE(control.running, 1);
    if (plumb_rt.settings.signals && !control.late) {
        signal_take(SIGTERM);
        signal_take(SIGINT);
    }
}

static void *open_main(void *arg)
{
    uint64_t ms = (uint64_t)(uintptr_t)arg;
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
        continue;
    plumb_run_open_early();
    plumb_own_thread(-1);
    return NULL;
}

void plumb_control_open_later(uint32_t ms)
{
    pthread_t thread;
    /* Under the lock, so that what the thread allocates is known to be ours. */
    plumb_life_lock();
    if (plumb_control_thread(&thread, open_main, (void *)(uintptr_t)ms) == 0)
        pthread_detach(thread);
    plumb_life_unlock();
}

void plumb_control_stop(void)
{
    if (!PLUMB_LOAD(control.running))
        return;
    PLUMB_RELEASE(control.running, 0);
    if (pthread_equal(pthread_self(), control.thread)) {
        pthread_detach(control.thread);
    } else {
        uint32_t none = REQUEST_NONE;
        __atomic_compare_exchange_n(&control.request, &none, REQUEST_END, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
        sem_post(&control.wake);
        pthread_join(control.thread, NULL);
        sem_destroy(&control.wake);
    }
    /* Not before: the thread may have been about to take them. */
    signal_give_back(SIGTERM);
    signal_give_back(SIGINT);
}

static size_t stack_left(void)
{
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t size = 0;
    char here;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return SIZE_MAX;
    pthread_attr_getstack(&attr, &lowest, &size);
    pthread_attr_destroy(&attr);
    return (size_t)((uintptr_t)&here - (uintptr_t)lowest);
}

/* A report takes some 20 KiB of stack, and the thread that ends the program may have less. */
bool plumb_control_finish(void)
{
    const struct timespec ms = {0, 1000000};
    uint32_t none = REQUEST_NONE;
    if (!PLUMB_LOAD(control.running) || pthread_equal(pthread_self(), control.thread) ||
        stack_left() >= REPORT_STACK)
        return false;
    if (__atomic_compare_exchange_n(&control.request, &none, REQUEST_FINISH, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        sem_post(&control.wake);
    for (int i = 0; i < FINISH_MS && !PLUMB_ACQUIRE(control.finished); i++)
        nanosleep(&ms, NULL);
    return true;
}

void plumb_control_forget(void)
{
    signal_give_back(SIGTERM);
    signal_give_back(SIGINT);
    memset(&control, 0, sizeof control);
}
