/* from_run.c: what a run has measured, as metrics. docs/metrics.md lists them all.
 *
 * Stages are histograms. Their buckets are cut from those of the sketch, which has 64 an octave:
 * each sketch bucket lies in one of ours as a whole, so that counts are exact for times in ns, and
 * for ticks of the processor's counter off by less than the width of one sketch bucket (1.6 %). The
 * bounds are the same in every process, so that a server can add histograms up. Their number is
 * fixed, and not that of the buckets in use, because a series that appears later has no rate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats/sketch.h"
#include "codec/real_text.h"
#include "report/metrics/collection.h"
#include <plumb/stage.h>

enum { FIRST_OCTAVE = 13, OCTAVES = 24 /* 8 us to 137 s */ };

struct from {
    struct plumb_collection *c;
    const struct plumb_timing *t;
    const char *labels; /* of the process */
    char joined[2 * PLUMB_PROM_LABELS];
    /* Histogram of each node; NULL: none. A series moves when its set grows: then this is its old
     * place, which has the same arrays. */
    struct plumb_timing_metric **of_node;
};

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Returns the labels of the process and `own`. */
static const char *join(struct from *f, const char *own)
{
    snprintf(f->joined, sizeof f->joined, "%s%s%s", f->labels, *f->labels && *own ? "," : "", own);
    return f->joined;
}

static const char *with(struct from *f, const struct plumb_pair *pairs)
{
    char own[PLUMB_PROM_LABELS];
    plumb_prom_labels(own, pairs, PLUMB_METRIC_LABELS_MAX);
    return join(f, own);
}

static void put(struct from *f, uint32_t type, const char *name, const char *help,
                const struct plumb_pair *pairs, double value)
{
    struct plumb_timing_metric *m =
        plumb_collection_add(f->c, type, name, help, with(f, pairs), true);
    if (m)
        m->value = value;
}

/* ---- Histograms ------------------------------------------------------------------------------ */

static size_t fixed_bounds(struct plumb_arena *a, double **out, uint32_t per_octave)
{
    size_t n = (size_t)OCTAVES * per_octave + 1, k = 0;
    double *bound = plumb_arena_alloc(a, n * sizeof *bound);
    for (uint32_t o = 0; bound && o < OCTAVES; o++)
        for (uint32_t i = 0; i < per_octave; i++)
            bound[k++] =
                (double)(((uint64_t)(64 + 64 / per_octave * i) << (FIRST_OCTAVE - 6 + o)) - 1);
    if (!bound)
        return 0;
    bound[k++] = (double)((UINT64_C(64) << (FIRST_OCTAVE - 6 + OCTAVES)) - 1);
    *out = bound;
    return k;
}

/* The upper ends of the buckets in use: between the representatives of two neighbours, no sample is
 * above the end of its own. */
static size_t bounds_in_use(struct plumb_arena *a, double **out,
                            const struct plumb_timing_channel *ch)
{
    size_t n = ch->bucket_count;
    double *bound = plumb_arena_alloc(a, (n + 1) * sizeof *bound);
    for (size_t i = 0; bound && i < n; i++) {
        double end = ch->buckets[i].value * (1 + 1.0 / 128);
        double next = i + 1 < n ? (ch->buckets[i].value + ch->buckets[i + 1].value) / 2 : INFINITY;
        uint32_t index = plumb_sketch_index((uint64_t)(ch->buckets[i].value + 0.5));
        bool is_ns = plumb_sketch_value(index) == ch->buckets[i].value;
        bound[i] = is_ns ? (double)(plumb_sketch_lower(index + 1) - 1) : end < next ? end : next;
        if (i && bound[i] <= bound[i - 1])
            bound[i] = nextafter(bound[i - 1], INFINITY);
    }
    *out = bound;
    return bound ? n : 0;
}

