/* grpc_cuvis.c: cuvis_ai.v1.CuvisAIService, with the statuses and the texts that its clients know.
 */
#include <stdlib.h>
#include <string.h>

#include "grpc_method.h"
#include "grpc_session.h"
#include <proto/cuvis_ai/v1/cuvis_ai.pb-c.h>

typedef CuvisAi__V1__SetProfilingRequest set_request;
typedef CuvisAi__V1__GetProfilingSummaryRequest get_request;

/* A session that exists has a process; NOT_FOUND of a command is its pipeline. */
static void fail(struct serve_call *c, const char *id, const char *what, int rc, bool found,
                 const plumb_error *err)
{
    if (rc == PLUMB_ERR_NOT_FOUND && !found)
        serve_call_fail(c, GRPC_STATUS_NOT_FOUND, "Session %s not found", id);
    else if (rc == PLUMB_ERR_NOT_FOUND)
        serve_call_fail(c, GRPC_STATUS_FAILED_PRECONDITION, "Session %s has no pipeline: %s", id,
                        err->message);
    else if (rc == PLUMB_ERR_ARG)
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "%s", err->message);
    else
        serve_call_fail(c, GRPC_STATUS_INTERNAL, "%s failed: %s", what, err->message);
}

/* ---- SetProfiling ---------------------------------------------------------------------------- */

/* Clients of CUVIS.AI know no runs: enabling means that samples are taken from now on, so the first
 * one opens a run. Two clients may do so at once. */
static int open_run(plumb_control *control, plumb_error *err)
{
    const plumb_process *p;
    plumb_error why;
    int rc = plumb_control_status(&p, control, err);
    if (rc < 0 || p->recording)
        return rc;
    int started = plumb_control_start(control, NULL, &why);
    if (started == PLUMB_OK)
        return started;
    rc = plumb_control_status(&p, control, err);
    if (rc == PLUMB_OK && !p->recording) {
        *err = why;
        rc = started;
    }
    return rc;
}

static int configure(struct serve_session *session, void *arg, plumb_error *err)
{
    const plumb_config *config = arg;
    int rc = plumb_control_configure(session->control, session->pipeline, config, err);
    return rc == PLUMB_OK && config->enabled ? open_run(session->control, err) : rc;
}

static void set_profiling(struct serve_call *c, const void *message)
{
    const set_request *r = message;
    CuvisAi__V1__SetProfilingResponse reply = CUVIS_AI__V1__SET_PROFILING_RESPONSE__INIT;
    plumb_config config = plumb_config_default();
    plumb_error err = {0, ""};
    bool found;
    config.enabled = r->enabled != 0;
    if (r->opt_synchronize_cuda_case)
        config.sync = r->synchronize_cuda != 0;
    if (r->opt_reset_case)
        config.reset = r->reset != 0;
    if (r->opt_skip_first_n_case)
        config.skip_first_n = r->skip_first_n;
    int rc = serve_grpc_run(c, r->session_id, SERVE_QUICK, false, configure, &config, &found, &err);
    reply.profiling_enabled = r->enabled;
    if (rc == PLUMB_OK)
        serve_call_send(c, &reply.base);
    else
        fail(c, r->session_id, "SetProfiling", rc, found, &err);
}

/* ---- GetProfilingSummary --------------------------------------------------------------------- */

static const char *const stages[] = {NULL, "train", "val", "test", "inference"};
enum { STAGES = sizeof stages / sizeof *stages };

static CuvisAi__V1__ExecutionStage stage_of(const char *phase)
{
    for (int i = 1; i < STAGES; i++)
        if (strcmp(stages[i], phase) == 0)
            return (CuvisAi__V1__ExecutionStage)i;
    return CUVIS_AI__V1__EXECUTION_STAGE__EXECUTION_STAGE_UNSPECIFIED;
}

static const char *phase_of(const get_request *r)
{
    uint32_t stage = r->opt_stage_case ? (uint32_t)r->stage : 0;
    return stage < STAGES ? stages[stage] : NULL;
}

static void fill(CuvisAi__V1__NodeProfilingStats *out, const plumb_row *row)
{
    cuvis_ai__v1__node_profiling_stats__init(out);
    out->node_name = (char *)row->node;
    out->stage = stage_of(row->phase);
    out->count = (int64_t)row->count;
    out->mean_ms = row->mean_ms;
    out->median_ms = row->median_ms;
    out->std_ms = row->std_ms;
    out->min_ms = row->min_ms;
    out->max_ms = row->max_ms;
    out->total_ms = row->total_ms;
    out->last_ms = row->last_ms;
}

static void reply_rows(struct serve_call *c, const plumb_control_rows *rows)
{
    CuvisAi__V1__GetProfilingSummaryResponse reply =
        CUVIS_AI__V1__GET_PROFILING_SUMMARY_RESPONSE__INIT;
    size_t n = plumb_control_rows_count(rows);
    CuvisAi__V1__NodeProfilingStats *stats = calloc(n + 1, sizeof *stats);
    reply.node_stats = calloc(n + 1, sizeof(void *));
    reply.n_node_stats = n;
    for (size_t i = 0; stats && reply.node_stats && i < n; i++) {
        fill(&stats[i], plumb_control_rows_get(rows, i));
        reply.node_stats[i] = &stats[i];
    }
    if (stats && reply.node_stats)
        serve_call_send(c, &reply.base);
    else
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
    free(reply.node_stats);
    free(stats);
}

static void get_profiling_summary(struct serve_call *c, const void *message)
{
    const get_request *r = message;
    struct serve_rows result = {phase_of(r), NULL};
    plumb_error err = {0, ""};
    bool found;
    int rc = serve_grpc_run(c, r->session_id, SERVE_QUICK, true, serve_grpc_read_rows, &result,
                            &found, &err);
    if (rc == PLUMB_OK)
        reply_rows(c, result.rows);
    else
        fail(c, r->session_id, "GetProfilingSummary", rc, found, &err);
    plumb_control_rows_free(result.rows);
}

#define METHOD(name) "/cuvis_ai.v1.CuvisAIService/" name
static const struct serve_method methods[] = {
    {.path = METHOD("SetProfiling"),
     .role = SERVE_ROLE_CONTROL,
     .request = &cuvis_ai__v1__set_profiling_request__descriptor,
     .run = set_profiling},
    {.path = METHOD("GetProfilingSummary"),
     .role = SERVE_ROLE_READ,
     .request = &cuvis_ai__v1__get_profiling_summary_request__descriptor,
     .run = get_profiling_summary},
    {.path = NULL},
};
const struct serve_service serve_service_cuvis = {"cuvis_ai.v1.CuvisAIService", methods};
