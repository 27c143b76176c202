/* periodic.c: the periodic work of the helper while a run is open, and the ends of a process that
 * come without exit handlers: signals, and _exit() and exec where calls are counted.
 *
 * It takes clock anchors after 5 ms, 50 ms, then each second, so that a killed run still has a
 * fitted clock. It samples memory, and calibrates the cost of a span once per process. It does
 * nothing while no run is open.
 *
 * plumb handles SIGTERM and SIGINT only if they are at SIG_DFL when the run opens. For a run that
 * opens before main() it checks a second later, when an interpreter with handlers of its own has
 * set them. The handler asks the helper for the end of the run, waits at most 2 s, and lets the
 * signal have its usual effect. In the first process of a container plumb handles neither: the
 * kernel ignores signals at SIG_DFL there, and a handler would change that. */
#include "record/control/periodic.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "live/clock.h"
#include "record/calls/calls.h"
#include "record/metrics/metrics.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/keeper.h"
#include "record/runtime/mapping.h"
#include "record/runtime/own_cpu.h"
#include "record/runtime/run_wanted.h"
#include "record/runtime/thread.h"
#include "record/span/calibrate.h"
#include "record/stage/ledger.h"
#include "record/trace/switch.h"

enum { MS = 1000000, SIGNALS_AFTER_NS = 1000 * MS, SIGNAL_WAIT_MS = 2000, AFTER_JUMP_NS = 5 * MS };

static struct {
    struct plumb_run *run; /* NULL: none is open */
    uint64_t pause_ns, next_anchor;
    uint64_t signals_at; /* when plumb sets its handlers; UINT64_MAX: never */
    uint64_t open_at;    /* atomic; when a wanted run opens; 0: when it is asked for */
    uint32_t running;    /* atomic: a run is open, which a signal ends */
    uint32_t signalled;  /* atomic: one does */
    bool taken[NSIG];    /* signals with our handler */
} periodic = {.signals_at = UINT64_MAX};

static void signal_take(int sig);

/* ---- By the clock ---------------------------------------------------------------------------- */

/* Takes an anchor. Returns whether another one should follow soon. */
static bool anchor(struct plumb_run *run)
{
    struct plumb_anchor now;
    plumb_anchor_take(&now, plumb_rt.clock);
    return plumb_live_clock_take(run->h, &now);
}

