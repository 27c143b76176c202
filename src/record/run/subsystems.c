/* subsystems.c: the table of subsystems, and the jobs that the helper does for them. A new
 * subsystem is one entry here; the order is that of an opening. */
#include "record/run/subsystems.h"

#include "record/activation/activation.h"
#include "record/calls/calls.h"
#include "record/collect/collector.h"
#include "record/control/control.h"
#include "record/control/periodic.h"
#include "record/metrics/metrics.h"
#include "record/run/platform.h"
#include "record/run/run.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/keeper.h"
#include "record/runtime/mapping.h"
#include "record/runtime/node.h"
#include "record/runtime/own_cpu.h"
#include "record/span/region.h"
#include "record/stage/capture.h"
#include "record/stage/ledger.h"
#include "record/trace/nvtx.h"
#include "record/trace/switch.h"
#include "record/trace/trace.h"

static void open_regions(struct plumb_run *run, bool early)
{
    (void)run;
    (void)early;
    plumb_regions_log();
}

/* Looks into /dev before threads need the answer. */
static void prepare_nvtx(void)
{
    plumb_nvtx_emits();
}

static void open_nvtx(struct plumb_run *run, bool early)
{
    (void)early;
    plumb_nvtx_warn();
    plumb_nvtx_receipt(run->h->rank, run->h->local_rank);
}

static void finish_ledger(struct plumb_run *run, const struct plumb_anchor *end)
{
    (void)end;
    plumb_ledger_close(run);
}

static void open_activations(struct plumb_run *run, bool early)
{
    (void)early;
    plumb_activations_open(run);
}

static void open_capture(struct plumb_run *run, bool early)
{
    (void)early;
    plumb_capture_open(run);
}

static void open_calls(struct plumb_run *run, bool early)
{
    (void)early;
    plumb_calls_open(run);
}

static void finish_calls(struct plumb_run *run, const struct plumb_anchor *end)
{
    (void)end;
    plumb_calls_finish(run);
}

static void finish_metrics(struct plumb_run *run, const struct plumb_anchor *end)
{
    (void)end;
    plumb_metrics_finish(run);
}

static void close_periodic(struct plumb_run *run)
{
    (void)run;
    plumb_periodic_stop();
}

static void open_collectors(struct plumb_run *run, bool early)
{
    (void)early;
    plumb_collectors_start(run);
}

static void note_collectors(struct plumb_run *run)
{
    plumb_collectors_report(run);
    plumb_collectors_list();
}

static void open_trace(struct plumb_run *run, bool early)
{
    (void)early;
    plumb_trace_writer_start(run);
    plumb_trace_log_start(run);
}

static void finish_trace(struct plumb_run *run, const struct plumb_anchor *end)
{
    plumb_trace_writer_stop(run, end, NULL);
    plumb_trace_switch_ended(run, end);
    plumb_trace_log_stop(run);
}

const struct plumb_subsystem plumb_subsystems[] = {
    {.name = "helper", .forked = plumb_helper_forget},
    {.name = "control", .forked = plumb_control_forked},
    {.name = "keeper", .forked = plumb_keeper_forget},
    {.name = "processor time", .forked = plumb_own_cpu_forked},
    {.name = "regions", .begin = plumb_regions_open, .open = open_regions},
    {.name = "nodes", .begin = plumb_nodes_publish},
    {.name = "nvtx", .prepare = prepare_nvtx, .open = open_nvtx, .forked = plumb_nvtx_forked},
    {.name = "malloc",
     .prepare = plumb_sized_shut,
     .ready = plumb_sized_unshut,
     .forked = plumb_sized_forked},
    {.name = "ledger", .begin = plumb_ledger_open, .finish = finish_ledger},
    {.name = "activations",
     .open = open_activations,
     .close = plumb_activations_close,
     .forked = plumb_activations_forked,
     .give_back = plumb_activations_give_back},
    {.name = "capture",
     .open = open_capture,
     .close = plumb_capture_close,
     .forked = plumb_capture_forked},
    {.name = "calls", .open = open_calls, .finish = finish_calls, .forked = plumb_calls_forked},
    {.name = "metrics",
     .begin = plumb_metrics_begin,
     .finish = finish_metrics,
     .forked = plumb_metrics_forked},
    {.name = "periodic",
     .open = plumb_periodic_start,
     .close = close_periodic,
     .forked = plumb_periodic_forget},
    {.name = "collectors",
     .open = open_collectors,
     .stop = plumb_collectors_stop,
     .notes = note_collectors,
     .forked = plumb_collectors_forked},
    {.name = "trace",
     .begin = plumb_trace_begin,
     .open = open_trace,
     .finish = finish_trace,
     .forked = plumb_trace_writer_forget,
     .give_back = plumb_trace_writer_give_back},
    {.name = "trace windows", .forked = plumb_trace_switch_forget},
    {.name = "mapping", .notes = plumb_carve_note},
};
const size_t plumb_subsystem_count = sizeof plumb_subsystems / sizeof *plumb_subsystems;

const struct plumb_helper_work plumb_helper_work = {
    .job =
        {
            [PLUMB_JOB_GROW] = plumb_carve_grow,
            [PLUMB_JOB_RSS] = plumb_rss_take,
            [PLUMB_JOB_RSS_RESET] = plumb_rss_reset,
            [PLUMB_JOB_STACKS] = plumb_trace_stacks_do_find,
            [PLUMB_JOB_MODULES] = plumb_act_modules_do_decide,
            [PLUMB_JOB_OPEN] = plumb_run_do_open,
            [PLUMB_JOB_ACTIVATIONS] = plumb_activations_do_open,
            [PLUMB_JOB_CAPTURE] = plumb_capture_do_write,
            [PLUMB_JOB_CONTROL] = plumb_control_do,
            [PLUMB_JOB_ENVIRONMENT] = plumb_environment_do_read,
            [PLUMB_JOB_SWITCH] = plumb_trace_switch_do,
            [PLUMB_JOB_PASS_ON] = plumb_periodic_do_pass_on,
            [PLUMB_JOB_STOP] = plumb_run_do_stop,
        },
    .turn = plumb_periodic_turn,
    .needs_keeper = plumb_collectors_any_wanted,
};
