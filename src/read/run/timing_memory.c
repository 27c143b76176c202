/* timing_memory.c: `memory` of a timing report, of the run and of its parts. Figures that
 * follow from others (the analysis, overheads, fragmentation) are not read: the writer makes them
 * again. */
#include "read/run/timing_parts.h"

/* ---- Of a node, a request or a checkpoint ---------------------------------------------------- */

static void read_uses(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                      struct plumb_timing_memory *out)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "pools", sizeof *out->uses, &out->uses, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "pools", i);
        struct plumb_timing_use *use = &out->uses[i];
        use->pool = plumb_field_index(&c->f, v, "index", c->t->memory.pool_count, "memory.pools");
        use->allocated = plumb_field_u64(&c->f, v, "allocated_bytes");
        use->reserved = plumb_field_u64(&c->f, v, "reserved_bytes");
        use->peak_allocated = plumb_field_u64(&c->f, v, "peak_allocated_bytes");
        use->peak_reserved = plumb_field_u64(&c->f, v, "peak_reserved_bytes");
    }
    out->use_count = n;
    plumb_field_end(&c->f);
}

void plumb_timing_read_use(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                           struct plumb_timing_memory *out)
{
    if (!plumb_json_get(object, "memory"))
        return;
    const struct plumb_json_value *v = plumb_field_object(&c->f, object, "memory");
    if (plumb_json_count(v) == 0)
        return;
    struct plumb_field_place outer = plumb_field_down(&c->f, "memory");
    out->samples = plumb_field_u64(&c->f, v, "samples");
    out->rss = plumb_field_u64(&c->f, v, "rss_bytes");
    out->peak_rss = plumb_field_u64(&c->f, v, "peak_rss_bytes");
    out->growth = plumb_field_i64(&c->f, v, "growth_bytes");
    out->peak_exact = plumb_field_bool(&c->f, v, "peak_exact");
    out->reset_peak = plumb_field_u32(&c->f, v, "reset_peak");
    read_uses(c, v, out);
    plumb_field_up(&c->f, outer);
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static void read_owners(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                        struct plumb_timing_pool *pool)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "owners", sizeof *pool->owners, &pool->owners, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "owners", i);
        struct plumb_timing_owner *owner = &pool->owners[i];
        owner->pipeline = plumb_field_name(&c->f, v, "pipeline");
        owner->phase = plumb_field_name(&c->f, v, "phase");
        owner->node = plumb_field_name(&c->f, v, "node");
        owner->allocs = plumb_field_u64(&c->f, v, "allocs");
        owner->alloc_bytes = plumb_field_u64(&c->f, v, "alloc_bytes");
        owner->frees = plumb_field_u64(&c->f, v, "frees");
        owner->free_bytes = plumb_field_u64(&c->f, v, "free_bytes");
        owner->at_peak = plumb_field_u64(&c->f, v, "at_peak_bytes");
    }
    pool->owner_count = n;
    plumb_field_end(&c->f);
}

static void read_leaks(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                       struct plumb_timing_pool *pool)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "leaks", sizeof *pool->leaks, &pool->leaks, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "leaks", i);
        pool->leaks[i].owner =
            plumb_field_index_or_none(&c->f, v, "owner", pool->owner_count, "owners");
        pool->leaks[i].address = plumb_field_u64(&c->f, v, "address");
        pool->leaks[i].bytes = plumb_field_u64(&c->f, v, "bytes");
    }
    pool->leak_count = n;
    plumb_field_end(&c->f);
    pool->leaked_blocks = plumb_field_u64(&c->f, object, "leaked_blocks");
    pool->leaked_bytes = plumb_field_u64(&c->f, object, "leaked_bytes");
}

