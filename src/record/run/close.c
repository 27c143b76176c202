/* close.c: the end of a run: its threads leave it, its figures are written, its memory is
 * unmapped. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "live/read.h"
#include "model/timing.h"
#include "record/calls/calls.h"
#include "record/run/run.h"
#include "record/run/subsystems.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/point.h"
#include "record/runtime/record_log.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/trace/active_steps.h"

enum { FIT_NS = 2000000 };

/* After this no thread starts to use the run's mapping. Returns how many threads are held up in it:
 * stopped, or left by a jump out of a signal handler. Their data is read like that of a process
 * that was killed there. `*may_return`: one of them, or of those that our signal handler holds, may
 * continue and needs the mapping. */
static uint32_t quiesce(bool *may_return)
{
    uint64_t deadline_ns;
    uint32_t inside = 0;
    *may_return = false;
    plumb_lock();
    PLUMB_STORE(plumb_rt.recording, 0);
    PLUMB_STORE(plumb_rt.want_run, false);
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        __atomic_fetch_or(&th->gate, PLUMB_GATE_ENDED, __ATOMIC_SEQ_CST);
    plumb_points_refresh();
    plumb_unlock();
    plumb_barrier();
    deadline_ns = plumb_clock_gettime_ns(CLOCK_MONOTONIC) + PLUMB_LEAVE_WAIT_MS * UINT64_C(1000000);
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        inside += !plumb_thread_await(th, deadline_ns);
        *may_return |= PLUMB_ACQUIRE(th->frozen) && PLUMB_LOAD(th->busy) == PLUMB_BUSY_RECORDING;
    }
    *may_return |= inside > 0;
    return inside;
}

static void note_inside(struct plumb_run *run, uint32_t inside)
{
    plumb_lock();
    plumb_run_note(
        run,
        "%u %s inside plumb as the run ended (stopped, or left by a jump out of a signal "
        "handler): what it recorded at that moment is missing",
        inside, inside == 1 ? "thread was" : "threads were");
    plumb_unlock();
}

/* Reports what remains of a run whose report could not be written. */
static void log_unsaved(const struct plumb_run *run, const struct plumb_anchor *end,
                        const char *why)
{
    const struct plumb_live_header *h = run->h;
    double ppm, seconds;
    if (!run->in_file) {
        plumb_say("plumb: %s", why);
    } else if (!plumb_file_in_place(run)) {
        plumb_say("plumb: %s; live.plumb was removed while the run was recorded: no file has it",
                  why);
    } else if (run->partly && !run->frozen) {
        plumb_say("plumb: %s; no file has the run", why);
    } else if (run->partly) {
        seconds =
            (double)(h->frozen_ticks - h->start.ticks) * plumb_live_tick_ns(h, end, &ppm) * 1e-9;
        plumb_say("plumb: %s; live.plumb has the run's first %.3f s only: `plumb recover %s`", why,
                  seconds, run->dir);
    } else {
        plumb_say("plumb: %s; what was recorded is kept: `plumb recover %s`", why, run->dir);
    }
}

static int close_run(struct plumb_run *run, plumb_error *err)
{
    struct plumb_anchor end;
    plumb_error why = {0, ""};
    bool may_return, kept = true;
    uint32_t inside;
    int rc;
    PLUMB_EACH_SUBSYSTEM_BACKWARDS(stop, run);
    plumb_snapshot_lock();
    inside = quiesce(&may_return);
    /* From here on summaries see no run: the end block calls functions of the program, which may
     * ask for one. */
    plumb_lock();
    snprintf(plumb_rt.last_dir, sizeof plumb_rt.last_dir, "%s", run->dir);
    PLUMB_STORE(plumb_rt.run, NULL);
    plumb_unlock();
    plumb_snapshot_unlock();
    PLUMB_ADD(run->h->drops[PLUMB_DROP_REENTRANT],
              __atomic_exchange_n(&plumb_rt.handlers_turned_away, 0, __ATOMIC_RELAXED));
    PLUMB_EACH_SUBSYSTEM_BACKWARDS(close, run);
    plumb_anchor_take(&end, plumb_rt.clock);
    if (end.raw_ns - plumb_rt.early.raw_ns < FIT_NS) {
        /* The run is too short to fit the clock well; a short pause costs less than a wrong
         * figure. */
        plumb_helper_pause(FIT_NS);
        plumb_anchor_take(&end, plumb_rt.clock);
    }
    if (plumb_live_clock_take(run->h, &end)) {
        /* Another anchor shows the counter's rate without the jump. */
        plumb_helper_pause(FIT_NS);
        plumb_anchor_take(&end, plumb_rt.clock);
        plumb_live_clock_take(run->h, &end);
    }
    PLUMB_EACH_SUBSYSTEM_BACKWARDS(finish, run, &end);
    if (inside)
        note_inside(run, inside);
    PLUMB_EACH_SUBSYSTEM(notes, run);
    rc = plumb_run_finish(run, &end, &kept, &why);
    if (rc < 0)
        log_unsaved(run, &end, why.message);
    PLUMB_STORE(run->h->status, PLUMB_LIVE_ENDED);
    plumb_file_done(run, kept);
    if (!may_return) {
        plumb_active_close(run);
        plumb_mapping_close(run);
        plumb_pages_unmap(run, sizeof *run);
    }
    return rc < 0 ? plumb_fail(err, rc, "%s", why.message) : PLUMB_OK;
}

static void log_nothing(void)
{
    uint64_t turned_away = PLUMB_LOAD(plumb_rt.handlers_turned_away);
    uint32_t clients;
    bool refused;
    plumb_lock(); /* a thread may be passing its first trace point */
    clients = plumb_rt.client_count;
    refused = plumb_rt.nodes_refused;
    plumb_unlock();
    if (refused)
        plumb_say(
            "plumb: nothing was recorded: no memory for the names of trace points (ulimit -v, "
            "ulimit -d)");
    else if (turned_away)
        plumb_say("plumb: nothing was recorded: all %llu spans came in signal "
                  "handlers, or while it blocked signals that it handles",
                  (unsigned long long)turned_away);
    else
        plumb_say("plumb: nothing was recorded: the program passed no trace point (%u registered)",
                  clients);
}

int plumb_run_stop_now(plumb_error *err)
{
    int rc = PLUMB_OK;
    if (!plumb_rt.run && plumb_rt.want_run && (plumb_sized_waits() || plumb_calls_wait()))
        rc = plumb_run_open_now(true, false, err);
    if (plumb_rt.run) {
        rc = close_run(plumb_rt.run, err);
        plumb_log_aside(false);
    } else if (plumb_rt.want_run) {
        plumb_lock();
        PLUMB_STORE(plumb_rt.want_run, false);
        plumb_points_refresh();
        plumb_unlock();
        plumb_sized_forget();
        plumb_run_report_line("run", "-", 0, 0);
        if (!plumb_rt.settings.quiet && !plumb_rt.settings.record_log[0])
            log_nothing();
    }
    return rc;
}
