/* timing_write_metrics.c: `metrics` of timing.json: counters, gauges, histograms, summaries of the
 * program. Any thread. */
#include "model/timing_parts.h"
#include <plumb/metrics.h>

const char *plumb_timing_metric_type_name(uint32_t type)
{
    static const char *const names[] = {NULL, "counter", "gauge", "histogram", "summary"};
    return type < sizeof names / sizeof *names ? names[type] : NULL;
}

static void write_exemplars(const struct plumb_timing_metric *m, struct plumb_json *j)
{
    plumb_put_array(j, "exemplars");
    for (size_t i = 0; i <= m->bound_count; i++) {
        const struct plumb_timing_exemplar *e = &m->exemplars[i];
        if (!e->request)
            continue;
        plumb_json_object_inline(j);
        plumb_put_u64(j, "bucket", i);
        plumb_put_text(j, "request", e->request);
        plumb_put_f64(j, "value", e->value);
        plumb_put_u64(j, "unix_ns", e->unix_ns);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_histogram(const struct plumb_timing_metric *m, struct plumb_json *j)
{
    plumb_json_key(j, "bounds");
    plumb_json_f64s(j, m->bounds, m->bound_count);
    plumb_json_key(j, "buckets");
    plumb_json_array_inline(j);
    for (size_t i = 0; i <= m->bound_count; i++)
        plumb_put_integer(j, m->buckets[i]);
    plumb_json_array_end(j);
    write_exemplars(m, j);
}

void plumb_timing_write_metrics(const struct plumb_timing *t, struct plumb_json *j)
{
    if (!t->metric_count)
        return;
    plumb_put_array(j, "metrics");
    for (size_t i = 0; i < t->metric_count; i++) {
        const struct plumb_timing_metric *m = &t->metrics[i];
        plumb_json_object(j);
        plumb_put_text(j, "name", m->name);
        plumb_put_text(j, "type", plumb_timing_metric_type_name(m->type));
        plumb_put_text(j, "labels", m->labels);
        plumb_put_text(j, "help", m->help);
        if (m->type == PLUMB_METRIC_COUNTER || m->type == PLUMB_METRIC_GAUGE)
            plumb_put_f64(j, "value", m->value);
        if (m->type >= PLUMB_METRIC_HISTOGRAM) {
            plumb_put_u64(j, "count", m->count);
            plumb_put_f64(j, "sum", m->sum);
        }
        if (m->type == PLUMB_METRIC_SUMMARY && m->count) {
            plumb_json_key(j, "quantiles");
            plumb_json_f64s(j, m->quantile, 4);
        }
        if (m->type == PLUMB_METRIC_HISTOGRAM)
            write_histogram(m, j);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_put_u64(j, "metrics_lost", t->metrics_lost);
}
