/* figures.c: turns the states of a node, which are summed over threads and in ticks, into its row
 * of a report, in nanoseconds. */
#include <string.h>

#include "base/u128.h"
#include "live/read.h"
#include <plumb/summary.h>

/* Sets the sum of squares that matches total and deviation. It is not converted from ticks: the
 * rounding of the total would then appear as a deviation where there is none. */
static void set_squares(struct plumb_stats *s, double std_ns)
{
    double around_mean = std_ns * std_ns * (double)s->count;
    plumb_u128 of_mean = plumb_u128_over((plumb_u128)s->total * s->total + s->count - 1, s->count);
    plumb_u128 sq =
        plumb_u128_sum(of_mean, plumb_u128_of(around_mean < 0x1p127 ? around_mean : 0x1p127));
    s->sq_lo = (uint64_t)sq;
    s->sq_hi = (uint64_t)(sq >> 64);
}

/* `sq` stays in ticks. */
static void stats_to_ns(struct plumb_stats *s, const struct plumb_stats *ticks, double tick_ns)
{
    s->total = plumb_ticks_to_ns(ticks->total, tick_ns);
    s->min = plumb_ticks_to_ns(ticks->min, tick_ns);
    s->max = plumb_ticks_to_ns(ticks->max, tick_ns);
    s->last = plumb_ticks_to_ns(ticks->last, tick_ns);
    /* After rounding, the mean may lie a fraction of a ns outside minimum and maximum. */
    if (s->total / s->count == s->max && s->total % s->count)
        s->max++;
    if (s->total / s->count < s->min)
        s->min--;
    for (int i = 0; i < PLUMB_EXACT && ticks->count <= PLUMB_EXACT; i++)
        s->first[i] = plumb_ticks_to_ns(ticks->first[i], tick_ns);
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

/* The inputs of the figures of a row. */
struct figures {
    struct plumb_merge *m;
    const struct plumb_merge_row *row;
    double tick_ns;
    const struct plumb_anchor *end;
    bool squares;
};

static double unit_of(const struct figures *f, uint32_t channel)
{
    return channel % PLUMB_CHANNEL_FAR == PLUMB_CHANNEL_SPAN ? f->tick_ns : 1;
}

static void set_median(struct plumb_timing_channel *c, double above_p50_ns)
{
    c->median_ns = c->p50_ns;
    if (c->ns.count <= PLUMB_EXACT)
        c->median_ns = plumb_stats_median(&c->ns, NULL, 0);
    else if (c->ns.count % 2 == 0)
        c->median_ns += (above_p50_ns - c->p50_ns) / 2;
}

/* `out` is all zero. */
static void channel_to_ns(struct plumb_timing_channel *out, const struct figures *f,
                          uint32_t channel)
{
    const struct plumb_merge_channel *c = f->row->channel[channel];
    double q[PLUMB_QUANTILES], unit_ns = unit_of(f, channel);
    struct plumb_stats *ns = &out->ns;
    if (!c || !c->stats.count) {
        ns->min = UINT64_MAX;
        return;
    }
    *ns = c->stats;
    out->std_ns = plumb_stats_std(ns) * unit_ns;
    if (unit_ns != 1)
        stats_to_ns(ns, &c->stats, unit_ns);
    ns->last_at = plumb_live_unix_ns(f->m->view.h, f->end, f->tick_ns, c->stats.last_at);
    out->std_ns = within_range(out->std_ns, ns);
    if (unit_ns != 1 && f->squares)
        set_squares(ns, out->std_ns);
    if (ns->count > PLUMB_EXACT)
        memset(ns->first, 0, sizeof ns->first);
    plumb_merge_quantiles(c, q);
    for (int i = 0; i < PLUMB_QUANTILES; i++)
        q[i] = within(q[i] * unit_ns, ns);
    out->p50_ns = q[0];
    out->p90_ns = q[1];
    out->p95_ns = q[2];
    out->p99_ns = q[3];
    set_median(out, q[PLUMB_QUANTILES - 1]);
}

/* Two sorted lists in one; equal values become one bucket. NULL, and *n 0: out of memory. */
static struct plumb_bucket *join_buckets(struct plumb_merge *m, const struct plumb_bucket *a,
                                         size_t na, const struct plumb_bucket *b, size_t nb,
                                         size_t *n)
{
    size_t i = 0, k = 0;
    struct plumb_bucket *both = plumb_arena_alloc(m->arena, (na + nb) * sizeof *both);
    *n = 0;
    while (both && (i < na || k < nb)) {
        struct plumb_bucket next =
            k >= nb || (i < na && a[i].value <= b[k].value) ? a[i++] : b[k++];
        if (*n && both[*n - 1].value >= next.value)
            both[*n - 1].count += next.count;
        else
            both[(*n)++] = next;
    }
    return both;
}

/* The histogram of a host or a device: spans, samples measured elsewhere, and the long ones of
 * both. */
static struct plumb_bucket *buckets_of(const struct figures *f, bool device, size_t *n)
{
    struct plumb_bucket *all = NULL;
    *n = 0;
    for (uint32_t i = 0; i < PLUMB_CHANNELS; i++) {
        size_t more = 0;
        struct plumb_bucket *list =
            plumb_channel_is_device(i) == device
                ? plumb_merge_buckets(f->m, f->row->channel[i], unit_of(f, i), &more)
                : NULL;
        if (!more)
            continue;
        all = *n ? join_buckets(f->m, all, *n, list, more, n) : list;
        *n = *n ? *n : more;
    }
    return all;
}

/* The same for the figures. If several channels have samples, the quantiles come from the list of
 * all their buckets. */
static void figures_of(struct plumb_timing_channel *out, const struct figures *f, bool device)
{
    uint32_t channels = 0;
    out->ns.min = UINT64_MAX;
    for (uint32_t i = 0; i < PLUMB_CHANNELS; i++) {
        const struct plumb_merge_channel *c = f->row->channel[i];
        struct plumb_timing_channel one = {0};
        if (plumb_channel_is_device(i) != device || !c || !c->stats.count)
            continue;
        channel_to_ns(&one, f, i);
        if (channels++ == 0)
            *out = one;
        else
            plumb_stats_merge(&out->ns, &one.ns);
    }
    if (channels < 2)
        return;
    out->buckets = buckets_of(f, device, &out->bucket_count);
    out->p50_ns = plumb_stats_quantile(&out->ns, out->buckets, out->bucket_count, 0.50);
    out->p90_ns = plumb_stats_quantile(&out->ns, out->buckets, out->bucket_count, 0.90);
    out->p95_ns = plumb_stats_quantile(&out->ns, out->buckets, out->bucket_count, 0.95);
    out->p99_ns = plumb_stats_quantile(&out->ns, out->buckets, out->bucket_count, 0.99);
    out->median_ns = plumb_stats_median(&out->ns, out->buckets, out->bucket_count);
    out->std_ns = within_range(plumb_stats_std(&out->ns), &out->ns);
}

/* Sets the estimator that the host's median comes from. */
static void set_estimator(struct plumb_timing_node *out, const struct figures *f)
{
    const struct plumb_merge_p2 *p = &f->row->p2;
    if (out->host.ns.count <= PLUMB_EXACT) {
        out->median_estimator = out->host.ns.count ? PLUMB_MEDIAN_EXACT : PLUMB_MEDIAN_SKETCH;
    } else if (f->m->view.h->flags & PLUMB_LIVE_P2 && p->mixed) {
        out->median_why = p->mixed < PLUMB_MEDIAN_WHYS ? p->mixed : PLUMB_MEDIAN_WHY_NONE;
    } else if (f->m->view.h->flags & PLUMB_LIVE_P2) {
        out->host.median_ns =
            within(plumb_p2_median(&p->p2) * unit_of(f, p->channel), &out->host.ns);
        out->median_estimator = PLUMB_MEDIAN_P2;
    }
}

static void sites_of(struct plumb_timing_node *out, struct plumb_merge *m,
                     const struct plumb_live_node *n)
{
    size_t cap = 0;
    uint64_t off = n->site_off;
    for (int most = 64; off && most; most--) {
        const struct plumb_live_site *s = plumb_live_at(&m->view, off, sizeof *s);
        struct plumb_timing_site *grown;
        if (!s || !(grown = plumb_arena_grow(m->arena, out->sites, &cap, out->site_count + 1,
                                             sizeof *grown)))
            return;
        out->sites = grown;
        out->sites[out->site_count++] =
            (struct plumb_timing_site){plumb_live_text(&m->view, s->file_off), s->line};
        off = s->next_off;
    }
}

void plumb_live_row_figures(struct plumb_timing_node *out, struct plumb_merge *m,
                            const struct plumb_merge_row *row, double tick_ns,
                            const struct plumb_anchor *end, bool squares)
{
    struct figures f = {m, row, tick_ns, end, squares};
    for (uint32_t i = PLUMB_CHANNEL_HOST_NS; i < PLUMB_CHANNELS; i++)
        f.squares |= row->channel[i] && i != PLUMB_CHANNEL_DEVICE_NS;
    memset(out, 0, sizeof *out);
    figures_of(&out->host, &f, false);
    figures_of(&out->device, &f, true);
    set_estimator(out, &f);
    out->self_ns = plumb_total_add(plumb_ticks_to_ns(row->self_ticks, tick_ns), row->self_ns);
    out->outermost_ns = row->outer_ns;
    out->outermost_count = row->outer_count;
    out->device_skipped = row->skip[1].taken;
    out->device_within_ns = row->device_within_ns;
    out->skipped = row->skip[0].taken;
    if (!out->host.ns.count && !out->skipped)
        out->skipped = out->device_skipped;
    out->failures = row->failures;
    out->abandoned = row->abandoned;
    out->unbalanced = row->unbalanced;
    out->untraced = row->untraced;
    out->threads = row->threads > row->far_threads ? row->threads : row->far_threads;
}

void plumb_live_row_identity(struct plumb_timing_node *out, struct plumb_merge *m,
                             const struct plumb_merge_row *row, double tick_ns)
{
    struct figures f = {.m = m, .row = row, .tick_ns = tick_ns};
    const struct plumb_live_node *n =
        plumb_live_element(&m->view, &m->view.h->nodes, row->node, sizeof(struct plumb_live_node));
    out->name = plumb_live_node_name(&m->view, row->node);
    out->pipeline = plumb_live_pipeline_name(&m->view, row->group >> 8);
    out->phase = plumb_live_phase_name(&m->view, row->group & 0xff);
    out->stage = n && PLUMB_LOAD(n->flags) & PLUMB_POINT_STAGE;
    if (m->live)
        return;
    out->last_failure = row->why_off ? plumb_live_text(&m->view, row->why_off) : NULL;
    if (!out->host.buckets)
        out->host.buckets = buckets_of(&f, false, &out->host.bucket_count);
    if (!out->device.buckets)
        out->device.buckets = buckets_of(&f, true, &out->device.bucket_count);
    if (n)
        sites_of(out, m, n);
}
