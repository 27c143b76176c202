/* grpc_profiler.c: plumb.v1.Profiler: its methods, and those that watch processes. */
#include "grpc_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "grpc_method.h"
#include "grpc_session.h"
#include <proto/plumb/v1/profiler.pb-c.h>

static int64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- ListProcesses --------------------------------------------------------------------------- */

struct listed {
    Plumb__V1__Process message;
    char id[16];
};

static void fill_process(struct listed *out, const plumb_process *p, struct serve *s)
{
    Plumb__V1__Process *m = &out->message;
    plumb__v1__process__init(m);
    snprintf(out->id, sizeof out->id, "%u", p->pid);
    m->session_id = out->id;
    m->pid = p->pid;
    m->start_time = p->start_time;
    m->answers = p->answers != 0;
    m->program = (char *)p->program;
    m->last_access_unix_ns = serve_sessions_last_access(s->sessions, p->pid, p->start_time);
    if (!p->answers)
        return;
    m->command = (char *)p->command;
    m->pipeline = (char *)p->pipeline;
    m->run_dir = (char *)p->run_dir;
    m->version = (char *)p->version;
    m->recording = (Plumb__V1__Recording)p->recording;
    m->tracing = p->tracing != 0;
    m->since_unix_ns = (int64_t)p->since_ns;
    m->spans = p->spans;
    m->memory_bytes = p->memory_bytes;
    if (p->rank >= 0) {
        m->opt_rank_case = PLUMB__V1__PROCESS__OPT_RANK_RANK;
        m->rank = p->rank;
    }
    if (p->ranks > 0) {
        m->opt_ranks_case = PLUMB__V1__PROCESS__OPT_RANKS_RANKS;
        m->ranks = p->ranks;
    }
}

static void list_processes(struct serve_call *c, const void *request)
{
    Plumb__V1__ListProcessesResponse reply = PLUMB__V1__LIST_PROCESSES_RESPONSE__INIT;
    plumb_process_list *list = NULL;
    plumb_error err = {0, ""};
    (void)request;
    int rc = plumb_process_list_open(&list, &err);
    if (rc < 0) {
        serve_grpc_fail(c, rc, &err);
        return;
    }
    size_t n = plumb_process_list_count(list);
    struct listed *processes = calloc(n + 1, sizeof *processes);
    reply.processes = calloc(n + 1, sizeof(void *));
    reply.n_processes = n;
    for (size_t i = 0; processes && reply.processes && i < n; i++) {
        fill_process(&processes[i], plumb_process_list_get(list, i), c->serve);
        reply.processes[i] = &processes[i].message;
    }
    if (processes && reply.processes)
        serve_call_send(c, &reply.base);
    else
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
    free(reply.processes);
    free(processes);
    plumb_process_list_close(list);
}

/* ---- Summaries ------------------------------------------------------------------------------- */

static void fill_row(Plumb__V1__Row *out, const plumb_row *row)
{
    plumb__v1__row__init(out);
    out->pipeline = (char *)row->pipeline;
    out->phase = (char *)row->phase;
    out->node = (char *)row->node;
    out->count = row->count;
    out->skipped = row->skipped;
    out->failures = row->failures;
    out->mean_ms = row->mean_ms;
    out->median_ms = row->median_ms;
    out->std_ms = row->std_ms;
    out->min_ms = row->min_ms;
    out->max_ms = row->max_ms;
    out->total_ms = row->total_ms;
    out->self_ms = row->self_ms;
    out->last_ms = row->last_ms;
    out->p50_ms = row->p50_ms;
    out->p90_ms = row->p90_ms;
    out->p95_ms = row->p95_ms;
    out->p99_ms = row->p99_ms;
    out->device_count = row->device_count;
    out->device_total_ms = row->device_total_ms;
    out->device_mean_ms = row->device_mean_ms;
    out->device_min_ms = row->device_min_ms;
    out->device_max_ms = row->device_max_ms;
    out->device_median_ms = row->device_median_ms;
    out->threads = row->threads;
}

static bool send_rows(struct serve_call *c, const plumb_control_rows *rows)
{
    Plumb__V1__GetSummaryResponse reply = PLUMB__V1__GET_SUMMARY_RESPONSE__INIT;
    size_t n = plumb_control_rows_count(rows);
    Plumb__V1__Row *messages = calloc(n + 1, sizeof *messages);
    reply.rows = calloc(n + 1, sizeof(void *));
    reply.n_rows = n;
    reply.time_unix_ns = unix_ns();
    bool good = messages && reply.rows;
    for (size_t i = 0; good && i < n; i++) {
        fill_row(&messages[i], plumb_control_rows_get(rows, i));
        reply.rows[i] = &messages[i];
    }
    if (good)
        good = serve_call_send(c, &reply.base);
    else
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
    free(reply.rows);
    free(messages);
    return good;
}

static bool summarise(struct serve_call *c, const char *id, const char *phase)
{
    struct serve_rows s = {*phase ? phase : NULL, NULL};
    bool good =
        serve_grpc_do(c, id, SERVE_QUICK, true, serve_grpc_read_rows, &s) && send_rows(c, s.rows);
    plumb_control_rows_free(s.rows);
    return good;
}

static void get_summary(struct serve_call *c, const void *request)
{
    const Plumb__V1__GetSummaryRequest *r = request;
    summarise(c, r->session_id, r->phase);
}

static void watch_summary(struct serve_call *c, const void *request)
{
    const Plumb__V1__WatchSummaryRequest *r = request;
    uint32_t ms = r->interval_ms ? r->interval_ms : 1000;
    if (ms < 100 || ms > 3600000) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT,
                        "interval_ms is 100 to 3600000, or 0 for 1000, not %u", ms);
        return;
    }
    while (summarise(c, r->session_id, r->phase) && serve_call_wait(c, ms * 1000000ull))
        continue;
}

/* ---- Methods --------------------------------------------------------------------------------- */

#define METHOD(name, who, type, function)                                                          \
    {                                                                                              \
        .path = "/plumb.v1.Profiler/" name, .role = SERVE_ROLE_##who,                              \
        .request = &plumb__v1__##type##_request__descriptor, .run = (function)                     \
    }
#define STREAM(name, who, type, function)                                                          \
    {                                                                                              \
        .path = "/plumb.v1.Profiler/" name, .role = SERVE_ROLE_##who, .stream = true,              \
        .request = &plumb__v1__##type##_request__descriptor, .run = (function)                     \
    }
static const struct serve_method methods[] = {
    METHOD("ListProcesses", READ, list_processes, list_processes),
    METHOD("Start", CONTROL, start, serve_profiler_start),
    METHOD("Stop", CONTROL, stop, serve_profiler_stop),
    METHOD("Configure", CONTROL, configure, serve_profiler_configure),
    METHOD("GetSummary", READ, get_summary, get_summary),
    STREAM("WatchSummary", READ, watch_summary, watch_summary),
    STREAM("Trace", CONTROL, trace, serve_profiler_trace),
    METHOD("KeepRing", CONTROL, keep_ring, serve_profiler_keep_ring),
    METHOD("ListRuns", READ, list_runs, serve_profiler_list_runs),
    METHOD("GetRun", READ, get_run, serve_profiler_get_run),
    STREAM("GetRunFile", READ, get_run_file, serve_profiler_get_run_file),
    {.path = NULL},
};
const struct serve_service serve_service_profiler = {"plumb.v1.Profiler", methods};
