#include "record/runtime/lock.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/log.h"
#include "record/runtime/helper.h"
#include "record/runtime/point.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

__thread uint32_t plumb_locked __attribute__((tls_model("initial-exec")));
__thread bool plumb_life_locked __attribute__((tls_model("initial-exec")));
__thread bool plumb_snapshot_locked __attribute__((tls_model("initial-exec")));

/* ---- Cancellation ---------------------------------------------------------------------------- */

/* The number of locks that this thread holds or waits for, and its cancellation state before
 * them. */
static __thread struct {
    uint32_t depth;
    int type;
} deferred __attribute__((tls_model("initial-exec")));

static void cancel_later(void)
{
    int type = plumb_cancel_deferred();
    if (deferred.depth++ == 0)
        deferred.type = type;
}

/* The last call of a release: the thread may end here. */
static void cancel_again(void)
{
    int type = deferred.type; /* a handler's locks change it after the last one is released */
    plumb_order();
    if (--deferred.depth == 0)
        pthread_setcanceltype(type, NULL);
}

/* ---- Signals --------------------------------------------------------------------------------- */

/* A thread that holds `lock` or waits for it gets no signals: a handler would find the lock taken,
 * and one that leaves by a jump would leave it taken for ever. Exceptions are the signals of
 * faults, which would end the program without its handlers, and the C library's own two. plumb's
 * own threads always block all signals. Done by the system call, in the kernel's form: 8 bytes a
 * thread instead of 128. */
#define BIT(signal) (UINT64_C(1) << ((signal)-1))
static const uint64_t most_signals =
    ~(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS) |
      BIT(SIGABRT) | BIT(32) | BIT(33));

static __thread uint64_t blocked_before __attribute__((tls_model("initial-exec")));

static void signals_off(void)
{
    if (!plumb_helper_is_me())
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &most_signals, &blocked_before, sizeof most_signals);
}

static void signals_on(void)
{
    if (!plumb_helper_is_me())
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked_before, NULL, sizeof most_signals);
}

/* ---- The locks ------------------------------------------------------------------------------- */

/* `plumb_locked` is set before the lock is taken and cleared after its release. A handler that runs
 * before it is set may take the lock itself, or make the thread's record. */
void plumb_lock(void)
{
    struct plumb_thread *th;
    cancel_later();
    signals_off();
    plumb_locked = 1;
    plumb_order();
    th = plumb_tls;
    if (th && !PLUMB_LOAD(th->busy)) {
        PLUMB_STORE(th->busy, PLUMB_BUSY_LOCKED);
        plumb_order();
        plumb_locked = 2;
    }
    plumb_order();
    plumb_helper_lock(&plumb_rt.lock);
}

void plumb_lock_is_of(struct plumb_thread *th)
{
    PLUMB_STORE(th->busy, PLUMB_BUSY_LOCKED);
    plumb_order();
    plumb_locked = 2;
    plumb_tls = th;
}

void plumb_unlock(void)
{
    uint32_t locked = plumb_locked, asked;
    pthread_mutex_unlock(&plumb_rt.lock);
    plumb_order();
    plumb_locked = 0;
    if (locked == 2)
        PLUMB_RELEASE(plumb_tls->busy, 0);
    signals_on();
    /* The request of a handler that ran in the meantime; this takes the lock again. */
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.debug_asked)) &&
        (asked = __atomic_exchange_n(&plumb_rt.debug_asked, 0, __ATOMIC_ACQ_REL)) != 0)
        plumb_set_debug_points((int)asked - 1);
    cancel_again();
}

void plumb_life_lock(void)
{
    cancel_later();
    plumb_life_locked = true;
    plumb_order();
    plumb_helper_lock(&plumb_rt.life_lock);
    plumb_log_hold();
}

void plumb_life_unlock(void)
{
    pthread_mutex_unlock(&plumb_rt.life_lock);
    plumb_order();
    plumb_life_locked = false;
    plumb_log_release();
    cancel_again();
}

void plumb_snapshot_lock(void)
{
    cancel_later();
    plumb_snapshot_locked = true;
    plumb_order();
    plumb_helper_lock(&plumb_rt.snapshot_lock);
}

void plumb_snapshot_unlock(void)
{
    pthread_mutex_unlock(&plumb_rt.snapshot_lock);
    plumb_order();
    plumb_snapshot_locked = false;
    cancel_again();
}

void plumb_ledger_lock(void)
{
    cancel_later();
    pthread_mutex_lock(&plumb_rt.ledger_lock);
}

bool plumb_ledger_trylock(void)
{
    cancel_later();
    if (pthread_mutex_trylock(&plumb_rt.ledger_lock) == 0)
        return true;
    cancel_again();
    return false;
}

void plumb_ledger_unlock(void)
{
    pthread_mutex_unlock(&plumb_rt.ledger_lock);
    cancel_again();
}

/* State of the forking thread, which holds the life lock. */
static struct {
    bool forking;
    uint64_t blocked_before; /* kept apart, because locks that are taken in between would change
                              * it */
} around_fork;

void plumb_fork_ledger_lock(void)
{
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &most_signals, &around_fork.blocked_before,
            sizeof most_signals);
    around_fork.forking = true;
    plumb_ledger_lock();
}

static void end_of_fork(void)
{
    around_fork.forking = false;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &around_fork.blocked_before, NULL,
            sizeof most_signals);
}

void plumb_fork_ledger_unlock(void)
{
    plumb_ledger_unlock();
    end_of_fork();
}

/* After a fork that libc does not know of (a raw system call) the locks may be in any state. */
void plumb_locks_forked(bool interrupted)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    plumb_rt.lock = plumb_rt.snapshot_lock = plumb_rt.life_lock = plumb_rt.ledger_lock = fresh;
    if (plumb_locked && !interrupted)
        signals_on();
    plumb_locked = 0;
    if (around_fork.forking && plumb_life_locked && !interrupted)
        end_of_fork();
    around_fork.forking = false;
    plumb_life_locked = plumb_snapshot_locked = false;
    if (!interrupted && deferred.depth) {
        deferred.depth = 1;
        cancel_again();
    }
}

/* ---- Whoever may not take them --------------------------------------------------------------- */

static int refuse(const char *call, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_STATE,
                      "%s: this signal handler interrupted plumb itself; call again later", call);
}

int plumb_may_lock(const char *call, plumb_error *err)
{
    return plumb_locked ? refuse(call, err) : PLUMB_OK;
}

bool plumb_is_interrupted(void)
{
    bool inside = plumb_tls && PLUMB_LOAD(plumb_tls->busy);
    return plumb_locked || plumb_life_locked || plumb_snapshot_locked || inside;
}

int plumb_may_lock_all(const char *call, plumb_error *err)
{
    return plumb_is_interrupted() ? refuse(call, err) : PLUMB_OK;
}
