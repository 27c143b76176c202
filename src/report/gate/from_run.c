/* from_run.c: the values of a recording. A row gives one value of each metric, so that recordings
 * are the samples: two runs of a node within one process share what that process was given. */
#include <string.h>

#include "base/error.h"
#include "report/counts.h"
#include "report/gate/take.h"

struct taking {
    struct plumb_gate_case *g;
    struct plumb_gate_source *source;
    const struct plumb_timing *t;
};

static const char *copy(struct taking *k, const char *text)
{
    const char *own = plumb_arena_strdup(&k->g->arena, text ? text : "");
    return own ? own : "";
}

/* The pipeline that has the program's name is the same in two programs. */
static const char *pipeline_of(struct taking *k, const char *pipeline)
{
    return k->t->pipeline && strcmp(pipeline, k->t->pipeline) == 0 ? "" : copy(k, pipeline);
}

static struct plumb_gate_value *put(struct taking *k, const char *metric,
                                    const struct plumb_timing_node *node)
{
    struct plumb_gate_value *v = plumb_gate_put(k->g, k->source, metric);
    if (!v)
        return NULL;
    v->of_run = !node;
    if (node) {
        v->pipeline = pipeline_of(k, node->pipeline);
        v->phase = copy(k, node->phase);
        v->node = copy(k, node->name);
    }
    return v;
}

static struct plumb_gate_value *put_time(struct taking *k, const char *metric,
                                         const struct plumb_timing_node *node, double ns)
{
    struct plumb_gate_value *v = put(k, metric, node);
    if (v)
        plumb_gate_sample(k->g, v, ns);
    return v;
}

static void put_quantile(struct taking *k, const char *metric, const struct plumb_timing_node *node,
                         double ns)
{
    struct plumb_gate_value *v = put_time(k, metric, node, ns);
    if (v)
        v->resolution = plumb_stats_resolution(&node->host.ns);
}

static void put_whole(struct taking *k, const char *metric, const struct plumb_timing_node *node,
                      uint64_t value, const char *name)
{
    struct plumb_gate_value *v = put(k, metric, node);
    if (!v)
        return;
    v->exact = value <= INT64_MAX ? (int64_t)value : INT64_MAX;
    v->name = copy(k, name);
}

/* ---- Times ----------------------------------------------------------------------------------- */

static void take_times(struct taking *k, const struct plumb_timing_node *node)
{
    const struct plumb_stats *s = &node->host.ns;
    put_whole(k, "runs", node,
              s->count + node->skipped + node->failures + node->abandoned + node->unbalanced, "");
    if (s->count > 0) {
        put_quantile(k, "time", node, node->host.median_ns);
        put_time(k, "mean", node, plumb_stats_mean(s));
        put_time(k, "min", node, (double)s->min);
        put_time(k, "max", node, (double)s->max);
        put_quantile(k, "p95", node, node->host.p95_ns);
        put_quantile(k, "p99", node, node->host.p99_ns);
        put_time(k, "total", node, (double)s->total);
        put_time(k, "self", node, (double)node->self_ns);
    }
    if (node->device.ns.count > 0)
        put_time(k, "device_time", node, plumb_stats_mean(&node->device.ns));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static const char *pool_name(struct taking *k, uint32_t pool)
{
    const struct plumb_timing_pool *p = &k->t->memory.pools[pool];
    const char *name =
        p->pool[0] ? plumb_arena_printf(&k->g->arena, "%s/%s", p->device, p->pool) : p->device;
    return name ? copy(k, name) : "";
}

static void take_memory(struct taking *k, const struct plumb_timing_node *node)
{
    const struct plumb_timing_memory *m = &node->memory;
    if (m->samples > 0)
        put_whole(k, "peak_rss", node, m->peak_rss, "");
    for (size_t i = 0; i < m->use_count; i++) {
        const struct plumb_timing_use *use = &m->uses[i];
        if (use->pool >= k->t->memory.pool_count)
            continue;
        put_whole(k, "peak_allocated", node, use->peak_allocated, pool_name(k, use->pool));
        put_whole(k, "peak_reserved", node, use->peak_reserved, pool_name(k, use->pool));
    }
}

static void take_run_memory(struct taking *k)
{
    if (k->t->memory.peak_rss > 0)
        put_whole(k, "peak_rss", NULL, k->t->memory.peak_rss, "");
    for (uint32_t i = 0; i < k->t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &k->t->memory.pools[i];
        put_whole(k, "peak_allocated", NULL, p->peak_allocated, pool_name(k, i));
        put_whole(k, "peak_reserved", NULL, p->peak_reserved, pool_name(k, i));
    }
}

/* ---- Counts ---------------------------------------------------------------------------------- */

static int take_counts(struct taking *k, plumb_error *err)
{
    struct plumb_count_rows rows;
    int rc = plumb_count_rows_init(&rows, k->t, err);
    for (size_t i = 0; rc == PLUMB_OK && i < rows.count; i++) {
        const struct plumb_count_row *row = &rows.rows[i];
        const char *kind = plumb_count_kind_name(row->kind);
        struct plumb_gate_value *v = kind ? plumb_gate_put(k->g, k->source, kind) : NULL;
        if (!v)
            continue;
        v->pipeline = pipeline_of(k, row->pipeline);
        v->phase = copy(k, row->phase);
        v->node = copy(k, row->node);
        v->name = copy(k, row->name);
        v->step = row->step == PLUMB_COUNT_WHOLE_RUN ? PLUMB_GATE_WHOLE_RUN : row->step;
        v->exact = row->value;
        v->runs = row->runs;
    }
    plumb_count_rows_fini(&rows);
    return rc;
}

/* The names by which limits choose: devices, processor, host. */
static const char *machine_of(struct taking *k)
{
    struct plumb_buf text = {0};
    const char *own;
    for (size_t i = 0; i < k->t->runtime.gpu_count; i++)
        plumb_buf_printf(&text, "%s\n", k->t->runtime.gpus[i]);
    plumb_buf_printf(&text, "%s\n%s", k->t->cpu ? k->t->cpu : "", k->t->host ? k->t->host : "");
    own = copy(k, text.data);
    plumb_buf_fini(&text);
    return own;
}

static const char *list_of_calls(struct taking *k)
{
    for (size_t i = 0; i < k->t->env_count; i++)
        if (strcmp(k->t->env[i].key, "PLUMB_COUNT") == 0)
            return copy(k, k->t->env[i].value);
    return NULL;
}

int plumb_gate_take_run(struct plumb_gate_case *g, enum plumb_gate_side side,
                        const struct plumb_timing *t, const char *path, plumb_error *err)
{
    struct taking k = {g, plumb_gate_add(g, side, path), t};
    int rc = PLUMB_OK;
    if (k.source) {
        k.source->machine = machine_of(&k);
        k.source->calls = list_of_calls(&k);
        if (t->wall_clock_ns > 0)
            put_time(&k, "wall_clock", NULL, (double)t->wall_clock_ns);
        take_run_memory(&k);
        for (size_t i = 0; i < t->node_count; i++) {
            take_times(&k, &t->nodes[i]);
            take_memory(&k, &t->nodes[i]);
        }
        rc = take_counts(&k, err);
    }
    if (rc == PLUMB_OK && g->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the values of '%s'", path);
    return rc;
}
