/* own_thread.c: see own_thread.h. */
#include "record/runtime/own_thread.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "record/runtime/own_cpu.h"

enum { DESCRIPTORS_MAX = 65536 };
enum { LEAVING = 16, FORK_WAIT_NS = 1000000000, PAUSE_NS = 50000 };

static uint32_t threads; /* atomic: running threads of plumb's */
static __thread bool is_own __attribute__((tls_model("initial-exec")));

/* Threads that start or end. At these times they run code that is not ours and may hold its locks,
 * which would stay locked in the child of a fork: those of AddressSanitizer's allocator do (gcc
 * 12). So no thread starts or ends during a fork, and a fork waits for those that do so already. */
static struct {
    pthread_mutex_t lock;   /* held by a fork, otherwise for an instant; a leaf */
    uint32_t starting;      /* atomic */
    uint32_t ended;         /* threads so far */
    pid_t leaving[LEAVING]; /* the last that ended; 0: it is gone */
} changes = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool plumb_helper_is_me(void)
{
    return is_own;
}

static void started(void)
{
    __atomic_fetch_sub(&changes.starting, 1, __ATOMIC_ACQ_REL);
    plumb_futex_wake(&changes.starting);
}

static void *begin(void *arg)
{
    struct plumb_birth *birth = arg, b = *birth;
    started();
    is_own = b.own;
    if (b.own)
        plumb_log_hold();
    PLUMB_RELEASE(birth->copied, 1);
    plumb_futex_wake(&birth->copied);
    pthread_setname_np(pthread_self(), "plumb");
    plumb_own_cpu_begin();
    return b.run(b.arg);
}

int plumb_own_thread_make(pthread_t *out, struct plumb_birth *birth, size_t size)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int code;
    pthread_attr_init(&attr);
    if (size)
        pthread_attr_setstacksize(&attr, size);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&changes.lock);
    __atomic_fetch_add(&changes.starting, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&changes.lock);
    code = pthread_create(out, &attr, begin, birth);
    if (code)
        started();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (code == 0)
        __atomic_fetch_add(&threads, 1, __ATOMIC_ACQ_REL);
    return code;
}

void plumb_own_thread_await(const struct plumb_birth *birth)
{
    while (!PLUMB_ACQUIRE(birth->copied))
        plumb_futex_wait(&birth->copied, 0, UINT64_MAX);
}

int plumb_own_thread(pthread_t *out, void *(*run)(void *arg), void *arg, size_t size)
{
    struct plumb_birth birth = {run, arg, is_own, 0};
    int code = plumb_own_thread_make(out, &birth, size);
    if (code == 0)
        plumb_own_thread_await(&birth);
    return code;
}

void plumb_own_thread_ends(void)
{
    plumb_own_cpu_end();
    pthread_mutex_lock(&changes.lock);
    changes.leaving[changes.ended++ % LEAVING] = (pid_t)syscall(SYS_gettid);
    pthread_mutex_unlock(&changes.lock);
    __atomic_fetch_sub(&threads, 1, __ATOMIC_ACQ_REL);
}

uint32_t plumb_own_threads(void)
{
    return PLUMB_ACQUIRE(threads);
}

/* ---- Forks ----------------------------------------------------------------------------------- */

static bool is_there(pid_t tid)
{
    return tid && syscall(SYS_tgkill, getpid(), tid, 0) == 0;
}

void plumb_own_threads_before_fork(void)
{
    uint64_t deadline_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + FORK_WAIT_NS;
    uint32_t n;
    pthread_mutex_lock(&changes.lock);
    while ((n = PLUMB_ACQUIRE(changes.starting)) != 0 &&
           plumb_clock_gettime_ns(CLOCK_MONOTONIC) < deadline_ns)
        plumb_futex_wait(&changes.starting, n, PAUSE_NS);
    for (int i = 0; i < LEAVING; i++) {
        while (is_there(changes.leaving[i]) &&
               plumb_clock_gettime_ns(CLOCK_MONOTONIC) < deadline_ns)
            plumb_nap(PAUSE_NS);
        changes.leaving[i] = 0;
    }
}

void plumb_own_threads_after_fork(void)
{
    pthread_mutex_unlock(&changes.lock);
}

void plumb_own_threads_forget(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    PLUMB_STORE(threads, 0);
    changes.lock = fresh;
    PLUMB_STORE(changes.starting, 0);
    memset(changes.leaving, 0, sizeof changes.leaving);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

/* For kernels without close_range(). */
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

/* The new table is empty: the reader at the other end of a program's pipe waits until all copies of
 * the descriptor are closed. */
bool plumb_own_table(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const int first = STDERR_FILENO + 1; /* for what they report */
#else
    const int first = 0;
#endif
    if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_UNSHARE) < 0 && !leave_one_by_one(first))
        return false;
    /* libc writes to descriptor 2 when it aborts. That must not go into a file of ours, so these
     * numbers are taken by descriptors that discard it. */
    for (int fd = first; fd <= STDERR_FILENO; fd++)
        if (epoll_create1(EPOLL_CLOEXEC) < 0)
            break;
    return true;
}
