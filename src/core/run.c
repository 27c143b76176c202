/* run.c: one recording, from its first span to its stop: directory, mapping, results.
 *
 * A run that was asked for (PLUMB=1, a forked child) opens with its first span, so that a shell or
 * a child that only execs leaves nothing behind; plumb_start() opens at once. Whatever goes wrong
 * with directories and disks is said in one line and leaves the host alone.
 *
 * Locks: life_lock serialises start, stop and fork; it is taken before the runtime's lock. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/rank.h"
#include "base/sanitize.h"
#include "core/activation.h"
#include "core/active.h"
#include "core/collector.h"
#include "core/control.h"
#include "core/keeper.h"
#include "core/ledger.h"
#include "core/nvtx.h"
#include "core/runtime.h"
#include "core/trace.h"
#include "format/live_read.h"
#include "format/process.h"
#include "format/timing.h"

enum { FIT_NS = 2000000 };
/* A span waits for its run no longer than this, a start or stop until the helper has done nothing
 * for that long. */
#define OPEN_WAIT_NS UINT64_C(2000000000)
#define QUIET_NS UINT64_C(30000000000)

/* ---- Opening --------------------------------------------------------------------------------- */

static void header_tables(struct plumb_live_header *h)
{
    h->nodes.element_bytes = sizeof(struct plumb_live_node);
    h->pipelines.element_bytes = sizeof(struct plumb_live_pipeline);
    h->phases.element_bytes = sizeof(struct plumb_live_name);
    h->keys.element_bytes = sizeof(struct plumb_live_key);
    h->counts.element_bytes = sizeof(struct plumb_live_count);
    h->stages.element_bytes = sizeof(struct plumb_live_stage);
    h->owners.element_bytes = sizeof(struct plumb_live_owner);
    h->checkpoints.element_bytes = sizeof(struct plumb_live_checkpoint);
    h->stage_runs.element_bytes = sizeof(struct plumb_live_stage_run);
    h->requests.element_bytes = sizeof(struct plumb_live_request);
    h->signatures.element_bytes = sizeof(struct plumb_live_signature);
    h->times.element_bytes = sizeof(struct plumb_live_signature_time);
    h->scheds.element_bytes = sizeof(struct plumb_live_sched);
    h->devices.element_bytes = sizeof(struct plumb_live_device);
    h->lanes.element_bytes = sizeof(struct plumb_live_lane);
    h->clocks.element_bytes = sizeof(struct plumb_live_clock);
    h->collectors.element_bytes = sizeof(struct plumb_live_collector);
    h->lane_names.element_bytes = sizeof(struct plumb_live_lane_name);
    h->region.element_bytes = sizeof(struct plumb_live_region);
    h->intervals.element_bytes = sizeof(struct plumb_live_interval);
}

