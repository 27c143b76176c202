/* timing_memory.c: see timing_memory.h. Sums of hostile sizes wrap round; nothing else depends on
 * them. */
#include "model/timing_memory.h"

#include <string.h>

bool plumb_timing_measured(const struct plumb_timing_memory *m)
{
    return m->samples > 0 || m->use_count > 0;
}

bool plumb_timing_pool_counts(const struct plumb_timing *t, size_t i)
{
    if (!t->memory.pools[i].by_size)
        return true;
    for (size_t k = 0; k < t->memory.pool_count; k++)
        if (!t->memory.pools[k].by_size)
            return false;
    return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct plumb_timing_bytes plumb_timing_bytes_of(const struct plumb_timing *t,
                                                const struct plumb_timing_memory *m)
{
    struct plumb_timing_bytes sum = {0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < m->use_count; i++) {
        const struct plumb_timing_use *use = &m->uses[i];
        if (use->pool >= t->memory.pool_count || !plumb_timing_pool_counts(t, use->pool))
            continue;
        sum.allocated += use->allocated;
        sum.reserved += use->reserved;
        sum.peak_allocated += use->peak_allocated;
        sum.peak_reserved += use->peak_reserved;
        sum.held += larger(use->reserved, use->allocated);
        sum.peak_held += larger(use->peak_reserved, use->peak_allocated);
    }
    return sum;
}

double plumb_timing_overhead_percent(uint64_t allocated, uint64_t reserved)
{
    return reserved > allocated ? 100.0 * (double)(reserved - allocated) / (double)reserved : 0;
}

double plumb_timing_fragmentation(const struct plumb_timing_pool *pool)
{
    if (pool->free_bytes_reserved == 0 || pool->largest_free > pool->free_bytes_reserved)
        return -1;
    return 1 - (double)pool->largest_free / (double)pool->free_bytes_reserved;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

struct plumb_timing_bytes plumb_timing_checkpoint_bytes(const struct plumb_timing *t,
                                                        const struct plumb_timing_checkpoint *c)
{
    const struct plumb_timing_memory *m = &c->memory;
    if (t->memory.pool_count > 0)
        return plumb_timing_bytes_of(t, m);
    return (struct plumb_timing_bytes){m->rss,      m->rss, m->peak_rss,
                                       m->peak_rss, m->rss, m->peak_rss};
}

/* Memory of the devices that hold pools which count, each device once. */
static uint64_t total_of(const struct plumb_timing *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *pool = &t->memory.pools[i];
        bool seen = !plumb_timing_pool_counts(t, i) || pool->total == 0;
        for (size_t k = 0; k < i && !seen; k++)
            seen = t->memory.pools[k].total > 0 && plumb_timing_pool_counts(t, k) &&
                   strcmp(t->memory.pools[k].device, pool->device) == 0;
        sum += seen ? 0 : pool->total;
    }
    return t->memory.pool_count > 0 ? sum : t->memory.total;
}

static void derive(struct plumb_timing_analysis *a)
{
    if (a->at_peak.reserved > a->at_peak.allocated)
        a->overhead = a->at_peak.reserved - a->at_peak.allocated;
    a->overhead_percent = plumb_timing_overhead_percent(a->at_peak.allocated, a->at_peak.reserved);
    if (a->total > 0)
        a->remaining = (int64_t)(a->total - a->at_peak.peak_held);
    if (a->baseline)
        a->increase = (int64_t)(a->at_peak.peak_held - a->at_baseline.held);
}

void plumb_timing_analyse(struct plumb_timing_analysis *out, const struct plumb_timing *t,
                          uint32_t request)
{
    memset(out, 0, sizeof *out);
    out->host = t->memory.pool_count == 0;
    for (size_t i = 0; i < t->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &t->memory.checkpoints[i];
        struct plumb_timing_bytes bytes = plumb_timing_checkpoint_bytes(t, c);
        bool inside = c->request == request;
        /* One taken before the first request serves them all; one of the section comes first. */
        if (c->baseline && (inside || (c->request == PLUMB_TIMING_NONE &&
                                       !(out->baseline && out->baseline->request == request)))) {
            out->baseline = c;
            out->at_baseline = bytes;
        }
        if (inside && (!out->peak || bytes.peak_held > out->at_peak.peak_held)) {
            out->peak = c;
            out->at_peak = bytes;
        }
    }
    out->total = total_of(t);
    if (out->peak)
        derive(out);
}