static void read_pool(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                      struct plumb_timing_pool *pool)
{
    pool->device = plumb_field_name(&c->f, v, "device");
    pool->pool = plumb_field_name(&c->f, v, "pool");
    pool->by_size = plumb_field_bool(&c->f, v, "by_size");
    pool->total = plumb_field_u64(&c->f, v, "total_bytes");
    pool->allocated = plumb_field_u64(&c->f, v, "allocated_bytes");
    pool->reserved = plumb_field_u64(&c->f, v, "reserved_bytes");
    pool->peak_allocated = plumb_field_u64(&c->f, v, "peak_allocated_bytes");
    pool->peak_reserved = plumb_field_u64(&c->f, v, "peak_reserved_bytes");
    pool->peak_at_ns = plumb_field_u64(&c->f, v, "peak_at_ns");
    pool->allocated_at_reserved = plumb_field_u64(&c->f, v, "allocated_at_peak_reserved_bytes");
    pool->allocs = plumb_field_u64(&c->f, v, "allocs");
    pool->alloc_bytes = plumb_field_u64(&c->f, v, "alloc_bytes");
    pool->frees = plumb_field_u64(&c->f, v, "frees");
    pool->free_bytes = plumb_field_u64(&c->f, v, "free_bytes");
    pool->unknown_frees = plumb_field_u64(&c->f, v, "unknown_frees");
    pool->untracked = plumb_field_u64(&c->f, v, "untracked");
    pool->held_before = plumb_field_u64(&c->f, v, "held_before_bytes");
    pool->free_bytes_reserved = plumb_field_u64(&c->f, v, "free_reserved_bytes");
    pool->largest_free = plumb_field_u64(&c->f, v, "largest_free_bytes");
    struct plumb_field_place outer = plumb_field_down(&c->f, "");
    read_owners(c, v, pool);
    read_leaks(c, v, pool);
    plumb_field_up(&c->f, outer);
}

/* The object "memory" of the run; NULL in files that have none. */
static const struct plumb_json_value *memory_of(struct plumb_timing_cursor *c,
                                                const struct plumb_json_value *root)
{
    return plumb_json_get(root, "memory") ? plumb_field_object(&c->f, root, "memory") : NULL;
}

void plumb_timing_read_pools(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *v = memory_of(c, root);
    size_t n;
    if (!v || c->f.failed)
        return;
    struct plumb_field_place outer = plumb_field_down(&c->f, "memory");
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "pools", sizeof *t->memory.pools, &t->memory.pools, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++)
        read_pool(c, plumb_field_entry(&c->f, list, "pools", i), &t->memory.pools[i]);
    t->memory.pool_count = n;
    plumb_field_up(&c->f, outer);
}

/* ---- The run --------------------------------------------------------------------------------- */

static void read_checkpoints(struct plumb_timing_cursor *c, const struct plumb_json_value *memory)
{
    struct plumb_timing *t = c->t;
    size_t n;
    const struct plumb_json_value *list = plumb_field_array(
        &c->f, memory, "checkpoints", sizeof *t->memory.checkpoints, &t->memory.checkpoints, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "checkpoints", i);
        struct plumb_timing_checkpoint *checkpoint = &t->memory.checkpoints[i];
        checkpoint->name = plumb_field_name(&c->f, v, "name");
        checkpoint->at_ns = plumb_field_u64(&c->f, v, "at_ns");
        checkpoint->request =
            plumb_field_index_or_none(&c->f, v, "request", t->request_count, "requests");
        checkpoint->baseline = plumb_field_bool(&c->f, v, "baseline");
        plumb_timing_read_use(c, v, &checkpoint->memory);
    }
    t->memory.checkpoint_count = n;
    plumb_field_end(&c->f);
}

static void read_points(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                        struct plumb_timing_series *series)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "points", sizeof *series->points, &series->points, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *triple = plumb_json_at(list, i);
        struct plumb_timing_point *point = &series->points[i];
        point->at_ns = plumb_field_to_u64(&c->f, plumb_json_at(triple, 0), "points");
        point->a = plumb_field_to_u64(&c->f, plumb_json_at(triple, 1), "points");
        point->b = plumb_field_to_u64(&c->f, plumb_json_at(triple, 2), "points");
        if (plumb_json_count(triple) != 3)
            plumb_field_fault(&c->f, "points", "holds something that is not three numbers");
    }
    series->point_count = n;
}

static void read_series(struct plumb_timing_cursor *c, const struct plumb_json_value *memory)
{
    struct plumb_timing *t = c->t;
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, memory, "series", sizeof *t->memory.series, &t->memory.series, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "series", i);
        struct plumb_timing_series *series = &t->memory.series[i];
        series->pool =
            plumb_field_index_or_none(&c->f, v, "index", t->memory.pool_count, "memory.pools");
        read_points(c, v, series);
    }
    t->memory.series_count = n;
    plumb_field_end(&c->f);
}

void plumb_timing_read_memory(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *v = memory_of(c, root);
    if (!v || c->f.failed)
        return;
    struct plumb_field_place outer = plumb_field_down(&c->f, "memory");
    t->memory.rss = plumb_field_u64(&c->f, v, "rss_bytes");
    t->memory.peak_rss = plumb_field_u64(&c->f, v, "peak_rss_bytes");
    t->memory.total = plumb_field_u64(&c->f, v, "total_bytes");
    read_checkpoints(c, v);
    read_series(c, v);
    plumb_field_up(&c->f, outer);
}