/* The header and everything known so far. The magic comes last: a mapping without it is none. */
static int fill(struct plumb_run *run, const char *host, const struct plumb_rank *rank)
{
    struct plumb_live_header *h;
    if (plumb_carve(run, sizeof *h) != 0 || run->backed < sizeof *h)
        return PLUMB_ERR_IO;
    h = run->h = (struct plumb_live_header *)(void *)run->base;
    memset(h, 0, sizeof *h);
    h->version = PLUMB_LIVE_VERSION;
    h->header_bytes = sizeof *h;
    h->mapped_bytes = run->mapped;
    h->used = (sizeof *h + 63) & ~(uint64_t)63;
    h->pid = plumb_rt.pid;
    h->status = PLUMB_LIVE_RECORDING;
    h->process_start = plumb_process_start(plumb_rt.pid);
    h->clock_source = plumb_rt.clock;
    h->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    h->step_ticks = plumb_clock_step(plumb_rt.clock);
    h->early = plumb_rt.early;
    plumb_anchor_take(&h->start, plumb_rt.clock);
    plumb_live_clock_begin(h);
    h->rank = rank->rank;
    h->world_size = rank->world_size;
    h->local_rank = rank->local_rank;
    h->skip_first_n = plumb_rt.settings.skip_first_n;
    h->run_generation = run->generation;
    h->flags = plumb_rt.settings.median == PLUMB_MEDIAN_P2 ? PLUMB_LIVE_P2 : 0;
    h->drops[PLUMB_DROP_NODES] = plumb_rt.nodes_seen_beyond;
    h->drops[PLUMB_DROP_PIPELINES] = plumb_rt.pipelines_seen_beyond;
    h->drops[PLUMB_DROP_REENTRANT] =
        __atomic_exchange_n(&plumb_rt.handlers_turned_away, 0, __ATOMIC_RELAXED);
    h->drops[PLUMB_DROP_LOST] = __atomic_exchange_n(&plumb_rt.lost_before, 0, __ATOMIC_RELAXED);
    header_tables(h);
    plumb_run_describe(run, host, rank);
    plumb_run_describe_environment(run);
    /* Index 0 of the nodes is no node. */
    plumb_table_add(run, &h->nodes);
    plumb_table_commit(&h->nodes);
    plumb_regions_open(run);
    plumb_nodes_publish(run);
    if (run->problem[0])
        plumb_run_note(run, "%s", run->problem);
    if (run->bounded_by)
        plumb_run_note(run, "statistics had %zu KiB, which is less than PLUMB_MAX_STATE: %s",
                       run->mapped / 1024, run->bounded_by);
    PLUMB_STORE(plumb_rt.rank, rank->rank);
    plumb_ledger_open(run);
    plumb_trace_begin(run);
    PLUMB_RELEASE(h->magic, PLUMB_LIVE_MAGIC);
    return PLUMB_OK;
}

/* A directory with a mapping in it, or memory when that cannot be had (then `run->problem` says
 * why). PLUMB_ERR_STATE: refused, there is to be no run. */
static int place(struct plumb_run *run, const char *host, int32_t rank)
{
    plumb_error err = {0, ""};
    size_t bytes = plumb_rt.settings.max_state_bytes;
    int rc;
    rc = plumb_run_dir_make(run->dir, sizeof run->dir, host, rank, &err);
    if (rc == PLUMB_ERR_STATE) {
        snprintf(run->problem, sizeof run->problem, "%.250s", err.message);
        return rc;
    }
    if (rc == PLUMB_OK)
        rc = plumb_mapping_open(run, run->dir, bytes, &err);
    if (rc == PLUMB_OK) {
        plumb_run_tell("open", run->dir, 0, 0);
        return rc;
    }
    snprintf(run->problem, sizeof run->problem, "%.250s", err.message);
    run->dir[0] = '\0';
    return plumb_mapping_open(run, NULL, bytes, &err);
}

static struct plumb_run *open_locked(plumb_error *err)
{
    struct plumb_run *run = plumb_pages_map(sizeof *run);
    struct plumb_rank rank;
    char host[256] = "localhost";
    int rc;
    if (!run) {
        plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory opening a run");
        return NULL;
    }
    /* A run that is refused has no file: the one in its directory is not its own. */
    run->fd = -1;
    gethostname(host, sizeof host - 1);
    plumb_rank_find(&rank, plumb_environ());
    run->generation = plumb_rt.generation + 1;
    run->own_cpu_from = plumb_own_cpu_ns();
    PLUMB_STORE(plumb_rt.generation, run->generation);
    rc = place(run, host, rank.rank);
    if (rc == PLUMB_OK && (rc = fill(run, host, &rank)) < 0)
        snprintf(run->problem, sizeof run->problem, "no room for the statistics of a run");
    if (rc < 0) {
        plumb_fail(err, rc, "%s", run->problem);
        if (run->in_file)
            plumb_run_tell("run", run->dir, 0, 0);
        plumb_file_done(run, false);
        plumb_mapping_close(run);
        plumb_pages_unmap(run, sizeof *run);
        return NULL;
    }
    return run;
}

static void tell_problem(const char *what, const char *problem)
{
    plumb_say("plumb: %s%s", problem, what);
}

