/* open.c: the opening of a run: its directory, its mapping, and the subsystems that take part. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pages.h"
#include "base/process/environment.h"
#include "base/process/process.h"
#include "base/process/rank.h"
#include "live/read.h"
#include "model/timing.h"
#include "record/run/platform.h"
#include "record/run/run.h"
#include "record/run/subsystems.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/own_cpu.h"
#include "record/runtime/point.h"
#include "record/runtime/record_log.h"
#include "record/runtime/runtime.h"
#include "record/span/region.h"
#include "record/trace/active_steps.h"

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
    h->perfs.element_bytes = sizeof(struct plumb_live_perf);
    h->lanes.element_bytes = sizeof(struct plumb_live_lane);
    h->clocks.element_bytes = sizeof(struct plumb_live_clock);
    h->collectors.element_bytes = sizeof(struct plumb_live_collector);
    h->lane_names.element_bytes = sizeof(struct plumb_live_lane_name);
    h->region.element_bytes = sizeof(struct plumb_live_region);
    h->intervals.element_bytes = sizeof(struct plumb_live_interval);
    h->cells.element_bytes = sizeof(struct plumb_live_cell);
    h->windows.element_bytes = sizeof(struct plumb_live_window);
    h->families.element_bytes = sizeof(struct plumb_live_metric_family);
    h->metrics.element_bytes = sizeof(struct plumb_live_metric);
    h->channels.element_bytes = sizeof(struct plumb_live_channel);
    h->stream_stages.element_bytes = sizeof(struct plumb_live_stream_stage);
    h->stream.element_bytes = sizeof(struct plumb_live_stream);
    h->chunks.element_bytes = sizeof(struct plumb_live_chunk);
}

/* Fills the header and everything known so far. The magic comes last: a file without it is not a
 * mapping. */
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
    h->pid_namespace = plumb_process_namespace(0, "pid");
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
    /* Index 0 of the nodes is not a node. */
    plumb_table_add(run, &h->nodes);
    plumb_table_commit(&h->nodes);
    PLUMB_STORE(plumb_rt.rank, rank->rank);
    PLUMB_EACH_SUBSYSTEM(begin, run);
    if (run->problem[0])
        plumb_run_note(run, "%s", run->problem);
    if (run->bounded_by)
        plumb_run_note(run, "statistics had %zu KiB, which is less than PLUMB_MAX_STATE: %s",
                       run->mapped / 1024, run->bounded_by);
    PLUMB_RELEASE(h->magic, PLUMB_LIVE_MAGIC);
    return PLUMB_OK;
}

/* Makes a directory with a mapping in it, or uses memory if that fails (then `run->problem` says
 * why). PLUMB_ERR_STATE: the run is refused. A front end that asks for one wants its files, so it
 * gets the error. */
static int place(struct plumb_run *run, const char *host, int32_t rank, bool asked)
{
    plumb_error err = {0, ""};
    size_t bytes = plumb_rt.settings.max_state_bytes;
    int rc;
    rc = plumb_run_dir_make(run->dir, sizeof run->dir, host, rank, &err);
    if (rc == PLUMB_ERR_STATE || (rc < 0 && asked)) {
        snprintf(run->problem, sizeof run->problem, "%.250s", err.message);
        return rc;
    }
    if (rc == PLUMB_OK)
        rc = plumb_mapping_open(run, run->dir, bytes, &err);
    if (rc == PLUMB_OK) {
        plumb_run_report_line("open", run->dir, 0, 0);
        return rc;
    }
    snprintf(run->problem, sizeof run->problem, "%.250s", err.message);
    if (asked) {
        rmdir(run->dir);
        return rc;
    }
    run->dir[0] = '\0';
    return plumb_mapping_open(run, NULL, bytes, &err);
}

static struct plumb_run *open_locked(bool asked, plumb_error *err)
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
    rc = place(run, host, rank.rank, asked);
    if (rc == PLUMB_OK && (rc = fill(run, host, &rank)) < 0)
        snprintf(run->problem, sizeof run->problem, "no memory for the statistics of a run");
    if (rc < 0) {
        plumb_fail(err, rc, "%s", run->problem);
        if (run->in_file)
            plumb_run_report_line("run", run->dir, 0, 0);
        plumb_file_done(run, false);
        plumb_active_close(run);
        plumb_mapping_close(run);
        plumb_pages_unmap(run, sizeof *run);
        return NULL;
    }
    return run;
}

static void log_problem(const char *what, const char *problem)
{
    plumb_say("plumb: %s%s", problem, what);
}

/* Reports settings without effect, a line for each reason. Once a process: it may open many
 * runs. */
static void warn_idle(void)
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

int plumb_run_open_now(bool early, bool asked, plumb_error *err)
{
    plumb_error why = {0, ""};
    struct plumb_run *run;
    plumb_environ_look(false);
    PLUMB_EACH_SUBSYSTEM(prepare, );
    plumb_lock();
    run = open_locked(asked, &why);
    PLUMB_EACH_SUBSYSTEM(ready, );
    if (run) {
        PLUMB_RELEASE(plumb_rt.run, run);
        PLUMB_RELEASE(plumb_rt.recording, 1);
    }
    /* Not earlier: a thread that finds neither of them set loses its span. */
    PLUMB_RELEASE(plumb_rt.want_run, false);
    plumb_points_refresh();
    plumb_unlock();
    if (!run) {
        if (!asked)
            log_problem("; nothing is recorded", why.message);
        plumb_run_report_line("refused", "-", 0, 0);
        return plumb_fail(err, why.code, "%s", why.message);
    }
    if (!run->in_file)
        log_problem("; recording in memory, the summary is printed at the end", run->problem);
    else if (run->problem[0])
        log_problem("", run->problem);
    warn_idle();
    PLUMB_EACH_SUBSYSTEM(open, run, early);
    /* Allocates storage ahead of need: a signal may end the program while a thread waits for
     * storage, with the lock held. */
    if (plumb_helper_is_me())
        plumb_carve_grow();
    return PLUMB_OK;
}
