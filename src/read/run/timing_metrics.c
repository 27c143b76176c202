/* timing_metrics.c: `metrics` of a timing report. Any thread. */
#include <string.h>

#include "read/run/timing_parts.h"
#include <plumb/metrics.h>

static uint32_t type_of(struct plumb_timing_cursor *c, const struct plumb_json_value *v)
{
    static const char *const names[] = {"counter", "gauge", "histogram", "summary"};
    const char *name = plumb_field_name(&c->f, v, "type");
    for (uint32_t i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return PLUMB_METRIC_COUNTER + i;
    plumb_field_fault(&c->f, "type", "is not a type of metric");
    return 0;
}

static void read_reals(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                       const char *key, double *out, size_t n)
{
    double *unused = NULL;
    size_t count = 0;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, key, sizeof *unused, &unused, &count);
    if (count != n)
        plumb_field_fault(&c->f, key, "has another number of values");
    for (size_t i = 0; i < n && !c->f.failed; i++)
        out[i] = plumb_json_as_real(plumb_json_at(list, i));
}

static void read_exemplars(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                           struct plumb_timing_metric *m)
{
    char *unused = NULL; /* the places are those of the buckets */
    size_t n = 0;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, v, "exemplars", sizeof *unused, &unused, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *e = plumb_json_at(list, i);
        uint32_t at = plumb_field_index(&c->f, e, "bucket", m->bound_count + 1, "buckets");
        struct plumb_timing_exemplar read = {plumb_field_name(&c->f, e, "request"),
                                             plumb_field_f64(&c->f, e, "value"),
                                             plumb_field_u64(&c->f, e, "unix_ns")};
        if (!c->f.failed)
            m->exemplars[at] = read;
    }
}

static void read_histogram(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                           struct plumb_timing_metric *m)
{
    size_t buckets = 0;
    const struct plumb_json_value *list;
    plumb_field_array(&c->f, v, "bounds", sizeof *m->bounds, &m->bounds, &m->bound_count);
    list = plumb_field_array(&c->f, v, "buckets", sizeof *m->buckets, &m->buckets, &buckets);
    if (buckets != m->bound_count + 1)
        plumb_field_fault(&c->f, "buckets", "are not one more than the bounds");
    m->exemplars = plumb_arena_alloc(&c->t->arena, buckets * sizeof *m->exemplars);
    if (c->f.failed || !m->exemplars)
        return;
    memset(m->exemplars, 0, buckets * sizeof *m->exemplars);
    read_reals(c, v, "bounds", m->bounds, m->bound_count);
    for (size_t i = 0; i < buckets && !c->f.failed; i++)
        m->buckets[i] = plumb_field_to_u64(&c->f, plumb_json_at(list, i), "buckets");
    read_exemplars(c, v, m);
}

static void read_metric(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                        struct plumb_timing_metric *m)
{
    m->name = plumb_field_name(&c->f, v, "name");
    m->type = type_of(c, v);
    m->labels = plumb_field_name(&c->f, v, "labels");
    m->help = plumb_field_text(&c->f, v, "help");
    if (m->type == PLUMB_METRIC_COUNTER || m->type == PLUMB_METRIC_GAUGE) {
        m->value = plumb_field_f64(&c->f, v, "value");
        return;
    }
    m->count = plumb_field_u64(&c->f, v, "count");
    m->sum = plumb_field_f64(&c->f, v, "sum");
    if (m->type == PLUMB_METRIC_HISTOGRAM)
        read_histogram(c, v, m);
    else if (m->count)
        read_reals(c, v, "quantiles", m->quantile, sizeof m->quantile / sizeof *m->quantile);
}

void plumb_timing_read_metrics(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list;
    if (!plumb_json_get(root, "metrics"))
        return;
    list = plumb_field_array(&c->f, root, "metrics", sizeof *t->metrics, &t->metrics,
                             &t->metric_count);
    for (size_t i = 0; i < t->metric_count && !c->f.failed; i++)
        read_metric(c, plumb_field_entry(&c->f, list, "metrics", i), &t->metrics[i]);
    plumb_field_end(&c->f);
    t->metrics_lost = plumb_field_u64(&c->f, root, "metrics_lost");
}
