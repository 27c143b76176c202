/* public_row.c: see public_row.h. */
#include "model/public_row.h"

void plumb_public_row(plumb_row *out, const struct plumb_timing_node *n, double std_ns)
{
    const struct plumb_stats *h = &n->host.ns, *d = &n->device.ns;
    out->count = h->count;
    out->skipped = n->skipped;
    out->failures = n->failures;
    out->mean_ms = plumb_stats_mean(h) / 1e6;
    out->std_ms = std_ns / 1e6;
    out->min_ms = h->count ? (double)h->min / 1e6 : 0;
    out->max_ms = (double)h->max / 1e6;
    out->total_ms = (double)h->total / 1e6;
    out->self_ms = (double)n->self_ns / 1e6;
    out->last_ms = (double)h->last / 1e6;
    out->median_ms = n->host.median_ns / 1e6;
    out->p50_ms = n->host.p50_ns / 1e6;
    out->p90_ms = n->host.p90_ns / 1e6;
    out->p95_ms = n->host.p95_ns / 1e6;
    out->p99_ms = n->host.p99_ns / 1e6;
    out->device_count = d->count;
    out->device_total_ms = (double)d->total / 1e6;
    out->device_mean_ms = plumb_stats_mean(d) / 1e6;
    out->device_min_ms = d->count ? (double)d->min / 1e6 : 0;
    out->device_max_ms = (double)d->max / 1e6;
    out->device_median_ms = n->device.median_ns / 1e6;
    out->threads = n->threads;
    out->median_estimator = n->median_estimator;
}
