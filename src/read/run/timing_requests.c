/* timing_requests.c: `requests` and `stage_runs` of a timing report. Files from before there
 * were any have neither. */
#include <string.h>

#include "read/run/timing_parts.h"

static uint32_t read_state(struct plumb_timing_cursor *c, const struct plumb_json_value *object)
{
    const char *name = plumb_json_text(plumb_json_get(object, "state"));
    for (uint32_t i = PLUMB_TIMING_REQUEST_OPEN; name && i <= PLUMB_TIMING_REQUEST_FAILED; i++)
        if (strcmp(name, plumb_timing_request_state_name(i)) == 0)
            return i;
    plumb_field_fault(&c->f, "state", "is neither open, ended nor failed");
    return PLUMB_TIMING_REQUEST_OPEN;
}

static void read_stages(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                        struct plumb_timing_request *request)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "stages", sizeof *request->stages, &request->stages, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "stages", i);
        struct plumb_timing_request_stage *stage = &request->stages[i];
        stage->node = plumb_field_index(&c->f, v, "node", c->t->node_count, "nodes");
        stage->count = plumb_field_u64(&c->f, v, "count");
        stage->failures = plumb_field_u64(&c->f, v, "failures");
        stage->total_ns = plumb_field_u64(&c->f, v, "total_ns");
        stage->own_ns = plumb_field_u64(&c->f, v, "own_ns");
        stage->last_ns = plumb_field_u64(&c->f, v, "last_ns");
        if (plumb_json_get(v, "last_end_ns"))
            stage->last_end_ns = plumb_field_u64(&c->f, v, "last_end_ns");
        if (plumb_json_get(v, "exclusive_ns"))
            stage->exclusive_ns = plumb_field_u64(&c->f, v, "exclusive_ns");
        plumb_timing_read_device_use(c, v, &stage->use);
        plumb_timing_read_use(c, v, &stage->memory);
    }
    request->stage_count = n;
    plumb_field_end(&c->f);
}

/* Older files do not say: then all of it is accounted for. */
static void read_account(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                         struct plumb_timing_request *request)
{
    const struct plumb_json_value *gap;
    request->exclusive_ns = request->wall_ns;
    request->gap.after = request->gap.before = PLUMB_TIMING_NONE;
    if (!plumb_json_get(v, "exclusive_ns"))
        return;
    request->exclusive_ns = plumb_field_u64(&c->f, v, "exclusive_ns");
    gap = plumb_field_object(&c->f, v, "longest_gap");
    request->gap.ns = plumb_field_u64(&c->f, gap, "ns");
    request->gap.after = plumb_field_index_or_none(&c->f, gap, "after", c->t->node_count, "nodes");
    request->gap.before =
        plumb_field_index_or_none(&c->f, gap, "before", c->t->node_count, "nodes");
}

/* Older files have the clock of the day alone; their numbers are set by number_all(). */
static void read_place(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                       struct plumb_timing_request *request)
{
    uint64_t start = c->t->start_unix_ns;
    request->traceparent = plumb_field_text(&c->f, v, "traceparent");
    if (plumb_json_get(v, "number"))
        request->number = plumb_field_u64(&c->f, v, "number");
    if (plumb_json_get(v, "begin_ns"))
        request->begin_ns = plumb_field_u64(&c->f, v, "begin_ns");
    else
        request->begin_ns = request->begin_unix_ns > start ? request->begin_unix_ns - start : 0;
}

static void number_all(struct plumb_timing *t)
{
    for (size_t i = 0; i < t->request_count; i++)
        if (!t->requests[i].number)
            t->requests[i].number = t->requests_lost + i + 1;
    for (size_t i = 0; i < t->stage_run_count; i++)
        if (!t->stage_runs[i].number)
            t->stage_runs[i].number = t->stage_runs_lost + i + 1;
}

static void read_request(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                         struct plumb_timing_request *request)
{
    request->id = plumb_field_name(&c->f, v, "id");
    request->state = read_state(c, v);
    request->why = plumb_field_text(&c->f, v, "why");
    request->tid = plumb_field_u32(&c->f, v, "tid");
    request->records = plumb_field_u64(&c->f, v, "num_stages");
    request->begin_unix_ns = plumb_field_u64(&c->f, v, "begin_unix_ns");
    request->wall_ns = plumb_field_u64(&c->f, v, "wall_clock_ns");
    read_place(c, v, request);
    read_account(c, v, request);
    request->stages_ns = plumb_field_u64(&c->f, v, "total_stages_ns");
    plumb_timing_read_use(c, v, &request->memory);
    const struct plumb_json_value *metadata = plumb_field_object(&c->f, v, "metadata");
    struct plumb_field_place outer = plumb_field_down(&c->f, "metadata");
    plumb_timing_read_pairs(c, metadata, &request->metadata, &request->metadata_count);
    plumb_field_up(&c->f, outer);
    outer = plumb_field_down(&c->f, "");
    read_stages(c, v, request);
    plumb_field_up(&c->f, outer);
}

static void read_stage_runs(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "stage_runs", sizeof *t->stage_runs, &t->stage_runs, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "stage_runs", i);
        struct plumb_timing_stage_run *run = &t->stage_runs[i];
        run->node = plumb_field_index(&c->f, v, "node", t->node_count, "nodes");
        run->tid = plumb_field_u32(&c->f, v, "tid");
        run->depth = plumb_field_u32(&c->f, v, "depth");
        run->begin_ns = plumb_field_u64(&c->f, v, "begin_ns");
        run->duration_ns = plumb_field_u64(&c->f, v, "duration_ns");
        run->request = plumb_field_index_or_none(&c->f, v, "request", t->request_count, "requests");
        run->failed = plumb_field_bool(&c->f, v, "failed");
        run->within = plumb_field_index_or_none(&c->f, v, "within", t->node_count, "nodes");
        run->why = plumb_field_text(&c->f, v, "why");
        if (plumb_json_get(v, "number"))
            run->number = plumb_field_u64(&c->f, v, "number");
        if (plumb_json_get(v, "rss_bytes"))
            run->rss = plumb_field_u64(&c->f, v, "rss_bytes");
        if (plumb_json_get(v, "peak_rss_bytes"))
            run->peak_rss = plumb_field_u64(&c->f, v, "peak_rss_bytes");
    }
    t->stage_run_count = n;
    plumb_field_end(&c->f);
    t->stage_runs_lost = plumb_field_u64(&c->f, root, "stage_runs_lost");
}

void plumb_timing_read_requests(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    size_t n;
    if (plumb_json_get(root, "requests")) {
        const struct plumb_json_value *list =
            plumb_field_array(&c->f, root, "requests", sizeof *t->requests, &t->requests, &n);
        for (size_t i = 0; i < n && !c->f.failed; i++)
            read_request(c, plumb_field_entry(&c->f, list, "requests", i), &t->requests[i]);
        t->request_count = n;
        plumb_field_end(&c->f);
        t->requests_lost = plumb_field_u64(&c->f, root, "requests_lost");
    }
    if (plumb_json_get(root, "stage_runs"))
        read_stage_runs(c, root);
    if (!c->f.failed)
        number_all(t);
}
