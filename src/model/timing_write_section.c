/* timing_write_section.c: the top of timing.json: the names that reports of this kind always had,
 * of the last section. Compare tools of older reports read them, so they never change. Any thread.
 */
#include <string.h>

#include "model/timing_memory.h"
#include "model/timing_parts.h"
#include "model/timing_section.h"

static void write_pool_uses(const struct plumb_timing *t, struct plumb_json *j,
                            const struct plumb_timing_memory *m)
{
    plumb_put_array(j, "pools");
    for (size_t i = 0; i < m->use_count; i++) {
        const struct plumb_timing_use *use = &m->uses[i];
        struct plumb_timing_bytes bytes = {
            use->allocated, use->reserved, use->peak_allocated, use->peak_reserved, 0, 0};
        if (use->pool >= t->memory.pool_count)
            continue;
        plumb_json_object(j);
        plumb_put_text(j, "device", t->memory.pools[use->pool].device);
        plumb_put_text(j, "pool", t->memory.pools[use->pool].pool);
        plumb_timing_write_mib(j, &bytes);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_stage_memory(const struct plumb_timing *t, struct plumb_json *j,
                               const struct plumb_timing_memory *m)
{
    plumb_put_object(j, "memory");
    if (plumb_timing_measured(m)) {
        struct plumb_timing_bytes bytes = plumb_timing_bytes_of(t, m);
        plumb_timing_write_mib(j, &bytes);
        if (m->samples > 0) {
            plumb_put_mib(j, "rss_mb", (double)m->rss);
            plumb_put_mib(j, "peak_rss_mb", (double)m->peak_rss);
        }
        if (m->use_count > 1)
            write_pool_uses(t, j, m);
    }
    plumb_json_object_end(j);
}

static void write_stage(const struct plumb_timing *t, struct plumb_json *j,
                        const struct plumb_timing_stage *stage)
{
    plumb_put_object(j, stage->name);
    plumb_put_ms(j, "duration_ms", (double)stage->total_ns);
    plumb_put_rounded(j, "percentage", stage->percentage, 1);
    plumb_put_u64(j, "count", stage->count);
    write_stage_memory(t, j, &stage->memory);
    plumb_put_object(j, "parallel_info");
    plumb_json_object_end(j);
    if (stage->metric)
        plumb_put_text(j, "component_metric", stage->metric);
    plumb_json_object_end(j);
}

/* ---- metadata: the run's, and what the program says of its request --------------------------- */

static bool has(const struct plumb_timing_request *request, const char *key)
{
    for (size_t i = 0; request && i < request->metadata_count; i++)
        if (strcmp(request->metadata[i].key, key) == 0)
            return true;
    return false;
}

static void write_metadata(const struct plumb_timing *t, struct plumb_json *j,
                           const struct plumb_timing_request *request)
{
    plumb_put_object(j, "metadata");
    if (!has(request, "pipeline"))
        plumb_put_text(j, "pipeline", t->pipeline);
    if (!has(request, "program"))
        plumb_put_text(j, "program", t->program);
    if (!has(request, "command"))
        plumb_put_text(j, "command", t->command);
    if (!has(request, "pid"))
        plumb_put_u64(j, "pid", t->pid);
    if (request)
        plumb_timing_write_pairs(j, request->metadata, request->metadata_count);
    plumb_json_object_end(j);
}

/* The same of the run, where a request stands in its place. */
static void write_run(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_object(j, "run");
    plumb_put_text(j, "request_id", t->request_id);
    plumb_put_time(j, "timestamp", t->end_unix_ns);
    plumb_put_ms(j, "wall_clock_ms", (double)t->wall_clock_ns);
    plumb_put_text(j, "pipeline", t->pipeline);
    plumb_put_text(j, "program", t->program);
    plumb_put_text(j, "command", t->command);
    plumb_put_u64(j, "pid", t->pid);
    plumb_json_object_end(j);
}

int plumb_timing_write_section(const struct plumb_timing *t, struct plumb_json *j)
{
    struct plumb_timing_section s;
    int rc = plumb_timing_section_init(&s, t, plumb_timing_last_request(t), NULL);
    if (rc < 0)
        return rc;
    plumb_put_text(j, "request_id", s.id);
    plumb_put_time(j, "timestamp", s.end_unix_ns);
    plumb_put_ms(j, "wall_clock_ms", (double)s.wall_ns);
    plumb_put_ms(j, "total_stages_ms", (double)s.stages_ns);
    plumb_put_u64(j, "num_stages", s.records);
    plumb_put_object(j, "stages");
    for (size_t i = 0; i < s.stage_count; i++)
        write_stage(t, j, &s.stages[i]);
    plumb_json_object_end(j);
    write_metadata(t, j, s.request);
    write_run(t, j);
    plumb_timing_section_fini(&s);
    return PLUMB_OK;
}
