/* run.c: one recording, from its first span to its stop: the calls that start and stop it, and the
 * threads that wait for that.
 *
 * A run that was asked for (PLUMB=1, a forked child) opens with its first span, so a shell or a
 * child that only execs leaves no files; plumb_start() opens at once. Problems with directories and
 * disks are reported in one line and never affect the host.
 *
 * Locks: life_lock serialises start, stop and fork; it is taken before the runtime's lock. */
#include "record/run/run.h"

#include <string.h>

#include "base/log.h"
#include "base/process/environment.h"
#include "record/activation/activation.h"
#include "record/calls/calls.h"
#include "record/control/periodic.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/region.h"
#include "record/stage/ledger.h"
#include "record/trace/nvtx.h"

/* A span waits for its run at most this long. A start or stop waits until the helper has been idle
 * for that long. */
#define OPEN_WAIT_NS UINT64_C(2000000000)
#define QUIET_NS UINT64_C(30000000000)

/* ---- Start ----------------------------------------------------------------------------------- */

void plumb_run_open_early(void)
{
    plumb_life_lock();
    /* A check that may end the program is left to the program's own threads. */
    if (plumb_rt.want_run && !plumb_rt.run && plumb_rt.settings.region_check != PLUMB_REGION_ABORT)
        plumb_run_open_now(true, false, NULL);
    plumb_life_unlock();
}

/* Results of the last opening and the last stop, for the threads that asked. Under life_lock. */
static struct {
    int rc;
    plumb_error err;
} opened, stopped;

void plumb_run_do_open(void)
{
    plumb_life_lock();
    if (plumb_rt.want_run && !plumb_rt.run) {
        opened.err = (plumb_error){0, ""};
        opened.rc = plumb_run_open_now(false, false, &opened.err);
    }
    plumb_life_unlock();
}

int plumb_run_open(void)
{
    static uint32_t late; /* the generation for which a thread has stopped waiting; atomic */
    uint32_t next = PLUMB_LOAD(plumb_rt.generation) + 1;
    if (plumb_may_lock_all("a first span", NULL) < 0 || !plumb_helper_start_by_span()) {
        plumb_turn_handler_away();
        return PLUMB_ERR_STATE;
    }
    if (PLUMB_LOAD(plumb_rt.want_run))
        plumb_regions_check();
    if (PLUMB_LOAD(late) != next && !plumb_helper_do(PLUMB_JOB_OPEN, OPEN_WAIT_NS))
        PLUMB_STORE(late, next);
    plumb_log_show(PLUMB_LOG_TO_ANY);
    if (PLUMB_ACQUIRE(plumb_rt.recording))
        return PLUMB_OK;
    PLUMB_ADD(plumb_rt.lost_before, 1);
    return PLUMB_ERR_STATE;
}

static int open_now(plumb_error *err)
{
    int rc = PLUMB_OK;
    bool done;
    plumb_regions_check();
    done = plumb_helper_do_patiently(PLUMB_JOB_OPEN, QUIET_NS);
    plumb_log_show(PLUMB_LOG_TO_ANY);
    if (!done)
        return plumb_fail(err, PLUMB_ERR_STATE, "the run is still being opened");
    plumb_life_lock();
    if (!plumb_rt.run && opened.rc < 0)
        rc = plumb_fail(err, opened.rc, "%s", opened.err.message);
    plumb_life_unlock();
    return rc;
}

/* Takes the life lock while no helper is ending: an ending helper may need it for its last job. */
static void life_lock_without_end(void)
{
    plumb_life_lock();
    while (plumb_helper_is_ending()) {
        plumb_life_unlock();
        plumb_helper_pause(1000000);
        plumb_life_lock();
    }
}

int plumb_start_impl(const plumb_options *options, plumb_error *err)
{
    int rc = plumb_may_lock_all("plumb_start", err);
    if (rc < 0)
        return rc;
    life_lock_without_end();
    if (plumb_rt.run && !options) {
        plumb_log(PLUMB_LOG_INFO, "plumb: asked to record again: the run in '%s' goes on",
                  plumb_rt.run->dir[0] ? plumb_rt.run->dir : "memory");
        rc = PLUMB_OK;
        goto out;
    }
    if (plumb_rt.run) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "a run is already open in '%s'; stop it first",
                        plumb_rt.run->dir[0] ? plumb_rt.run->dir : "memory");
        goto out;
    }
    /* The user who started the program would otherwise choose the default folder. */
    if (plumb_is_privileged() && !(options && (options->dir || options->run_dir))) {
        rc = plumb_fail(err, PLUMB_ERR_STATE,
                        "this program has rights that its caller has not (set-user-ID, "
                        "capabilities): name the folder of the run in plumb_options");
        goto out;
    }
    plumb_environ_look(true);
    plumb_lock();
    rc = plumb_run_take_settings(options, false, err);
    plumb_unlock();
    if (rc == PLUMB_OK)
        rc = plumb_activations_check(&plumb_rt.settings, err);
    if (rc < 0)
        goto out;
    if (plumb_rt.settings.recording == PLUMB_OFF) {
        plumb_log(PLUMB_LOG_INFO, "plumb: PLUMB=0: the program's request to record is ignored");
        goto out;
    }
    /* First: a thread that finds a run wanted but no helper opens the run itself. */
    plumb_helper_start();
    plumb_lock();
    PLUMB_STORE(plumb_rt.want_run, true);
    plumb_unlock();
    plumb_life_unlock();
    return open_now(err);
