/* timing_since.c: see timing_since.h. Any thread; no state. */
#include "read/run/timing_since.h"

#include <string.h>

#include "base/error.h"
#include "base/u128.h"
#include <plumb/summary.h>

static bool is_same(const struct plumb_timing_node *a, const struct plumb_timing_node *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->phase, b->phase) == 0 &&
           strcmp(a->pipeline, b->pipeline) == 0;
}

/* Rows keep their order, and new ones come after them: the search begins after the last one that
 * was found. */
static const struct plumb_timing_node *find(const struct plumb_timing *t,
                                            const struct plumb_timing_node *n, size_t *at)
{
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *o = &t->nodes[(*at + i) % t->node_count];
        if (is_same(o, n)) {
            *at = (*at + i + 1) % t->node_count;
            return o;
        }
    }
    return NULL;
}

/* Returns the bucket of `b` [n] that is nearest to a value, of those that hold samples still. */
static size_t nearest(const struct plumb_bucket *b, size_t n, size_t from, double value)
{
    size_t low = from, high = from;
    while (low > 0 && (b[low].value > value || !b[low].count))
        low--;
    while (high + 1 < n && (b[high].value < value || !b[high].count))
        high++;
    if (!b[low].count || (b[high].count && b[high].value - value < value - b[low].value))
        return high;
    return low;
}

/* A bucket has another value the second time: the rate of the clock is known better, and the value
 * of the first and of the last bucket is the minimum or the maximum. So what a bucket had is taken
 * off the nearest one that still has so many, which keeps the number of samples exact. */
