/* own_thread.c: see own_thread.h. */
#include "record/runtime/own_thread.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/log.h"
#include "record/runtime/own_cpu.h"

enum { DESCRIPTORS_MAX = 65536 };

static uint32_t threads; /* atomic: running threads of plumb's */
static __thread bool is_own __attribute__((tls_model("initial-exec")));

bool plumb_helper_is_me(void)
{
    return is_own;
}

static void *begin(void *arg)
{
    struct plumb_birth *birth = arg, b = *birth;
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
    code = pthread_create(out, &attr, begin, birth);
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
    __atomic_fetch_sub(&threads, 1, __ATOMIC_ACQ_REL);
}

uint32_t plumb_own_threads(void)
{
    return PLUMB_ACQUIRE(threads);
}

void plumb_own_threads_forget(void)
{
    PLUMB_STORE(threads, 0);
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