out:
    plumb_life_unlock();
    return rc;
}

/* ---- Stop ------------------------------------------------------------------------------------ */

void plumb_run_do_stop(void)
{
    plumb_life_lock();
    stopped.err = (plumb_error){0, ""};
    stopped.rc = plumb_run_stop_now(&stopped.err);
    plumb_life_unlock();
    /* The waiting thread is in a signal handler, which must not call the program's log function. */
    if (plumb_periodic_was_signalled())
        plumb_log_show(PLUMB_LOG_TO_CALLBACK);
}

/* If no run was opened, the helper has nothing to do. */
static bool stop_nothing(void)
{
    bool nothing;
    plumb_life_lock();
    nothing = !plumb_rt.run && !(plumb_rt.want_run && (plumb_sized_waits() || plumb_calls_wait()));
    if (nothing) {
        stopped.err = (plumb_error){0, ""};
        stopped.rc = plumb_run_stop_now(&stopped.err);
    }
    plumb_life_unlock();
    return nothing;
}

/* Waits for the helper; writing the results may take a while. */
static int stop_now(plumb_error *err)
{
    int rc;
    bool done;
    if (PLUMB_LOAD(plumb_rt.want_run) && (plumb_sized_waits() || plumb_calls_wait()))
        plumb_regions_check();
    done = stop_nothing() || plumb_helper_do_patiently(PLUMB_JOB_STOP, QUIET_NS);
    plumb_log_show(PLUMB_LOG_TO_ANY);
    if (!done)
        return plumb_fail(err, PLUMB_ERR_STATE, "the end of the run is held up");
    plumb_life_lock();
    if (!plumb_rt.run)
        plumb_nvtx_end_all(); /* the tool that listens may use the program's descriptors */
    rc = stopped.rc < 0 ? plumb_fail(err, stopped.rc, "%s", stopped.err.message) : PLUMB_OK;
    plumb_life_unlock();
    return rc;
}

int plumb_stop_impl(plumb_error *err)
{
    int rc = plumb_may_lock_all("plumb_stop", err);
    bool ends;
    if (rc < 0)
        return rc;
    if (plumb_tls && PLUMB_LOAD(plumb_tls->busy) == PLUMB_BUSY_RECORDING)
        return plumb_fail(err, PLUMB_ERR_STATE, "plumb_stop() in a handler that interrupted plumb");
    rc = stop_now(err);
    plumb_life_lock();
    ends = !plumb_rt.run && !plumb_rt.want_run && plumb_helper_end();
    plumb_life_unlock();
    if (ends)
        plumb_helper_join();
    return rc;
}

void plumb_run_exit(void)
{
    /* exit() in a handler that interrupted a span: that span never continues. */
    if (plumb_tls)
        PLUMB_RELEASE(plumb_tls->frozen, 1);
    if (!plumb_life_locked && !plumb_locked && !plumb_snapshot_locked)
        stop_now(NULL);
}

int plumb_run_dir_impl(char *out, size_t size, plumb_error *err)
{
    const char *dir;
    size_t n;
    if (!out || !size)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_run_dir: the path does not fit into the buffer");
    if (PLUMB_LOAD(plumb_rt.want_run) && !PLUMB_ACQUIRE(plumb_rt.run))
        plumb_run_open();
    if (plumb_may_lock("plumb_run_dir", err) < 0)
        return PLUMB_ERR_STATE;
    /* Under the lock no run ends. */
    plumb_lock();
    dir = plumb_rt.run ? plumb_rt.run->dir : plumb_rt.last_dir;
    n = strlen(dir) + 1;
    if (n <= size)
        memcpy(out, dir, n);
    plumb_unlock();
    if (n == 1)
        return plumb_fail(err, PLUMB_ERR_STATE, "no run has a directory");
    if (n > size)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_run_dir: the path needs %zu bytes", n);
    return PLUMB_OK;
}