/* Settings that do nothing, a line for each reason. Once a process: it may open many runs. */
static void tell_idle(void)
{
    struct plumb_idle idle, other;
    const char *told = NULL;
    if (plumb_rt.told_idle || !plumb_regions_speak())
        return;
    for (size_t i = 0; plumb_settings_idle(&plumb_rt.settings, i, &idle); i++) {
        char names[512];
        size_t count = 0, n = 0;
        if (idle.why == told)
            continue;
        told = idle.why;
        plumb_rt.told_idle = true;
        for (size_t k = i; plumb_settings_idle(&plumb_rt.settings, k, &other); k++)
            if (other.why == idle.why && n < sizeof names)
                n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", count++ ? ", " : "",
                                      other.variable);
        plumb_say("plumb: %s %s nothing %s: set %s", names, count == 1 ? "does" : "do", idle.why,
                  idle.cure);
    }
}

/* Under life_lock; on the helper, where there is one. */
static int open_run(bool early, plumb_error *err)
{
    plumb_error why = {0, ""};
    struct plumb_run *run;
    plumb_environ_look(false);
    plumb_sized_shut();
    plumb_lock();
    run = open_locked(&why);
    plumb_sized_unshut();
    if (run) {
        PLUMB_RELEASE(plumb_rt.run, run);
        PLUMB_RELEASE(plumb_rt.recording, 1);
    }
    /* Not before: a thread that finds neither true loses its span. */
    PLUMB_RELEASE(plumb_rt.want_run, false);
    plumb_points_refresh();
    plumb_unlock();
    if (!run) {
        tell_problem("; nothing is recorded", why.message);
        plumb_run_tell("refused", "-", 0, 0);
        return plumb_fail(err, why.code, "%s", why.message);
    }
    if (!run->in_file)
        tell_problem("; recording in memory, the summary is printed at the end", run->problem);
    else if (run->problem[0])
        tell_problem("", run->problem);
    tell_idle();
    plumb_regions_tell();
    plumb_nvtx_tell();
    plumb_activations_open(run);
    plumb_control_start(run, early);
    plumb_collectors_start(run);
    plumb_trace_writer_start(run);
    plumb_trace_tell_start(run);
    /* Ahead of need: a signal may end the program while a thread waits for storage, with the lock.
     */
    if (plumb_helper_is_me())
        plumb_carve_grow();
    return PLUMB_OK;
}

void plumb_run_open_early(void)
{
    plumb_life_lock();
    /* What may end the program is for its own threads. */
    if (plumb_rt.want_run && !plumb_rt.run && plumb_rt.settings.region_check != PLUMB_REGION_ABORT)
        open_run(true, NULL);
    plumb_life_unlock();
}

/* What the last opening and the last stop came to, for who asked. Under life_lock. */
static struct {
    int rc;
    plumb_error err;
} opened, stopped;

void plumb_run_do_open(void)
{
    plumb_life_lock();
    if (plumb_rt.want_run && !plumb_rt.run) {
        opened.err = (plumb_error){0, ""};
        opened.rc = open_run(false, &opened.err);
    }
    plumb_life_unlock();
}