static uint64_t until(uint64_t at, uint64_t now)
{
    return at > now ? at - now : 0;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void take_anchor(struct plumb_run *run, uint64_t now)
{
    plumb_own_cpu_store(run);
    if (anchor(run)) {
        periodic.next_anchor = now + AFTER_JUMP_NS;
        return;
    }
    periodic.pause_ns = periodic.pause_ns >= 50 * MS ? 1000 * MS : periodic.pause_ns * 10;
    periodic.next_anchor = now + periodic.pause_ns;
}

/* Further periodic work belongs here. */
static uint64_t run_turn(struct plumb_run *run)
{
    uint64_t sample_ns, calls_ns, now;
    if (!plumb_rt.overhead_ticks_x1000)
        plumb_calibrate();
    PLUMB_STORE(run->h->overhead_ticks_x1000, plumb_rt.overhead_ticks_x1000);
    PLUMB_STORE(run->h->overhead_work_ticks_x1000, plumb_rt.overhead_work_ticks_x1000);
    PLUMB_STORE(run->h->seen_ticks, plumb_ticks_from(plumb_rt.clock));
    sample_ns = plumb_series_sample(run);
    calls_ns = lower(plumb_calls_turn(run), plumb_metrics_turn(run));
    now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    if (now >= periodic.next_anchor)
        take_anchor(run, now);
    if (now >= periodic.signals_at) {
        signal_take(SIGTERM);
        signal_take(SIGINT);
        periodic.signals_at = UINT64_MAX;
    }
    calls_ns = lower(calls_ns, plumb_trace_switch_turn());
    now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    now = lower(calls_ns, until(lower(periodic.next_anchor, periodic.signals_at), now));
    return sample_ns ? lower(sample_ns, now) : now;
}

static uint64_t open_turn(void)
{
    uint64_t at = PLUMB_LOAD(periodic.open_at), now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    if (!at)
        return UINT64_MAX;
    if (now < at)
        return at - now;
    PLUMB_STORE(periodic.open_at, 0);
    plumb_run_open_early();
    return 0;
}

uint64_t plumb_periodic_turn(void)
{
    uint64_t look_ns = plumb_keeper_look();
    return lower(look_ns, periodic.run ? run_turn(periodic.run) : open_turn());
}

void plumb_periodic_open_later(uint32_t ms)
{
    PLUMB_STORE(periodic.open_at, plumb_clock_gettime_ns(CLOCK_MONOTONIC) + ms * (uint64_t)MS);
    plumb_helper_ask(PLUMB_JOB_RSS); /* any job would do: it only wakes the helper */
}

/* ---- Ends without exit handlers -------------------------------------------------------------- */

/* Has the helper end the run. The calling thread may be anywhere, also inside plumb, and changes
 * nothing any more. Returns whether that is new. */
static bool end_run(void)
{
    struct plumb_thread *th = plumb_tls;
    bool froze = th && !PLUMB_LOAD(th->frozen);
    if (froze)
        PLUMB_RELEASE(th->frozen, 1);
    PLUMB_RELEASE(periodic.signalled, 1);
    plumb_helper_do(PLUMB_JOB_STOP, SIGNAL_WAIT_MS * (uint64_t)MS);
    plumb_log_show(PLUMB_LOG_TO_STDERR);
    return froze;
}

/* Returns whether there are counted calls that no run has. A forked child may have no helper yet.
 * A check that may end the program is not made here. */
static bool has_counts_alone(void)
{
    return PLUMB_LOAD(plumb_rt.want_run) && plumb_calls_wait() &&
           PLUMB_LOAD(plumb_rt.settings.region_check) != PLUMB_REGION_ABORT &&
           plumb_helper_start_by_span() && plumb_helper_is_there();
}

/* Returns whether the process has something to pass on; a child in its parent's memory (vfork) has
 * nothing. */
static bool has_something(void)
{
    return plumb_rt.pid == (uint32_t)getpid() &&
           (PLUMB_LOAD(periodic.running) || has_counts_alone());
}

void plumb_periodic_leave(void)
{
    int saved = errno;
    if (has_something())
        (void)end_run();
    errno = saved;
}

void plumb_periodic_pass_on(void)
{
    int saved = errno;
    if (has_something())
        plumb_helper_do(PLUMB_JOB_PASS_ON, SIGNAL_WAIT_MS * (uint64_t)MS);
    errno = saved;
}

bool plumb_periodic_pass_on_now(void)
{
    int saved = errno;
    bool done = plumb_calls_are_counted() && plumb_rt.pid == (uint32_t)getpid() &&
                PLUMB_LOAD(periodic.running) &&
                plumb_helper_do(PLUMB_JOB_PASS_ON, SIGNAL_WAIT_MS * (uint64_t)MS);
    errno = saved;
    return done;
}

/* The run stays open: exec() may fail. If it does not, the mapping has all of the run. */
void plumb_periodic_do_pass_on(void)
{
    plumb_run_open_early();
    if (periodic.run)
        plumb_calls_pass_on(periodic.run);
}

static void on_signal(int sig)
{
    int saved = errno;
    struct plumb_thread *th = plumb_tls;
    sigset_t only;
    bool froze = false;
    if (plumb_rt.pid == (uint32_t)getpid() && PLUMB_LOAD(periodic.running))
        froze = end_run();
    signal(sig, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, sig);
    raise(sig);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    /* A debugger may have discarded the signal: then the thread continues, in the mapping of a run
     * that is over. */
    if (froze)
        PLUMB_RELEASE(th->frozen, 0);
    errno = saved;
}

static bool is_ours(const struct sigaction *a)
{
    return !(a->sa_flags & SA_SIGINFO) && a->sa_handler == on_signal;
}

static bool is_default(const struct sigaction *a)
{
    return !(a->sa_flags & SA_SIGINFO) && a->sa_handler == SIG_DFL;
}

static void signal_take(int sig)
{
    struct sigaction before, mine, now;
    if (getpid() == 1 || sigaction(sig, NULL, &before) < 0 || !is_default(&before))
        return;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_RESTART;
    sigfillset(&mine.sa_mask);
    if (sigaction(sig, &mine, &before) < 0)
        return;
    periodic.taken[sig] = is_default(&before);
    /* The program has set its own handler since the check. */
    if (!periodic.taken[sig] && sigaction(sig, &before, &now) == 0 && !is_ours(&now))
        sigaction(sig, &now, NULL);
}

static void signal_give_back(int sig)
{
    struct sigaction now;
    /* The host may have replaced our handler by its own, which stays. */
    if (periodic.taken[sig] && sigaction(sig, NULL, &now) == 0 && is_ours(&now))
        signal(sig, SIG_DFL);
    periodic.taken[sig] = false;
}

bool plumb_periodic_was_signalled(void)
{
    return PLUMB_ACQUIRE(periodic.signalled) != 0;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

void plumb_periodic_start(struct plumb_run *run, bool early)
{
    bool signals = plumb_rt.settings.signals && plumb_helper_is_me();
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    periodic.pause_ns = 5 * MS;
    periodic.next_anchor = now + periodic.pause_ns;
    periodic.signals_at = signals && early ? periodic.next_anchor + SIGNALS_AFTER_NS : UINT64_MAX;
    PLUMB_STORE(periodic.signalled, 0);
    periodic.run = run;
    if (!plumb_helper_is_me()) {
        if (!plumb_rt.overhead_ticks_x1000)
            plumb_calibrate();
        PLUMB_STORE(run->h->overhead_ticks_x1000, plumb_rt.overhead_ticks_x1000);
        PLUMB_STORE(run->h->overhead_work_ticks_x1000, plumb_rt.overhead_work_ticks_x1000);
        periodic.run = NULL;
        return;
    }
    PLUMB_RELEASE(periodic.running, 1);
    if (signals && !early) {
        signal_take(SIGTERM);
        signal_take(SIGINT);
    }
}

void plumb_periodic_stop(void)
{
    PLUMB_RELEASE(periodic.running, 0);
    periodic.run = NULL;
    signal_give_back(SIGTERM);
    signal_give_back(SIGINT);
}

void plumb_periodic_forget(void)
{
    signal_give_back(SIGTERM);
    signal_give_back(SIGINT);
    memset(&periodic, 0, sizeof periodic);
    periodic.signals_at = UINT64_MAX;
}
