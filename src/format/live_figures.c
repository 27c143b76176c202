/* live_figures.c: from the states of a node, added up over threads and in ticks, to its row of a
 * report in nanoseconds. */
#include <string.h>

#include "base/u128.h"
#include "format/live_read.h"

/* The sum of squares that goes with total and deviation. Not the converted sum of squares: the
 * rounding of the total would show in the difference of the two as a deviation where there is none.
 */
static void set_squares(struct plumb_stats *s, double std_ns)
{
    double around_mean = std_ns * std_ns * (double)s->count;
    plumb_u128 sq = plumb_u128_over((plumb_u128)s->total * s->total + s->count - 1, s->count) +
                    plumb_u128_of(around_mean);
    s->sq_lo = (uint64_t)sq;
    s->sq_hi = (uint64_t)(sq >> 64);
}

/* `sq` stays in ticks. */
static void stats_to_ns(struct plumb_stats *s, const struct plumb_stats *ticks, double tick_ns,
                        const struct plumb_anchor *end)
{
    s->total = plumb_ticks_to_ns(ticks->total, tick_ns);
    s->min = plumb_ticks_to_ns(ticks->min, tick_ns);
    s->max = plumb_ticks_to_ns(ticks->max, tick_ns);
    s->last = plumb_ticks_to_ns(ticks->last, tick_ns);
    /* Of rounded figures the mean can lie a fraction of a ns outside of them. */
    if (s->total / s->count == s->max && s->total % s->count)
        s->max++;
    if (s->total / s->count < s->min)
        s->min--;
    for (int i = 0; i < PLUMB_EXACT && ticks->count <= PLUMB_EXACT; i++)
        s->first[i] = plumb_ticks_to_ns(ticks->first[i], tick_ns);
    s->last_at = end->unix_ns - plumb_ticks_to_ns(end->ticks - ticks->last_at, tick_ns);
    if (ticks->last_at > end->ticks)
        s->last_at = end->unix_ns;
}

/* Minimum and maximum are rounded to ns; no quantile lies beyond them. */
static double within(double ns, const struct plumb_stats *s)
{
    return ns < (double)s->min ? (double)s->min : ns > (double)s->max ? (double)s->max : ns;
}

/* The same for the deviation: samples may differ by less than a ns. */
static double within_range(double std_ns, const struct plumb_stats *s)
{
    double range = (double)(s->max - s->min);
    return std_ns < range ? std_ns : range;
}

/* Into what is all zero. */
static void channel_to_ns(struct plumb_timing_channel *out, const struct plumb_merge_channel *c,
                          double unit_ns, double tick_ns, const struct plumb_anchor *end,
                          bool squares)
{
    double q[4];
    struct plumb_stats *ns = &out->ns;
    if (!c || !c->stats.count) {
        ns->min = UINT64_MAX;
        return;
    }
    *ns = c->stats;
    out->std_ns = plumb_stats_std(ns) * unit_ns;
    if (unit_ns != 1)
        stats_to_ns(ns, &c->stats, unit_ns, end);
    else
        ns->last_at = ns->last_at > end->ticks
                          ? end->unix_ns
                          : end->unix_ns - plumb_ticks_to_ns(end->ticks - ns->last_at, tick_ns);
    out->std_ns = within_range(out->std_ns, ns);
    if (unit_ns != 1 && squares)
        set_squares(ns, out->std_ns);
    if (ns->count > PLUMB_EXACT)
        memset(ns->first, 0, sizeof ns->first);
    plumb_merge_quantiles(c, q);
    for (int i = 0; i < 4; i++)
        q[i] = within(q[i] * unit_ns, ns);
    out->p50_ns = q[0];
    out->p90_ns = q[1];
    out->p95_ns = q[2];
    out->p99_ns = q[3];
    out->median_ns = ns->count <= PLUMB_EXACT ? plumb_stats_median(ns, NULL, 0) : out->p50_ns;
}

/* The host channel's histogram: spans, samples measured elsewhere, or both. */
static struct plumb_bucket *host_buckets(struct plumb_merge *m, const struct plumb_merge_row *row,
                                         double tick_ns, size_t *n)
{
    size_t na, nb, a = 0, b = 0;
    struct plumb_bucket *spans =
        plumb_merge_buckets(m, row->channel[PLUMB_CHANNEL_SPAN], tick_ns, &na);
    struct plumb_bucket *elsewhere =
        plumb_merge_buckets(m, row->channel[PLUMB_CHANNEL_HOST_NS], 1, &nb);
    struct plumb_bucket *both;
    *n = na + nb;
    if (!na || !nb)
        return na ? spans : elsewhere;
    both = plumb_arena_alloc(m->arena, *n * sizeof *both);
    for (size_t i = 0; both && i < *n; i++)
        both[i] = b >= nb || (a < na && spans[a].value <= elsewhere[b].value) ? spans[a++]
                                                                              : elsewhere[b++];
    *n = both ? *n : 0;
    return both;
}

