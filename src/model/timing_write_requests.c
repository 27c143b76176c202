/* timing_write_requests.c: `requests` and `stage_runs` of timing.json. Any thread. */
#include <string.h>

#include "model/timing_parts.h"

const char *plumb_timing_request_state_name(uint32_t state)
{
    switch (state) {
    case PLUMB_TIMING_REQUEST_ENDED:
        return "ended";
    case PLUMB_TIMING_REQUEST_FAILED:
        return "failed";
    default:
        return "open";
    }
}

static bool is_given_again(const struct plumb_timing_pair *pairs, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (strcmp(pairs[k].key, pairs[i].key) == 0)
            return true;
    return false;
}

void plumb_timing_write_pairs(struct plumb_json *j, const struct plumb_timing_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_given_again(pairs, n, i)) /* the last one counts */
            plumb_put_text(j, pairs[i].key, pairs[i].value);
}

static void put_node(const struct plumb_timing *t, struct plumb_json *j, uint32_t node)
{
    plumb_put_u64(j, "node", node);
    plumb_put_text(j, "name", node < t->node_count ? t->nodes[node].name : NULL);
}

static void write_stage(const struct plumb_timing *t, struct plumb_json *j,
                        const struct plumb_timing_request_stage *stage)
{
    plumb_json_object(j);
    put_node(t, j, stage->node);
    plumb_put_u64(j, "count", stage->count);
    plumb_put_u64(j, "failures", stage->failures);
    plumb_put_ms(j, "duration_ms", (double)stage->total_ns);
    plumb_put_u64(j, "total_ns", stage->total_ns);
    plumb_put_u64(j, "own_ns", stage->own_ns);
    plumb_put_u64(j, "last_ns", stage->last_ns);
    plumb_put_u64(j, "last_end_ns", stage->last_end_ns);
    plumb_put_u64(j, "exclusive_ns", stage->exclusive_ns);
    plumb_timing_write_device_use(t, j, &stage->use);
    plumb_timing_write_use(t, j, &stage->memory);
    plumb_json_object_end(j);
}

void plumb_timing_write_request(const struct plumb_timing *t, struct plumb_json *j,
                                const struct plumb_timing_request *request)
{
    plumb_json_object(j);
    plumb_put_text(j, "id", request->id);
    plumb_put_hex_if_needed(j, "id_hex", request->id);
    plumb_put_text(j, "state", plumb_timing_request_state_name(request->state));
    plumb_put_text(j, "why", request->why);
    plumb_put_u64(j, "number", request->number);
    plumb_put_u64(j, "tid", request->tid);
    plumb_put_time(j, "begin", request->begin_unix_ns);
    plumb_put_ms(j, "wall_clock_ms", (double)request->wall_ns);
    plumb_put_ms(j, "total_stages_ms", (double)request->stages_ns);
    plumb_put_u64(j, "num_stages", request->records);
    plumb_put_u64(j, "begin_ns", request->begin_ns);
    plumb_put_u64(j, "begin_unix_ns", request->begin_unix_ns);
    if (request->traceparent)
        plumb_put_text(j, "traceparent", request->traceparent);
    plumb_put_u64(j, "wall_clock_ns", request->wall_ns);
    plumb_put_u64(j, "total_stages_ns", request->stages_ns);
    plumb_put_u64(j, "exclusive_ns", request->exclusive_ns);
    plumb_put_u64(j, "unaccounted_ns", plumb_timing_unaccounted_ns(request));
    plumb_put_object(j, "longest_gap");
    plumb_put_u64(j, "ns", request->gap.ns);
    plumb_put_index(j, "after", request->gap.after);
    plumb_put_index(j, "before", request->gap.before);
    plumb_json_object_end(j);
    plumb_timing_write_use(t, j, &request->memory);
    plumb_put_object(j, "metadata");
    plumb_timing_write_pairs(j, request->metadata, request->metadata_count);
    plumb_json_object_end(j);
    plumb_put_array(j, "stages");
    for (size_t i = 0; i < request->stage_count; i++)
        write_stage(t, j, &request->stages[i]);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

/* One line each: there may be thousands. Fields with the usual value are left out. */
static void write_stage_run(struct plumb_json *j, const struct plumb_timing_stage_run *run)
{
    plumb_json_object_inline(j);
    plumb_put_u64(j, "node", run->node);
    plumb_put_u64(j, "tid", run->tid);
    plumb_put_u64(j, "depth", run->depth);
    plumb_put_u64(j, "begin_ns", run->begin_ns);
    plumb_put_u64(j, "duration_ns", run->duration_ns);
    if (run->request != PLUMB_TIMING_NONE)
        plumb_put_u64(j, "request", run->request);
    plumb_put_u64(j, "number", run->number);
    if (run->within != PLUMB_TIMING_NONE)
        plumb_put_u64(j, "within", run->within);
    if (run->failed)
        plumb_put_bool(j, "failed", true);
    if (run->why)
        plumb_put_text(j, "why", run->why);
    if (run->rss)
        plumb_put_u64(j, "rss_bytes", run->rss);
    if (run->peak_rss)
        plumb_put_u64(j, "peak_rss_bytes", run->peak_rss);
    plumb_json_object_end(j);
}

void plumb_timing_write_requests(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "requests");
    for (size_t i = 0; i < t->request_count; i++)
        plumb_timing_write_request(t, j, &t->requests[i]);
    plumb_json_array_end(j);
    plumb_put_u64(j, "requests_lost", t->requests_lost);
    plumb_put_array(j, "stage_runs");
    for (size_t i = 0; i < t->stage_run_count; i++)
        write_stage_run(j, &t->stage_runs[i]);
    plumb_json_array_end(j);
    plumb_put_u64(j, "stage_runs_lost", t->stage_runs_lost);
}
