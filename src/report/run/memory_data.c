/* memory_data.c: `plumb report memory` for scripts: JSON with the names of timing.json, and one
 * CSV whose column `kind` says what a line is about. */
#include <math.h>
#include <stdlib.h>

#include "model/timing_memory.h"
#include "model/timing_parts.h"
#include "model/timing_section.h"
#include "report/run/memory_view.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_rows(struct plumb_json *j, const struct plumb_render_input *in,
                       const struct plumb_memory_row *rows, size_t n)
{
    size_t shown = plumb_memory_shown(in, n);
    plumb_put_array(j, "nodes");
    for (size_t i = 0; i < shown; i++) {
        plumb_json_object(j);
        plumb_put_text(j, "pipeline", rows[i].node->pipeline);
        plumb_put_text(j, "phase", rows[i].node->phase);
        plumb_put_text(j, "name", rows[i].node->name);
        plumb_put_hex_if_needed(j, "name_hex", rows[i].node->name);
        plumb_put_bool(j, "stage", rows[i].node->stage);
        plumb_timing_write_use(in->timing, j, rows[i].memory);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_put_u64(j, "nodes_not_shown", n - shown);
}

void plumb_render_memory_json(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_json json;
    struct plumb_json *j = &json;
    const struct plumb_timing *t = in->timing;
    struct plumb_memory_row *rows = NULL;
    size_t n = 0;
    if (plumb_memory_rows(&rows, &n, in, NULL) < 0) {
        out->failed = true;
        return;
    }
    plumb_json_init(j, out, 2);
    plumb_json_report(j, in);
    plumb_put_text(j, "request",
                   in->request == PLUMB_TIMING_NONE ? NULL : t->requests[in->request].id);
    write_rows(j, in, rows, n);
    plumb_put_object(j, "memory");
    plumb_put_u64(j, "rss_bytes", t->memory.rss);
    plumb_put_u64(j, "peak_rss_bytes", t->memory.peak_rss);
    plumb_put_u64(j, "total_bytes", t->memory.total);
    plumb_timing_write_analysis(
        t, j, in->request == PLUMB_TIMING_NONE ? plumb_timing_last_request(t) : in->request);
    plumb_timing_write_checkpoints(t, j);
    plumb_timing_write_pools(t, j);
    plumb_json_object_end(j);
    plumb_json_report_end(j, in);
    free(rows);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static const struct plumb_grid_column columns[] = {
    {"kind", NULL, PLUMB_GRID_TEXT, NULL}, /* node, pool, owner, checkpoint */
    {"pipeline", NULL, PLUMB_GRID_TEXT, NULL},
    {"phase", NULL, PLUMB_GRID_TEXT, NULL},
    {"name", NULL, PLUMB_GRID_TEXT, NULL},
    {"request", NULL, PLUMB_GRID_TEXT, NULL},
    {"at_ns", NULL, PLUMB_GRID_COUNT, NULL},
    {"samples", NULL, PLUMB_GRID_COUNT, NULL},
    {"rss_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"peak_rss_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"growth_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"peak_exact", NULL, PLUMB_GRID_FLAG, NULL},
    {"device", NULL, PLUMB_GRID_TEXT, NULL},
    {"pool", NULL, PLUMB_GRID_TEXT, NULL},
    {"allocated_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"reserved_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"peak_allocated_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"peak_reserved_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"overhead_at_peak_percent", NULL, PLUMB_GRID_PERCENT, NULL},
    {"fragmentation_percent", NULL, PLUMB_GRID_PERCENT, NULL},
    {"allocs", NULL, PLUMB_GRID_COUNT, NULL},
    {"alloc_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"frees", NULL, PLUMB_GRID_COUNT, NULL},
    {"free_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"leaked_blocks", NULL, PLUMB_GRID_COUNT, NULL},
    {"leaked_bytes", NULL, PLUMB_GRID_COUNT, NULL},
    {"at_peak_bytes", NULL, PLUMB_GRID_COUNT, NULL},
};

struct line { /* what it is about; NULL: not about such a thing */
    const char *kind, *pipeline, *phase, *name, *request;
    const uint64_t *at_ns;
    const struct plumb_timing_memory *memory;
    const struct plumb_timing_use *use;
    const struct plumb_timing_pool *pool;
    bool of_pool; /* the pool's own figures */
    const struct plumb_timing_owner *owner;
};

static void add_bytes(struct plumb_grid *g, const struct line *l)
{
    if (l->use) {
        plumb_grid_whole(g, l->use->allocated);
        plumb_grid_whole(g, l->use->reserved);
        plumb_grid_whole(g, l->use->peak_allocated);
        plumb_grid_whole(g, l->use->peak_reserved);
    } else if (l->of_pool) {
        plumb_grid_whole(g, l->pool->allocated);
        plumb_grid_whole(g, l->pool->reserved);
        plumb_grid_whole(g, l->pool->peak_allocated);
        plumb_grid_whole(g, l->pool->peak_reserved);
    } else {
        plumb_grid_nones(g, 4);
    }
}

static void add_calls(struct plumb_grid *g, const struct line *l)
{
    const struct plumb_timing_pool *pool = l->pool;
    if (l->owner) {
        plumb_grid_whole(g, l->owner->allocs);
        plumb_grid_whole(g, l->owner->alloc_bytes);
        plumb_grid_whole(g, l->owner->frees);
        plumb_grid_whole(g, l->owner->free_bytes);
        plumb_grid_nones(g, 2);
        plumb_grid_whole(g, l->owner->at_peak);
    } else if (l->of_pool) {
        plumb_grid_whole(g, pool->allocs);
        plumb_grid_whole(g, pool->alloc_bytes);
        plumb_grid_whole(g, pool->frees);
        plumb_grid_whole(g, pool->free_bytes);
        plumb_grid_whole(g, pool->leaked_blocks);
        plumb_grid_whole(g, pool->leaked_bytes);
        plumb_grid_none(g);
    } else {
        plumb_grid_nones(g, 7);
    }
}

static void add_line(struct plumb_grid *g, const struct line *l)
{
    double fragmentation = l->of_pool ? plumb_timing_fragmentation(l->pool) : -1;
    plumb_grid_text(g, l->kind);
    plumb_grid_text(g, l->pipeline);
    plumb_grid_text(g, l->phase);
    plumb_grid_text(g, l->name);
    plumb_grid_text(g, l->request);
    if (l->at_ns)
        plumb_grid_whole(g, *l->at_ns);
    else
        plumb_grid_none(g);
    plumb_memory_resident_cells(g, l->memory);
    plumb_grid_text(g, l->pool ? l->pool->device : NULL);
    plumb_grid_text(g, l->pool ? l->pool->pool : NULL);
    add_bytes(g, l);
    if (l->of_pool)
        plumb_grid_real(g, plumb_timing_overhead_percent(l->pool->allocated_at_reserved,
                                                         l->pool->peak_reserved));
    else
        plumb_grid_none(g);
    plumb_grid_real(g, fragmentation < 0 ? NAN : 100 * fragmentation);
    add_calls(g, l);
}

/* A line for each pool that was used, or one without any. */
static void add_measured(struct plumb_grid *g, const struct plumb_timing *t, struct line l)
{
    for (size_t i = 0; i == 0 || i < l.memory->use_count; i++) {
        l.use = i < l.memory->use_count ? &l.memory->uses[i] : NULL;
        if (l.use && l.use->pool >= t->memory.pool_count)
            l.use = NULL;
        l.pool = l.use ? &t->memory.pools[l.use->pool] : NULL;
        add_line(g, &l);
    }
}

static void add_pool(struct plumb_grid *g, const struct plumb_timing_pool *pool)
{
    add_line(g, &(struct line){
                    .kind = "pool", .at_ns = &pool->peak_at_ns, .pool = pool, .of_pool = true});
    for (size_t i = 0; i < pool->owner_count; i++)
        add_line(g, &(struct line){.kind = "owner",
                                   .pipeline = pool->owners[i].pipeline,
                                   .phase = pool->owners[i].phase,
                                   .name = pool->owners[i].node,
                                   .pool = pool,
                                   .owner = &pool->owners[i]});
}

static const char *request_id(const struct plumb_timing *t, uint32_t request)
{
    return request < t->request_count ? t->requests[request].id : NULL;
}

static void add_checkpoints(struct plumb_grid *g, const struct plumb_render_input *in)
{
    const struct plumb_timing *t = in->timing;
    for (size_t i = 0; i < t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &t->memory.checkpoints[i];
        if (in->request == PLUMB_TIMING_NONE || in->request == c->request)
            add_measured(g, t,
                         (struct line){.kind = "checkpoint",
                                       .name = c->name,
                                       .request = request_id(t, c->request),
                                       .at_ns = &c->at_ns,
                                       .memory = &c->memory});
    }
}

void plumb_render_memory_csv(const struct plumb_render_input *in, struct plumb_buf *out)
{
    const struct plumb_timing *t = in->timing;
    struct plumb_memory_row *rows = NULL;
    struct plumb_grid g;
    size_t n = 0;
    if (plumb_memory_rows(&rows, &n, in, NULL) < 0) {
        out->failed = true;
        return;
    }
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < plumb_memory_shown(in, n); i++)
        add_measured(&g, t,
                     (struct line){.kind = "node",
                                   .pipeline = rows[i].node->pipeline,
                                   .phase = rows[i].node->phase,
                                   .name = rows[i].node->name,
                                   .request = request_id(t, in->request),
                                   .memory = rows[i].memory});
    for (size_t i = 0; i < t->memory.pool_count; i++)
        add_pool(&g, &t->memory.pools[i]);
    add_checkpoints(&g, in);
    plumb_grid_csv(&g, out);
    plumb_grid_fini(&g);
    free(rows);
}