/* The host channel of a node that has both spans and samples measured elsewhere. */
static void join_channels(struct plumb_timing_channel *to, const struct plumb_timing_channel *from,
                          struct plumb_merge *m, const struct plumb_merge_row *row, double tick_ns)
{
    plumb_stats_merge(&to->ns, &from->ns);
    to->buckets = host_buckets(m, row, tick_ns, &to->bucket_count);
    to->p50_ns = plumb_stats_quantile(&to->ns, to->buckets, to->bucket_count, 0.50);
    to->p90_ns = plumb_stats_quantile(&to->ns, to->buckets, to->bucket_count, 0.90);
    to->p95_ns = plumb_stats_quantile(&to->ns, to->buckets, to->bucket_count, 0.95);
    to->p99_ns = plumb_stats_quantile(&to->ns, to->buckets, to->bucket_count, 0.99);
    to->median_ns = plumb_stats_median(&to->ns, to->buckets, to->bucket_count);
    to->std_ns = plumb_stats_std(&to->ns);
}

static void sites_of(struct plumb_timing_node *out, struct plumb_merge *m,
                     const struct plumb_live_node *n)
{
    size_t cap = 0;
    uint64_t off = n->site_off;
    for (int most = 64; off && most; most--) {
        const struct plumb_live_site *s = plumb_merge_at(m, off, sizeof *s);
        struct plumb_timing_site *grown;
        if (!s || !(grown = plumb_arena_grow(m->arena, out->sites, &cap, out->site_count + 1,
                                             sizeof *grown)))
            return;
        out->sites = grown;
        out->sites[out->site_count++] =
            (struct plumb_timing_site){plumb_merge_text(m, s->file_off), s->line};
        off = s->next_off;
    }
}

void plumb_live_row_figures(struct plumb_timing_node *out, struct plumb_merge *m,
                            const struct plumb_merge_row *row, double tick_ns,
                            const struct plumb_anchor *end, bool squares)
{
    squares |= row->channel[PLUMB_CHANNEL_HOST_NS] != NULL;
    memset(out, 0, sizeof *out);
    channel_to_ns(&out->host, row->channel[PLUMB_CHANNEL_SPAN], tick_ns, tick_ns, end, squares);
    if (row->channel[PLUMB_CHANNEL_HOST_NS]) {
        struct plumb_timing_channel elsewhere = {0};
        channel_to_ns(&elsewhere, row->channel[PLUMB_CHANNEL_HOST_NS], 1, tick_ns, end, squares);
        if (out->host.ns.count)
            join_channels(&out->host, &elsewhere, m, row, tick_ns);
        else
            out->host = elsewhere;
    } else if (m->h->flags & PLUMB_LIVE_P2 && row->p2_threads == 1 && !row->p2_shared &&
               row->threads <= 1 && out->host.ns.count > PLUMB_EXACT) {
        out->host.median_ns = within(plumb_p2_median(&row->p2) * tick_ns, &out->host.ns);
        out->median_estimator = PLUMB_MEDIAN_P2;
    }
    if (out->host.ns.count && out->host.ns.count <= PLUMB_EXACT)
        out->median_estimator = PLUMB_MEDIAN_EXACT;
    channel_to_ns(&out->device, row->channel[PLUMB_CHANNEL_DEVICE_NS], 1, tick_ns, end, squares);
    out->self_ns = plumb_ticks_to_ns(row->self_ticks, tick_ns) + row->self_ns;
    out->outermost_ns = row->outer_ns;
    out->outermost_count = row->outer_count;
    out->skipped = row->skipped;
    out->failures = row->failures;
    out->abandoned = row->abandoned;
    out->unbalanced = row->unbalanced;
    out->untraced = row->untraced;
    out->threads = row->threads;
}

void plumb_live_row_identity(struct plumb_timing_node *out, struct plumb_merge *m,
                             const struct plumb_merge_row *row, double tick_ns)
{
    const struct plumb_live_node *n =
        plumb_merge_element(m, &m->h->nodes, row->node, sizeof(struct plumb_live_node));
    const struct plumb_live_pipeline *p = plumb_merge_element(m, &m->h->pipelines, row->group >> 8,
                                                              sizeof(struct plumb_live_pipeline));
    const struct plumb_live_name *ph =
        plumb_merge_element(m, &m->h->phases, row->group & 0xff, sizeof(struct plumb_live_name));
    out->name = plumb_merge_text(m, n ? n->name_off : 0);
    out->pipeline = plumb_merge_text(m, p ? p->name_off : 0);
    out->phase = plumb_merge_text(m, ph ? ph->name_off : 0);
    out->last_failure = row->why_off ? plumb_merge_text(m, row->why_off) : NULL;
    out->stage = n && n->flags & PLUMB_POINT_STAGE;
    if (!out->host.buckets)
        out->host.buckets = host_buckets(m, row, tick_ns, &out->host.bucket_count);
    out->device.buckets =
        plumb_merge_buckets(m, row->channel[PLUMB_CHANNEL_DEVICE_NS], 1, &out->device.bucket_count);
    if (n)
        sites_of(out, m, n);
}
