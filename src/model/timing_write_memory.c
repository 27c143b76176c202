/* timing_write_memory.c: `memory` of timing.json: of the run, of nodes, requests and checkpoints.
 * Exact in bytes, except the analysis of the checkpoints, whose old names want MiB. Any thread. */
#include <stdio.h>
#include <string.h>

#include "model/timing_memory.h"
#include "model/timing_parts.h"
#include "model/timing_section.h"

void plumb_timing_write_mib(struct plumb_json *j, const struct plumb_timing_bytes *b)
{
    plumb_put_mib(j, "allocated_mb", (double)b->allocated);
    plumb_put_mib(j, "reserved_mb", (double)b->reserved);
    plumb_put_mib(j, "peak_allocated_mb", (double)b->peak_allocated);
    plumb_put_mib(j, "peak_reserved_mb", (double)b->peak_reserved);
}

/* Which pool, by its place in `memory`.`pools`, with its names for those who read. */
static void put_pool(const struct plumb_timing *t, struct plumb_json *j, uint32_t pool)
{
    bool known = pool < t->memory.pool_count;
    plumb_put_index(j, "index", pool);
    plumb_put_text(j, "device", known ? t->memory.pools[pool].device : NULL);
    plumb_put_text(j, "pool", known ? t->memory.pools[pool].pool : NULL);
}

void plumb_timing_write_use(const struct plumb_timing *t, struct plumb_json *j,
                            const struct plumb_timing_memory *m)
{
    plumb_put_object(j, "memory");
    if (plumb_timing_measured(m)) {
        plumb_put_u64(j, "samples", m->samples);
        plumb_put_u64(j, "rss_bytes", m->rss);
        plumb_put_u64(j, "peak_rss_bytes", m->peak_rss);
        plumb_put_i64(j, "growth_bytes", m->growth);
        plumb_put_bool(j, "peak_exact", m->peak_exact);
        plumb_put_u64(j, "reset_peak", m->reset_peak);
        plumb_put_array(j, "pools");
        for (size_t i = 0; i < m->use_count; i++) {
            plumb_json_object_inline(j);
            put_pool(t, j, m->uses[i].pool);
            plumb_put_u64(j, "allocated_bytes", m->uses[i].allocated);
            plumb_put_u64(j, "reserved_bytes", m->uses[i].reserved);
            plumb_put_u64(j, "peak_allocated_bytes", m->uses[i].peak_allocated);
            plumb_put_u64(j, "peak_reserved_bytes", m->uses[i].peak_reserved);
            plumb_json_object_end(j);
        }
        plumb_json_array_end(j);
    }
    plumb_json_object_end(j);
}

/* ---- Analysis of the checkpoints ------------------------------------------------------------- */

static void put_mb_gb(struct plumb_json *j, const char *what, bool known, double bytes)
{
    char key[64];
    for (int gb = 0; gb < 2; gb++) {
        snprintf(key, sizeof key, "%s_%s", what, gb ? "gb" : "mb");
        if (known)
            plumb_put_mib(j, key, gb ? bytes / 1024 : bytes);
        else
            plumb_put_null(j, key);
    }
}

static void write_snapshot(const struct plumb_timing *t, struct plumb_json *j,
                           const struct plumb_timing_checkpoint *c)
{
    struct plumb_timing_bytes bytes = plumb_timing_checkpoint_bytes(t, c);
    plumb_timing_write_mib(j, &bytes);
    if (c->memory.samples > 0) {
        plumb_put_mib(j, "rss_mb", (double)c->memory.rss);
        plumb_put_mib(j, "peak_rss_mb", (double)c->memory.peak_rss);
    }
}

static void write_named(const struct plumb_timing *t, struct plumb_json *j, const char *key,
                        const struct plumb_timing_checkpoint *c)
{
    if (!c) {
        plumb_put_null(j, key);
        return;
    }
    plumb_put_object(j, key);
    plumb_put_text(j, "name", c->name);
    write_snapshot(t, j, c);
    plumb_json_object_end(j);
}

