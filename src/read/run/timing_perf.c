/* timing_perf.c: `perf` of a timing report: counters of stages and kernels. Any thread. */
#include <string.h>

#include "read/run/timing_parts.h"

static uint32_t counter_of(const char *name)
{
    for (uint32_t i = 0; name && i < PLUMB_PERF_COUNTERS; i++)
        if (strcmp(name, plumb_perf_name(i)) == 0)
            return i;
    return PLUMB_PERF_COUNTERS; /* of a newer plumb */
}

static uint32_t state_of(const char *name)
{
    for (uint32_t i = PLUMB_COUNTER_THERE; name && i < PLUMB_COUNTER_STATES; i++)
        if (strcmp(name, plumb_timing_counter_state_name(i)) == 0)
            return i;
    return PLUMB_COUNTER_UNASKED;
}

static void read_sources(struct plumb_timing_cursor *c, const struct plumb_json_value *perf)
{
    char *unused; /* the places are those of the numbers */
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, perf, "counters", sizeof *unused, &unused, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *v = plumb_field_entry(&c->f, list, "counters", i);
        uint32_t at = counter_of(plumb_field_name(&c->f, v, "name"));
        if (at == PLUMB_PERF_COUNTERS)
            continue;
        c->t->perf.state[at] = state_of(plumb_field_name(&c->f, v, "state"));
        c->t->perf.why[at] = plumb_field_text(&c->f, v, "why");
    }
    plumb_field_end(&c->f);
}

static void read_counter(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                         struct plumb_timing_counter *out, bool event)
{
    out->total = plumb_field_u64(&c->f, v, "total");
    out->runs = plumb_field_u64(&c->f, v, "runs");
    if (!event)
        return;
    out->scaled = plumb_field_u64(&c->f, v, "scaled");
    out->enabled_ns = plumb_field_u64(&c->f, v, "enabled_ns");
    out->running_ns = plumb_field_u64(&c->f, v, "running_ns");
}

static void read_row(struct plumb_timing_cursor *c, const struct plumb_json_value *v,
                     struct plumb_timing_counted *out, bool kernel)
{
    const struct plumb_json_value *counters = plumb_field_object(&c->f, v, "counters");
    out->kernel = kernel ? plumb_field_name(&c->f, v, "kernel") : NULL;
    out->node = plumb_field_index_or_none(&c->f, v, "node", c->t->node_count, "nodes");
    out->runs = plumb_field_u64(&c->f, v, "runs");
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS && !c->f.failed; i++)
        if (plumb_json_get(counters, plumb_perf_name(i)))
            read_counter(c, plumb_field_object(&c->f, counters, plumb_perf_name(i)),
                         &out->counter[i], i >= PLUMB_PERF_FIRST_EVENT);
}

static void read_rows(struct plumb_timing_cursor *c, const struct plumb_json_value *perf,
                      const char *key, struct plumb_timing_counted **rows, size_t *count)
{
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, perf, key, sizeof **rows, rows, count);
    for (size_t i = 0; i < *count && !c->f.failed; i++)
        read_row(c, plumb_field_entry(&c->f, list, key, i), &(*rows)[i],
                 strcmp(key, "kernels") == 0);
    plumb_field_end(&c->f);
}

void plumb_timing_read_perf(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing_counted *stages = NULL, *kernels = NULL, *all;
    size_t n = 0, m = 0;
    const struct plumb_json_value *perf = plumb_json_get(root, "perf");
    if (!perf)
        return;
    perf = plumb_field_object(&c->f, root, "perf");
    c->t->perf.on = true;
    c->t->perf.threads_refused = plumb_field_u64(&c->f, perf, "threads_refused");
    read_sources(c, perf);
    read_rows(c, perf, "stages", &stages, &n);
    read_rows(c, perf, "kernels", &kernels, &m);
    all = plumb_arena_alloc(&c->t->arena, (n + m + 1) * sizeof *all);
    if (!all || c->f.failed)
        return;
    if (n)
        memcpy(all, stages, n * sizeof *all);
    if (m)
        memcpy(all + n, kernels, m * sizeof *all);
    c->t->perf.rows = all;
    c->t->perf.row_count = n + m;
}
