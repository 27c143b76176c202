#include "report/metrics/summary.h"

static void write_row(struct plumb_json *j, const struct plumb_timing_node *n)
{
    bool any = n->host.ns.count > 0;
    plumb_json_object_inline(j);
    plumb_put_text(j, "pipeline", n->pipeline);
    plumb_put_text(j, "phase", n->phase);
    plumb_put_text(j, "node", n->name);
    plumb_put_bool(j, "stage", n->stage);
    plumb_put_u64(j, "count", n->host.ns.count);
    plumb_put_u64(j, "failures", n->failures);
    plumb_put_u64(j, "total_ns", n->host.ns.total);
    plumb_put_u64(j, "self_ns", n->self_ns);
    plumb_put_f64(j, "mean_ns", plumb_stats_mean(&n->host.ns));
    plumb_put_f64(j, "median_ns", n->host.median_ns);
    plumb_put_f64(j, "p95_ns", n->host.p95_ns);
    plumb_put_f64(j, "p99_ns", n->host.p99_ns);
    plumb_put_u64(j, "min_ns", any ? n->host.ns.min : 0);
    plumb_put_u64(j, "max_ns", n->host.ns.max);
    plumb_put_u64(j, "last_ns", n->host.ns.last);
    plumb_put_u64(j, "device_total_ns", n->device.ns.total);
    plumb_json_object_end(j);
}

void plumb_metrics_write_summary(struct plumb_json *j, const struct plumb_timing *t, bool recording)
{
    plumb_json_object(j);
    plumb_put_u64(j, "pid", t->pid);
    plumb_put_text(j, "program", t->program);
    plumb_put_text(j, "pipeline", t->pipeline);
    plumb_put_text(j, "host", t->host);
    plumb_put_known(j, "rank", t->rank);
    plumb_put_bool(j, "recording", recording);
    plumb_put_time(j, "start", t->start_unix_ns);
    plumb_put_u64(j, "wall_clock_ns", t->wall_clock_ns);
    plumb_put_u64(j, "spans", t->overhead.spans);
    plumb_put_array(j, "rows");
    for (size_t i = 0; i < t->node_count; i++)
        write_row(j, &t->nodes[i]);
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}