/* A later checkpoint of a name takes the place of an earlier one. */
static bool is_replaced(const struct plumb_timing *t, size_t i)
{
    const struct plumb_timing_checkpoint *c = t->memory.checkpoints;
    for (size_t k = i + 1; k < t->memory.checkpoint_count; k++)
        if (c[k].request == c[i].request && strcmp(c[k].name, c[i].name) == 0)
            return true;
    return false;
}

static void write_snapshots(const struct plumb_timing *t, struct plumb_json *j, uint32_t request)
{
    plumb_put_object(j, "snapshots");
    for (size_t i = 0; i < t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &t->memory.checkpoints[i];
        if (c->request != request || is_replaced(t, i))
            continue;
        plumb_put_object(j, c->name);
        write_snapshot(t, j, c);
        plumb_json_object_end(j);
    }
    plumb_json_object_end(j);
}

/* The devices whose pools the figures are sums of. */
static void write_devices(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_json_key(j, "devices");
    plumb_json_array_inline(j);
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        bool seen = !plumb_timing_pool_counts(t, i);
        for (size_t k = 0; k < i && !seen; k++)
            seen = plumb_timing_pool_counts(t, k) &&
                   strcmp(t->memory.pools[k].device, t->memory.pools[i].device) == 0;
        if (!seen)
            plumb_json_str(j, t->memory.pools[i].device);
    }
    if (t->memory.pool_count == 0)
        plumb_json_str(j, "host");
    plumb_json_array_end(j);
}

