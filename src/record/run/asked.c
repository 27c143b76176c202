/* asked.c: runs that a front end opens and ends. On the helper, which has no thread of the program
 * to speak to: what goes wrong is in the response. */
#include "base/error.h"
#include "base/log.h"
#include "record/run/run.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"

int plumb_run_start_asked(uint32_t *number, const char *const *settings, size_t n, plumb_error *err)
{
    int rc;
    plumb_life_lock();
    if (plumb_rt.run) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "a run is already open in '%s': it continues",
                        plumb_rt.run->dir[0] ? plumb_rt.run->dir : "memory");
        goto out;
    }
    rc = plumb_run_change_settings(settings, n, err);
    if (rc < 0)
        goto out;
    plumb_log_aside(plumb_rt.settings.quiet);
    plumb_lock();
    PLUMB_STORE(plumb_rt.want_run, true);
    plumb_unlock();
    rc = plumb_run_open_now(false, true, err);
    if (rc == PLUMB_OK && plumb_rt.run)
        *number = plumb_rt.run->generation;
    else
        plumb_log_aside(false);
out:
    plumb_life_unlock();
    return rc;
}

int plumb_run_stop_asked(uint32_t number, plumb_error *err)
{
    int rc = PLUMB_OK;
    plumb_life_lock();
    if (!number || (plumb_rt.run && plumb_rt.run->generation == number))
        rc = plumb_run_stop_now(err);
    plumb_life_unlock();
    return rc;
}