static size_t bucket_of(const double *bound, size_t n, double ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bound[middle] < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Bounds are in ns until seconds() is called. */
static void fill(struct from *f, struct plumb_timing_metric *m,
                 const struct plumb_timing_channel *ch)
{
    struct plumb_arena *a = &f->c->arena;
    m->bound_count = f->c->per_octave ? fixed_bounds(a, &m->bounds, f->c->per_octave)
                                      : bounds_in_use(a, &m->bounds, ch);
    m->buckets = plumb_arena_alloc(a, (m->bound_count + 1) * sizeof *m->buckets);
    m->exemplars = plumb_arena_alloc(a, (m->bound_count + 1) * sizeof *m->exemplars);
    if (!m->buckets || !m->exemplars) {
        m->bound_count = 0;
        return;
    }
    if (ch->ns.count <= PLUMB_EXACT) {
        for (size_t i = 0; i < ch->ns.count; i++)
            m->buckets[bucket_of(m->bounds, m->bound_count, (double)ch->ns.first[i])]++;
    } else {
        for (size_t i = 0; i < ch->bucket_count; i++)
            m->buckets[bucket_of(m->bounds, m->bound_count, ch->buckets[i].value)] +=
                ch->buckets[i].count;
    }
    for (size_t i = 0; i <= m->bound_count; i++)
        m->count += m->buckets[i];
    m->sum = (double)ch->ns.total / 1e9;
}

static void seconds(struct plumb_timing_metric *m)
{
    for (size_t i = 0; i < m->bound_count; i++)
        m->bounds[i] /= 1e9;
}

/* ---- Stages and nodes ------------------------------------------------------------------------ */

static double open_runs(const struct plumb_timing *t, const struct plumb_timing_node *n)
{
    size_t open = 0;
    for (size_t i = 0; i < t->open_count; i++)
        open += plumb_timing_is_open(&t->open[i], n);
    return (double)open;
}

static void add_stage(struct from *f, size_t i)
{
    const struct plumb_timing_node *n = &f->t->nodes[i];
    struct plumb_pair pairs[] = {
        {"pipeline", n->pipeline}, {"phase", n->phase}, {"stage", n->name}, {NULL, NULL}};
    struct plumb_timing_metric *m = plumb_collection_add(
        f->c, PLUMB_METRIC_HISTOGRAM, "plumb_stage_duration_seconds",
        "Wall time of runs of the stage that ended without a failure", with(f, pairs), true);
    if (m)
        fill(f, m, &n->host);
    f->of_node[i] = m;
    put(f, PLUMB_METRIC_COUNTER, "plumb_stage_runs_total",
        "Runs of the stage that ended, failed and warm-up runs included", pairs,
        (double)(n->host.ns.count + n->skipped + n->failures));
    put(f, PLUMB_METRIC_COUNTER, "plumb_stage_errors_total", "Runs of the stage that failed", pairs,
        (double)n->failures);
    put(f, PLUMB_METRIC_GAUGE, "plumb_stage_open", "Runs of the stage that are open", pairs,
        open_runs(f->t, n));
    put(f, PLUMB_METRIC_COUNTER, "plumb_stage_self_seconds_total",
        "Wall time of the stage without the nodes inside it", pairs, (double)n->self_ns / 1e9);
    if (n->device.ns.count)
        put(f, PLUMB_METRIC_COUNTER, "plumb_stage_device_seconds_total",
            "Time on a device of work that the stage launched itself", pairs,
            (double)n->device.ns.total / 1e9);
    if (n->memory.peak_rss)
        put(f, PLUMB_METRIC_GAUGE, "plumb_stage_peak_resident_bytes",
            "Highest resident set of the process while the stage ran", pairs,
            (double)n->memory.peak_rss);
}

static void add_node(struct from *f, const struct plumb_timing_node *n)
{
    struct plumb_pair pairs[] = {
        {"pipeline", n->pipeline}, {"phase", n->phase}, {"node", n->name}, {NULL, NULL}};
    put(f, PLUMB_METRIC_COUNTER, "plumb_node_runs_total", "Runs of the node that ended", pairs,
        (double)(n->host.ns.count + n->skipped + n->failures));
    put(f, PLUMB_METRIC_COUNTER, "plumb_node_errors_total", "Runs of the node that failed", pairs,
        (double)n->failures);
    put(f, PLUMB_METRIC_COUNTER, "plumb_node_seconds_total", "Wall time of runs of the node", pairs,
        (double)n->host.ns.total / 1e9);
    if (n->device.ns.count)
        put(f, PLUMB_METRIC_COUNTER, "plumb_node_device_seconds_total",
            "Time on a device of work that the node launched itself", pairs,
            (double)n->device.ns.total / 1e9);
}

/* The newest run of each bucket that was made for a request: the runs are oldest first. */
static void add_exemplars(struct from *f)
{
    for (size_t i = 0; i < f->t->stage_run_count; i++) {
        const struct plumb_timing_stage_run *r = &f->t->stage_runs[i];
        struct plumb_timing_metric *m = r->node < f->t->node_count ? f->of_node[r->node] : NULL;
        if (!m || !m->bound_count || r->failed || r->request >= f->t->request_count)
            continue;
        size_t b = bucket_of(m->bounds, m->bound_count, (double)r->duration_ns);
        if (m->buckets[b])
            m->exemplars[b] = (struct plumb_timing_exemplar){
                f->t->requests[r->request].id, (double)r->duration_ns / 1e9,
                f->t->start_unix_ns + r->begin_ns + r->duration_ns};
    }
    for (size_t i = 0; i < f->t->node_count; i++)
        if (f->of_node[i])
            seconds(f->of_node[i]);
}

/* In the order in which they came up, so that a row that is there stays there. Stages first: their
 * place must not be taken by nodes. */
static void add_rows(struct from *f)
{
    size_t left = PLUMB_COLLECTION_ROWS, over = 0;
    for (int stages = 1; stages >= 0; stages--)
        for (size_t i = 0; i < f->t->node_count; i++) {
            const struct plumb_timing_node *n = &f->t->nodes[i];
            if (n->stage != (stages != 0))
                continue;
            if (left == 0)
                over++;
            else if (n->stage)
                add_stage(f, i);
            else
                add_node(f, n);
            left -= left > 0;
        }
    put(f, PLUMB_METRIC_GAUGE, "plumb_rows_left_out",
        "Stages and nodes that are not among these metrics, because there are too many", NULL,
        (double)over);
    add_exemplars(f);
}

/* ---- The run --------------------------------------------------------------------------------- */

static const char *or_none(const char *text)
{
    return text ? text : "";
}

static void add_process(struct from *f, bool recording)
{
    const struct plumb_timing *t = f->t;
    struct plumb_pair info[] = {{"pipeline", or_none(t->pipeline)},
                                {"host", or_none(t->host)},
                                {"version", or_none(t->plumb_version)},
                                {NULL, NULL}};
    put(f, PLUMB_METRIC_GAUGE, "plumb_process_info", "The recorded process; always 1", info, 1);
    put(f, PLUMB_METRIC_GAUGE, "plumb_recording", "1 while the run is open, otherwise 0", NULL,
        recording);
    put(f, PLUMB_METRIC_GAUGE, "plumb_start_time_seconds", "Unix time at which the run began", NULL,
        (double)t->start_unix_ns / 1e9);
    put(f, PLUMB_METRIC_GAUGE, "plumb_uptime_seconds", "How long the run has lasted", NULL,
        (double)t->wall_clock_ns / 1e9);
    put(f, PLUMB_METRIC_COUNTER, "plumb_spans_total", "Spans that have ended", NULL,
        (double)t->overhead.spans);
    put(f, PLUMB_METRIC_GAUGE, "plumb_open_spans", "Spans that are open", NULL,
        (double)t->open_count);
    put(f, PLUMB_METRIC_COUNTER, "plumb_lost_samples_total",
        "Samples that plumb could not count, for lack of memory", NULL,
        (double)t->drops.lost_state);
    put(f, PLUMB_METRIC_COUNTER, "plumb_own_cpu_seconds_total",
        "Processor time of plumb's own threads in the process", NULL,
        (double)t->overhead.threads_ns / 1e9);
    if (t->memory.rss)
        put(f, PLUMB_METRIC_GAUGE, "plumb_resident_bytes", "Resident set of the process", NULL,
            (double)t->memory.rss);
    if (t->memory.peak_rss)
        put(f, PLUMB_METRIC_GAUGE, "plumb_resident_peak_bytes",
            "Highest resident set of the process during the run", NULL, (double)t->memory.peak_rss);
}

static void add_pools(struct from *f)
{
    for (size_t i = 0; i < f->t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &f->t->memory.pools[i];
        struct plumb_pair pairs[] = {{"device", p->device}, {"pool", p->pool}, {NULL, NULL}};
        put(f, PLUMB_METRIC_GAUGE, "plumb_pool_allocated_bytes", "Bytes allocated from the pool",
            pairs, (double)p->allocated);
        put(f, PLUMB_METRIC_GAUGE, "plumb_pool_allocated_peak_bytes",
            "Most bytes that were allocated from the pool at one time", pairs,
            (double)p->peak_allocated);
        put(f, PLUMB_METRIC_GAUGE, "plumb_pool_reserved_bytes",
            "Bytes that the pool has reserved from its device", pairs, (double)p->reserved);
    }
}

/* ---- The program's metrics ------------------------------------------------------------------- */

/* Those that plumb keeps in the program's registry (record/metrics). Any other name is one of the
 * program, also if a metric of add_process() or add_rows() has it: the two must not share a set,
 * where both would have the same labels. */
static bool is_ours(const char *name)
{
    static const char *const families[] = {"plumb_request", "plumb_queue_", "plumb_metrics_"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

static void add_metrics(struct from *f)
{
    for (size_t i = 0; i < f->t->metric_count; i++) {
        const struct plumb_timing_metric *from = &f->t->metrics[i];
        struct plumb_timing_metric *m, copy = *from;
        m = plumb_collection_add(f->c, from->type, from->name, from->help, join(f, from->labels),
                                 is_ours(from->name));
        if (!m)
            return;
        copy.name = m->name;
        copy.labels = m->labels;
        *m = copy; /* its arrays stay those of the run's report */
    }
}

void plumb_collection_add_run(struct plumb_collection *c, const struct plumb_timing *t,
                              const char *labels, bool recording)
{
    struct from *f = plumb_arena_alloc(&c->arena, sizeof *f);
    if (!f)
        return;
    *f = (struct from){.c = c, .t = t, .labels = labels};
    f->of_node = plumb_arena_alloc(&c->arena, (t->node_count + 1) * sizeof *f->of_node);
    if (!f->of_node)
        return;
    add_process(f, recording);
    add_rows(f);
    add_pools(f);
    add_metrics(f);
}