void plumb_timing_write_analysis(const struct plumb_timing *t, struct plumb_json *j,
                                 uint32_t request)
{
    struct plumb_timing_analysis a;
    plumb_timing_analyse(&a, t, request);
    plumb_put_object(j, "analysis");
    if (a.peak) {
        write_devices(t, j);
        write_named(t, j, "peak", a.peak);
        put_mb_gb(j, "pool_overhead", true, (double)a.overhead);
        plumb_put_rounded(j, "pool_overhead_percent", a.overhead_percent, 2);
        put_mb_gb(j, "total_device_memory", a.total > 0, (double)a.total);
        put_mb_gb(j, "remaining_memory", a.total > 0, (double)a.remaining);
        write_snapshots(t, j, request);
        write_named(t, j, "baseline", a.baseline);
        put_mb_gb(j, "memory_increase", a.baseline != NULL, (double)a.increase);
    }
    plumb_json_object_end(j);
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static void write_owners(struct plumb_json *j, const struct plumb_timing_pool *pool)
{
    plumb_put_array(j, "owners");
    for (size_t i = 0; i < pool->owner_count; i++) {
        const struct plumb_timing_owner *owner = &pool->owners[i];
        plumb_json_object_inline(j);
        plumb_put_text(j, "pipeline", owner->pipeline);
        plumb_put_text(j, "phase", owner->phase);
        plumb_put_text(j, "node", owner->node);
        plumb_put_hex_if_needed(j, "node_hex", owner->node);
        plumb_put_u64(j, "allocs", owner->allocs);
        plumb_put_u64(j, "alloc_bytes", owner->alloc_bytes);
        plumb_put_u64(j, "frees", owner->frees);
        plumb_put_u64(j, "free_bytes", owner->free_bytes);
        plumb_put_u64(j, "at_peak_bytes", owner->at_peak);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_leaks(struct plumb_json *j, const struct plumb_timing_pool *pool)
{
    plumb_put_u64(j, "leaked_blocks", pool->leaked_blocks);
    plumb_put_u64(j, "leaked_bytes", pool->leaked_bytes);
    plumb_put_array(j, "leaks");
    for (size_t i = 0; i < pool->leak_count; i++) {
        const struct plumb_timing_block *block = &pool->leaks[i];
        plumb_json_object_inline(j);
        plumb_put_index(j, "owner", block->owner);
        plumb_put_text(j, "node",
                       block->owner < pool->owner_count ? pool->owners[block->owner].node : NULL);
        plumb_put_u64(j, "address", block->address);
        plumb_put_u64(j, "bytes", block->bytes);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_pool(struct plumb_json *j, const struct plumb_timing_pool *pool)
{
    double fragmentation = plumb_timing_fragmentation(pool);
    plumb_json_object(j);
    plumb_put_text(j, "device", pool->device);
    plumb_put_text(j, "pool", pool->pool);
    plumb_put_bool(j, "by_size", pool->by_size);
    plumb_put_u64(j, "total_bytes", pool->total);
    plumb_put_u64(j, "allocated_bytes", pool->allocated);
    plumb_put_u64(j, "reserved_bytes", pool->reserved);
    plumb_put_u64(j, "peak_allocated_bytes", pool->peak_allocated);
    plumb_put_u64(j, "peak_reserved_bytes", pool->peak_reserved);
    plumb_put_u64(j, "peak_at_ns", pool->peak_at_ns);
    plumb_put_u64(j, "allocated_at_peak_reserved_bytes", pool->allocated_at_reserved);
    plumb_put_rounded(
        j, "overhead_at_peak_percent",
        plumb_timing_overhead_percent(pool->allocated_at_reserved, pool->peak_reserved), 2);
    plumb_put_u64(j, "allocs", pool->allocs);
    plumb_put_u64(j, "alloc_bytes", pool->alloc_bytes);
    plumb_put_u64(j, "frees", pool->frees);
    plumb_put_u64(j, "free_bytes", pool->free_bytes);
    plumb_put_u64(j, "unknown_frees", pool->unknown_frees);
    plumb_put_u64(j, "untracked", pool->untracked);
    plumb_put_u64(j, "held_before_bytes", pool->held_before);
    plumb_put_u64(j, "free_reserved_bytes", pool->free_bytes_reserved);
    plumb_put_u64(j, "largest_free_bytes", pool->largest_free);
    if (fragmentation < 0)
        plumb_put_null(j, "fragmentation");
    else
        plumb_put_rounded(j, "fragmentation", fragmentation, 4);
    write_owners(j, pool);
    write_leaks(j, pool);
    plumb_json_object_end(j);
}

void plumb_timing_write_pools(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "pools");
    for (size_t i = 0; i < t->memory.pool_count; i++)
        write_pool(j, &t->memory.pools[i]);
    plumb_json_array_end(j);
}

/* ---- The run --------------------------------------------------------------------------------- */

void plumb_timing_write_checkpoints(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "checkpoints");
    for (size_t i = 0; i < t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &t->memory.checkpoints[i];
        plumb_json_object(j);
        plumb_put_text(j, "name", c->name);
        plumb_put_hex_if_needed(j, "name_hex", c->name);
        plumb_put_u64(j, "at_ns", c->at_ns);
        plumb_put_index(j, "request", c->request);
        plumb_put_bool(j, "baseline", c->baseline);
        plumb_timing_write_use(t, j, &c->memory);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_series(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "series");
    for (size_t i = 0; i < t->memory.series_count; i++) {
        const struct plumb_timing_series *series = &t->memory.series[i];
        plumb_json_object(j);
        put_pool(t, j, series->pool);
        plumb_json_key(j, "points");
        plumb_json_array_inline(j);
        for (size_t k = 0; k < series->point_count; k++) {
            plumb_json_array(j);
            plumb_put_integer(j, series->points[k].at_ns);
            plumb_put_integer(j, series->points[k].a);
            plumb_put_integer(j, series->points[k].b);
            plumb_json_array_end(j);
        }
        plumb_json_array_end(j);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

void plumb_timing_write_memory(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_object(j, "memory");
    plumb_put_u64(j, "rss_bytes", t->memory.rss);
    plumb_put_u64(j, "peak_rss_bytes", t->memory.peak_rss);
    plumb_put_u64(j, "total_bytes", t->memory.total);
    plumb_timing_write_analysis(t, j, plumb_timing_last_request(t));
    plumb_timing_write_checkpoints(t, j);
    plumb_timing_write_pools(t, j);
    write_series(t, j);
    plumb_json_object_end(j);
}
