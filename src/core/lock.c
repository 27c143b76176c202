#include "core/lock.h"

#include <signal.h>

#include "base/error.h"
#include "base/log.h"
#include "core/runtime.h"

__thread uint32_t plumb_locked __attribute__((tls_model("initial-exec")));
__thread bool plumb_life_locked __attribute__((tls_model("initial-exec")));
__thread bool plumb_snapshot_locked __attribute__((tls_model("initial-exec")));

/* Said before the lock is taken, taken back after it is let go. A handler that comes before it is
 * said may take the lock itself, or make the thread's record. */
void plumb_lock(void)
{
    struct plumb_thread *th;
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
    /* Of a handler that came meanwhile. */
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.debug_asked)) &&
        (asked = __atomic_exchange_n(&plumb_rt.debug_asked, 0, __ATOMIC_ACQ_REL)) != 0)
        plumb_set_debug_points((int)asked - 1);
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.signal_asked)) &&
        (asked = __atomic_exchange_n(&plumb_rt.signal_asked, 0, __ATOMIC_ACQ_REL)) != 0)
        raise((int)asked);
}

void plumb_life_lock(void)
{
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
}

void plumb_snapshot_lock(void)
{
    plumb_snapshot_locked = true;
    plumb_order();
    plumb_helper_lock(&plumb_rt.snapshot_lock);
}

void plumb_snapshot_unlock(void)
{
    pthread_mutex_unlock(&plumb_rt.snapshot_lock);
    plumb_order();
    plumb_snapshot_locked = false;
}

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