int plumb_run_open(void)
{
    static uint32_t late; /* the generation that somebody did not wait for any longer; atomic */
    uint32_t next = PLUMB_LOAD(plumb_rt.generation) + 1;
    if (plumb_may_lock_all("a first span", NULL) < 0)
        return PLUMB_ERR_STATE;
    if (!plumb_helper_start_in_child()) {
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

/* ---- Settings -------------------------------------------------------------------------------- */

static void warn_setting(const char *line, void *arg)
{
    (void)arg;
    plumb_say("plumb: %s", line);
}

static void name_default_pipeline(void)
{
    const char *name = plumb_rt.settings.pipeline;
    char exe[1024];
    ssize_t n;
    if (!name[0]) {
        n = readlink("/proc/self/exe", exe, sizeof exe - 1);
        exe[n > 0 ? n : 0] = '\0';
        name = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : "default";
    }
    if (!plumb_rt.pipelines[0].name || strcmp(plumb_rt.pipelines[0].name, name) != 0) {
        char *kept = plumb_keep_text(name);
        if (kept)
            plumb_rt.pipelines[0].name = kept;
    }
}

/* Word by word: threads that are in no run, and hold no lock, look at single ones with PLUMB_LOAD.
 */
static void put_settings(const struct plumb_settings *next)
{
    typedef uint64_t __attribute__((may_alias)) word;
    const word *from = (const word *)(const void *)next;
    word *to = (word *)(void *)&plumb_rt.settings;
    _Static_assert(sizeof *next % sizeof *to == 0, "whole words");
    for (size_t i = 0; i < sizeof *next / sizeof *to; i++)
        PLUMB_STORE(to[i], from[i]);
}

/* Reads struct and environment; under the lock. Less than 0: nothing is taken. */
static int read_settings(struct plumb_settings *out, const plumb_options *options, bool warn,
                         plumb_error *err)
{
    int rc;
    plumb_settings_default(out);
    rc = plumb_settings_apply(out, options, err);
    if (rc < 0)
        return rc;
    plumb_settings_from_env(out, plumb_environ(), warn ? warn_setting : NULL, NULL);
    /* Nodes outlive runs: the bound can only be raised. */
    if (out->max_nodes < plumb_rt.node_count)
        out->max_nodes = plumb_rt.node_count;
    return PLUMB_OK;
}

static int take_settings(const plumb_options *options, bool warn, plumb_error *err)
{
    struct plumb_settings *s = &plumb_rt.settings;
    /* Too large for the stacks that threads may have. */
    struct plumb_settings *next = plumb_pages_map(sizeof *next);
    int rc;
    if (!next)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the settings");
    rc = read_settings(next, options, warn, err);
    if (rc == PLUMB_OK)
        put_settings(next);
    plumb_pages_unmap(next, sizeof *next);
    if (rc < 0)
        return rc;
    plumb_paths_resolve();
    PLUMB_STORE(plumb_rt.debug, s->debug);
    if (options || s->log_level)
        plumb_log_set((int)s->log_level, s->log, s->log_arg);
    name_default_pipeline();
    for (uint32_t i = 0; i < PLUMB_PIPELINES_MAX; i++) {
        plumb_pipeline *p = &plumb_rt.pipelines[i];
        if (p->configured)
            continue;
        p->enabled = 1;
        p->sync = s->sync;
        PLUMB_STORE(p->skip_first_n, s->skip_first_n);
    }
    return PLUMB_OK;
}

void plumb_runtime_settings(void)
{
    plumb_environ_look(true);
    plumb_lock();
    take_settings(NULL, true, NULL);
    PLUMB_STORE(plumb_rt.want_run, plumb_settings_wants_recording(&plumb_rt.settings));
    plumb_unlock();
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

/* The life lock while no helper is ending, which may need the lock for its last job. */
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
    /* The default folder would be whoever started the program's to choose. */
    if (plumb_is_privileged() && !(options && (options->dir || options->run_dir))) {
        rc = plumb_fail(err, PLUMB_ERR_STATE,
                        "this program has rights that its caller has not (set-user-ID, "
                        "capabilities): name the folder of the run in plumb_options");
        goto out;
    }
    plumb_environ_look(true);
    plumb_lock();
    rc = take_settings(options, false, err);
    plumb_unlock();
    if (rc == PLUMB_OK)
        rc = plumb_activations_check(&plumb_rt.settings, err);
    if (rc < 0)
        goto out;
    if (plumb_rt.settings.recording == PLUMB_OFF) {
        plumb_log(PLUMB_LOG_INFO, "plumb: PLUMB=0: the program's request to record is ignored");
        goto out;
    }
    /* First: a thread that finds a run wanted, and no helper, opens it itself. */
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

/* ---- Closing --------------------------------------------------------------------------------- */

/* After this no thread is, or will be, in the run's mapping; false: one is held up in it. `*held`:
 * one that our signal handler holds is in it, and may come back should the process go on. */
static bool quiesce(bool *held)
{
    uint64_t deadline_ns;
    bool all = true;
    *held = false;
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
        all &= plumb_thread_await(th, deadline_ns);
        *held |= PLUMB_ACQUIRE(th->frozen) && PLUMB_LOAD(th->busy) == PLUMB_BUSY_RECORDING;
    }
    return all;
}

/* What there still is of a run whose report could not be written. */
static void tell_unsaved(const struct plumb_run *run, const struct plumb_anchor *end,
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
    bool still, held, kept = true;
    int rc = PLUMB_OK;
    plumb_collectors_stop(run);
    plumb_snapshot_lock();
    still = quiesce(&held);
    /* Summaries see no run from here on: the end block calls out, and may be asked for one. */
    plumb_lock();
    snprintf(plumb_rt.last_dir, sizeof plumb_rt.last_dir, "%s", run->dir);
    PLUMB_STORE(plumb_rt.run, NULL);
    plumb_unlock();
    plumb_snapshot_unlock();
    PLUMB_ADD(run->h->drops[PLUMB_DROP_REENTRANT],
              __atomic_exchange_n(&plumb_rt.handlers_turned_away, 0, __ATOMIC_RELAXED));
    plumb_control_stop();
    plumb_activations_close(run);
    plumb_anchor_take(&end, plumb_rt.clock);
    if (end.raw_ns - plumb_rt.early.raw_ns < FIT_NS) {
        /* Too short to fit the clock well; a moment longer costs less than a wrong figure. */
        plumb_helper_pause(FIT_NS);
        plumb_anchor_take(&end, plumb_rt.clock);
    }
    if (plumb_live_clock_take(run->h, &end)) {
        /* What the counter does without the jump is needed as well. */
        plumb_helper_pause(FIT_NS);
        plumb_anchor_take(&end, plumb_rt.clock);
        plumb_live_clock_take(run->h, &end);
    }
    plumb_trace_writer_stop(run, &end, still);
    plumb_trace_tell_stop(run);
    if (still) {
        plumb_carve_note(run);
        plumb_ledger_close(run);
        plumb_collectors_tell(run);
        plumb_collectors_list();
        rc = plumb_run_conclude(run, &end, &kept, &why);
    } else
        rc = plumb_fail(&why, PLUMB_ERR_STATE, "a thread is held up inside plumb");
    if (rc < 0)
        tell_unsaved(run, &end, why.message);
    PLUMB_STORE(run->h->status, PLUMB_LIVE_ENDED);
    if (still)
        plumb_file_done(run, kept);
    if (still && !held) {
        plumb_mapping_close(run);
        plumb_pages_unmap(run, sizeof *run);
    }
    return rc < 0 ? plumb_fail(err, rc, "%s", why.message) : PLUMB_OK;
}

static void tell_nothing(void)
{
    if (plumb_rt.nodes_refused)
        plumb_say(
            "plumb: nothing was recorded: no memory for the names of trace points (ulimit -v, "
            "ulimit -d)");
    else if (PLUMB_LOAD(plumb_rt.handlers_turned_away))
        plumb_say("plumb: nothing was recorded: all %llu spans came in signal "
                  "handlers, or while it blocked signals that it handles",
                  (unsigned long long)plumb_rt.handlers_turned_away);
    else
        plumb_say("plumb: nothing was recorded: the program passed no trace point (%u registered)",
                  plumb_rt.client_count);
}

/* Under life_lock. */
static int stop_run(plumb_error *err)
{
    int rc = PLUMB_OK;
    if (!plumb_rt.run && plumb_rt.want_run && plumb_sized_waits())
        rc = open_run(true, err);
    if (plumb_rt.run) {
        rc = close_run(plumb_rt.run, err);
    } else if (plumb_rt.want_run) {
        plumb_lock();
        PLUMB_STORE(plumb_rt.want_run, false);
        plumb_points_refresh();
        plumb_unlock();
        plumb_sized_forget();
        plumb_run_tell("run", "-", 0, 0);
        if (!plumb_rt.settings.quiet && !plumb_rt.settings.record_log[0])
            tell_nothing();
    }
    return rc;
}

void plumb_run_do_stop(void)
{
    plumb_life_lock();
    stopped.err = (plumb_error){0, ""};
    stopped.rc = stop_run(&stopped.err);
    plumb_life_unlock();
    /* Who waits is in a handler, which is no place for a call of the program's log function. */
    if (plumb_control_was_signalled())
        plumb_log_show(PLUMB_LOG_TO_CALLBACK);
}

/* Where no run was opened there is nothing that the helper has to do. */
static bool stop_nothing(void)
{
    bool nothing;
    plumb_life_lock();
    nothing = !plumb_rt.run && !(plumb_rt.want_run && plumb_sized_waits());
    if (nothing) {
        stopped.err = (plumb_error){0, ""};
        stopped.rc = stop_run(&stopped.err);
    }
    plumb_life_unlock();
    return nothing;
}

/* Waits for the helper; what the run leaves may take a while. */
static int stop_now(plumb_error *err)
{
    int rc;
    bool done;
    if (PLUMB_LOAD(plumb_rt.want_run) && plumb_sized_waits())
        plumb_regions_check();
    done = stop_nothing() || plumb_helper_do_patiently(PLUMB_JOB_STOP, QUIET_NS);
    plumb_log_show(PLUMB_LOG_TO_ANY);
    if (!done)
        return plumb_fail(err, PLUMB_ERR_STATE, "the end of the run is held up");
    plumb_life_lock();
    if (!plumb_rt.run)
        plumb_nvtx_end_all(); /* whoever listens may know the program's descriptors */
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
    /* exit() in a handler that interrupted a span: nobody goes on from there. */
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
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_run_dir: no room for the path");
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

/* ---- Fork ------------------------------------------------------------------------------------ */

/* The child has one thread, this one; whoever else held a lock at the fork is not here to release
 * it. A fork that libc was not told of (a raw system call) finds them in any state. */
static void locks_free(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    plumb_rt.lock = plumb_rt.snapshot_lock = plumb_rt.life_lock = plumb_rt.ledger_lock = fresh;
    plumb_rt.signal_asked = 0;
    plumb_locked = 0;
    plumb_life_locked = plumb_snapshot_locked = false;
}

/* Puts private memory with what the mapping holds in its place. False: no memory. */
static bool make_private(struct plumb_run *run)
{
    size_t used = run->h->used < run->mapped ? run->h->used : run->mapped;
    void *copy = plumb_pages_map(run->mapped);
    if (!copy)
        return false;
    memcpy(copy, run->base, used);
    return mremap(copy, run->mapped, run->mapped, MREMAP_MAYMOVE | MREMAP_FIXED, run->base) !=
           MAP_FAILED;
}

/* The fork came in a signal handler that had interrupted plumb on this thread. What was interrupted
 * goes on in the child: into a copy that nobody reads. Without memory for one it would go on into
 * the parent's run, which is worse than ending here. */
static void leave_interrupted(struct plumb_run *run)
{
    if (!make_private(run))
        _exit(127);
}

void plumb_run_forked(bool interrupted)
{
    struct plumb_run *run = plumb_rt.run;
    bool was_on = run || plumb_rt.want_run;
    locks_free();
    plumb_sized_forked();
    plumb_rt.pid = (uint32_t)getpid();
    plumb_threads_forget(interrupted);
    plumb_helper_forget();
    plumb_keeper_forget();
    plumb_control_forget();
    plumb_log_forked();
    plumb_activations_forked();
    plumb_own_cpu_forked();
    plumb_collectors_forked();
    plumb_nvtx_forked();
    plumb_trace_writer_forget();
    plumb_rt.run = NULL;
    PLUMB_STORE(plumb_rt.recording, 0);
    PLUMB_STORE(plumb_rt.want_run, was_on && plumb_rt.settings.fork == PLUMB_FORK_FOLLOW);
    PLUMB_STORE(plumb_rt.handlers_turned_away, 0);
    plumb_rt.last_dir[0] = '\0';
    plumb_paths_forked();
    if (run && interrupted) {
        leave_interrupted(run);
    } else if (run) {
        /* The mapping is the parent's: let go of it without touching it. */
        plumb_pages_unmap(run->base, run->mapped);
        plumb_active_close(run);
        plumb_pages_unmap(run, sizeof *run);
    }
    plumb_points_refresh();
    plumb_keeper_watch();
}