static void subtract_buckets(struct plumb_timing_channel *out,
                             const struct plumb_timing_channel *newer,
                             const struct plumb_timing_channel *older)
{
    struct plumb_bucket *b = out->buckets;
    size_t n = newer->bucket_count, at = 0, kept = 0;
    memcpy(b, newer->buckets, n * sizeof *b);
    for (size_t o = 0; n && o < older->bucket_count; o++) {
        uint64_t had = older->buckets[o].count;
        while (had) {
            uint64_t part;
            at = nearest(b, n, at, older->buckets[o].value);
            part = had < b[at].count ? had : b[at].count;
            if (!part)
                break; /* more samples than before: it cannot be */
            b[at].count -= part;
            had -= part;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (b[i].count)
            b[kept++] = b[i];
    out->bucket_count = kept;
}

static void subtract_squares(struct plumb_stats *out, const struct plumb_stats *newer,
                             const struct plumb_stats *older)
{
    out->sq_lo = newer->sq_lo - older->sq_lo;
    out->sq_hi = newer->sq_hi - older->sq_hi - (newer->sq_lo < older->sq_lo);
}

/* A minimum or maximum that is new was measured in between. */
static void set_range(struct plumb_timing_channel *out, const struct plumb_timing_channel *newer,
                      const struct plumb_timing_channel *older)
{
    struct plumb_stats *s = &out->ns;
    s->min = UINT64_MAX;
    s->max = 0;
    if (!s->count || !out->bucket_count)
        return;
    s->min = (uint64_t)out->buckets[0].value;
    s->max = (uint64_t)(out->buckets[out->bucket_count - 1].value + 0.5);
    if (newer->ns.min < older->ns.min || s->min < newer->ns.min)
        s->min = newer->ns.min;
    if (newer->ns.max > older->ns.max || s->max > newer->ns.max)
        s->max = newer->ns.max;
    if (s->max < s->min)
        s->max = s->min;
}

static void subtract_channel(struct plumb_arena *a, struct plumb_timing_channel *out,
                             const struct plumb_timing_channel *newer,
                             const struct plumb_timing_channel *older)
{
    struct plumb_stats *s = &out->ns;
    *out = *newer;
    if (older->ns.count > newer->ns.count) /* reset */
        return;
    if (older->ns.count == 0)
        return;
    s->count = newer->ns.count - older->ns.count;
    s->total = newer->ns.total > older->ns.total ? newer->ns.total - older->ns.total : 0;
    out->bucket_count = 0;
    out->buckets = plumb_arena_alloc(a, (newer->bucket_count + 1) * sizeof *out->buckets);
    memset(s->first, 0, sizeof s->first);
    subtract_squares(s, &newer->ns, &older->ns);
    if (out->buckets)
        subtract_buckets(out, newer, older);
    set_range(out, newer, older);
    for (size_t i = 0, n = 0; s->count <= PLUMB_EXACT && i < out->bucket_count; i++) {
        for (uint64_t k = 0; k < out->buckets[i].count && n < PLUMB_EXACT; k++)
            s->first[n++] = (uint64_t)(out->buckets[i].value + 0.5);
    }
    out->p50_ns = plumb_stats_quantile(s, out->buckets, out->bucket_count, 0.5);
    out->p90_ns = plumb_stats_quantile(s, out->buckets, out->bucket_count, 0.9);
    out->p95_ns = plumb_stats_quantile(s, out->buckets, out->bucket_count, 0.95);
    out->p99_ns = plumb_stats_quantile(s, out->buckets, out->bucket_count, 0.99);
    out->median_ns = plumb_stats_median(s, out->buckets, out->bucket_count);
    out->std_ns = plumb_stats_std(s);
}

static uint64_t more(uint64_t newer, uint64_t older)
{
    return newer > older ? newer - older : 0;
}

static void subtract_row(struct plumb_arena *a, struct plumb_timing_node *out,
                         const struct plumb_timing_node *newer,
                         const struct plumb_timing_node *older)
{
    *out = *newer;
    if (!older || older->host.ns.count > newer->host.ns.count ||
        older->device.ns.count > newer->device.ns.count)
        return;
    subtract_channel(a, &out->host, &newer->host, &older->host);
    subtract_channel(a, &out->device, &newer->device, &older->device);
    if (out->median_estimator == PLUMB_MEDIAN_P2)
        out->median_estimator = PLUMB_MEDIAN_SKETCH;
    out->self_ns = more(newer->self_ns, older->self_ns);
    out->outermost_ns = more(newer->outermost_ns, older->outermost_ns);
    out->outermost_count = more(newer->outermost_count, older->outermost_count);
    out->skipped = more(newer->skipped, older->skipped);
    out->device_skipped = more(newer->device_skipped, older->device_skipped);
    out->device_within_ns = more(newer->device_within_ns, older->device_within_ns);
    out->failures = more(newer->failures, older->failures);
    out->abandoned = more(newer->abandoned, older->abandoned);
    out->unbalanced = more(newer->unbalanced, older->unbalanced);
    out->untraced = more(newer->untraced, older->untraced);
    out->use.launches = more(newer->use.launches, older->use.launches);
    out->use.works = more(newer->use.works, older->use.works);
    out->use.device_ns = more(newer->use.device_ns, older->use.device_ns);
    out->use.wait_count = more(newer->use.wait_count, older->use.wait_count);
    out->use.wait_ns = more(newer->use.wait_ns, older->use.wait_ns);
    out->use.waited_for = 0;
    out->sched.preempted_ns = more(newer->sched.preempted_ns, older->sched.preempted_ns);
    out->sched.blocked_ns = more(newer->sched.blocked_ns, older->sched.blocked_ns);
    out->sched.preemptions = more(newer->sched.preemptions, older->sched.preemptions);
    out->sched.blocks = more(newer->sched.blocks, older->sched.blocks);
    out->sched.migrations = more(newer->sched.migrations, older->sched.migrations);
    if (!out->failures)
        out->last_failure = NULL;
}

static bool has_any(const struct plumb_timing_node *n)
{
    return n->host.ns.count || n->device.ns.count || n->failures || n->abandoned ||
           n->use.launches || n->use.wait_count;
}

/* Copies the parts that belong to `newer`, which may be freed first. */
static void own_row(struct plumb_arena *a, struct plumb_timing_node *n)
{
    struct plumb_timing_channel *channel[] = {&n->host, &n->device};
    n->name = plumb_arena_strdup(a, n->name);
    n->phase = plumb_arena_strdup(a, n->phase);
    n->pipeline = plumb_arena_strdup(a, n->pipeline);
    n->last_failure = plumb_arena_strdup(a, n->last_failure);
    n->metric = NULL;
    n->sites = NULL;
    n->site_count = n->memory.use_count = 0;
    n->memory.uses = NULL;
    n->use.waits = NULL;
    n->use.waited_for = 0;
    for (int i = 0; i < 2; i++) {
        size_t bytes = channel[i]->bucket_count * sizeof *channel[i]->buckets;
        struct plumb_bucket *own = plumb_arena_alloc(a, bytes + 1);
        if (own && bytes)
            memcpy(own, channel[i]->buckets, bytes);
        channel[i]->buckets = own;
    }
}

static void head_of(struct plumb_timing *out, const struct plumb_timing *t)
{
    struct plumb_arena *a = &out->arena;
    out->plumb_version = plumb_arena_strdup(a, t->plumb_version);
    out->program = plumb_arena_strdup(a, t->program);
    out->command = plumb_arena_strdup(a, t->command);
    out->pipeline = plumb_arena_strdup(a, t->pipeline);
    out->host = plumb_arena_strdup(a, t->host);
    out->start_unix_ns = t->start_unix_ns;
    out->end_unix_ns = t->end_unix_ns;
    out->pid = t->pid;
    out->cpus = t->cpus;
    out->rank = t->rank;
    out->world_size = t->world_size;
    out->local_rank = t->local_rank;
    out->clock.drift_ppm = t->clock.drift_ppm;
    out->clock.tick_ns = t->clock.tick_ns;
    out->memory.rss = t->memory.rss;
    out->memory.peak_rss = t->memory.peak_rss;
    out->memory.total = t->memory.total;
}

int plumb_timing_since(struct plumb_timing *out, const struct plumb_timing *newer,
                       const struct plumb_timing *older, plumb_error *err)
{
    struct plumb_arena *a = &out->arena;
    size_t at = 0;
    head_of(out, newer);
    out->wall_clock_ns = more(newer->wall_clock_ns, older->wall_clock_ns);
    out->overhead.spans = more(newer->overhead.spans, older->overhead.spans);
    out->nodes = plumb_arena_alloc(a, (newer->node_count + 1) * sizeof *out->nodes);
    for (size_t i = 0; out->nodes && i < newer->node_count; i++) {
        struct plumb_timing_node *n = &out->nodes[out->node_count];
        subtract_row(a, n, &newer->nodes[i], find(older, &newer->nodes[i], &at));
        if (!has_any(n))
            continue;
        own_row(a, n);
        out->node_count++;
    }
    return a->failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a difference")
                     : PLUMB_OK;
}
