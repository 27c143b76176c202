/* timing.c: timing.json becomes the model again. Owns what counts as a sound report: every
 * field that merging and printing need is there and of its type, indices point at something,
 * histograms hold as many samples as they say. A file that fails one of these is refused with the
 * place of the fault, because half a report would be believed.
 *
 * Unknown fields are skipped: an older plumb reads what a newer one appended. Fields that came
 * later than the first files may be absent. Any thread, one model at a time. */
#include "read/run/timing.h"

#include <string.h>

#include "base/error.h"
#include "read/run/timing_parts.h"
#include <plumb/summary.h>

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void read_first(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                       struct plumb_stats *s)
{
    const struct plumb_json_value *v = plumb_json_get(object, "first_ns");
    size_t want = s->count <= PLUMB_EXACT ? (size_t)s->count : 0;
    if (plumb_json_count(v) != want) {
        plumb_field_fault(&c->f, "first_ns", "does not hold the samples that 'count' promises");
        return;
    }
    for (size_t i = 0; i < want; i++)
        s->first[i] = plumb_field_to_u64(&c->f, plumb_json_at(v, i), "first_ns");
}

static void read_sketch(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                        struct plumb_timing_channel *out)
{
    size_t n;
    uint64_t mass = 0;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "sketch", sizeof *out->buckets, &out->buckets, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *pair = plumb_json_at(list, i);
        const struct plumb_json_value *value = plumb_json_at(pair, 0);
        out->buckets[i].value = plumb_json_as_real(value);
        out->buckets[i].count = plumb_field_to_u64(&c->f, plumb_json_at(pair, 1), "sketch");
        if (!plumb_json_is_number(value) || plumb_json_count(pair) != 2)
            plumb_field_fault(&c->f, "sketch", "holds something that is not a pair of numbers");
        else if (i > 0 && out->buckets[i].value <= out->buckets[i - 1].value)
            plumb_field_fault(&c->f, "sketch", "is not in ascending order");
        mass += out->buckets[i].count;
    }
    out->bucket_count = n;
    if (mass != out->ns.count)
        plumb_field_fault(&c->f, "sketch", "does not hold as many samples as 'count' says");
}

static void read_channel(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                         struct plumb_timing_channel *out)
{
    struct plumb_stats *s = &out->ns;
    const struct plumb_json_value *squares = plumb_json_get(object, "sumsq_ns2");
    plumb_u128 sum = 0;
    plumb_stats_init(s);
    s->count = plumb_field_u64(&c->f, object, "count");
    s->total = plumb_field_u64(&c->f, object, "total_ns");
    if (!plumb_json_is(squares, PLUMB_JSON_IS_TEXT) ||
        !plumb_field_decimal(plumb_json_text(squares), &sum))
        plumb_field_fault(&c->f, "sumsq_ns2", "is not a string of decimal digits");
    s->sq_lo = (uint64_t)sum;
    s->sq_hi = (uint64_t)(sum >> 64);
    uint64_t min = plumb_field_u64(&c->f, object, "min_ns");
    s->min = s->count ? min : UINT64_MAX;
    s->max = plumb_field_u64(&c->f, object, "max_ns");
    s->last = plumb_field_u64(&c->f, object, "last_ns");
    s->last_at = plumb_field_u64(&c->f, object, "last_at_ns");
    if (s->count && s->min > s->max)
        plumb_field_fault(&c->f, "min_ns", "is larger than max_ns");
    if (s->count && s->max > s->total)
        plumb_field_fault(&c->f, "max_ns", "is larger than total_ns");
    out->median_ns = plumb_field_f64(&c->f, object, "median_ns");
    out->p50_ns = plumb_field_f64(&c->f, object, "p50_ns");
    out->p90_ns = plumb_field_f64(&c->f, object, "p90_ns");
    out->p95_ns = plumb_field_f64(&c->f, object, "p95_ns");
    out->p99_ns = plumb_field_f64(&c->f, object, "p99_ns");
    read_first(c, object, s);
    read_sketch(c, object, out);
}

static uint32_t get_estimator(struct plumb_timing_cursor *c, const struct plumb_json_value *object)
{
    const struct plumb_json_value *v = plumb_json_get(object, "median_estimator");
    const char *name = plumb_json_is(v, PLUMB_JSON_IS_TEXT) ? plumb_json_text(v) : "";
    for (uint32_t i = PLUMB_MEDIAN_SKETCH; i <= PLUMB_MEDIAN_EXACT; i++)
        if (strcmp(name, plumb_timing_estimator_name(i)) == 0)
            return i;
    plumb_field_fault(&c->f, "median_estimator", "is not one that this plumb knows");
    return PLUMB_MEDIAN_SKETCH;
}

/* Files of before have none. */
static uint32_t get_median_why(struct plumb_timing_cursor *c, const struct plumb_json_value *object)
{
    const struct plumb_json_value *v = plumb_json_get(object, "median_why");
    if (!v || plumb_json_is(v, PLUMB_JSON_IS_NULL))
        return PLUMB_MEDIAN_WHY_NONE;
    for (uint32_t i = PLUMB_MEDIAN_WHY_NONE + 1;
         i < PLUMB_MEDIAN_WHYS && plumb_json_is(v, PLUMB_JSON_IS_TEXT); i++)
        if (strcmp(plumb_json_text(v), plumb_timing_median_why_name(i)) == 0)
            return i;
    plumb_field_fault(&c->f, "median_why", "is not one that this plumb knows");
    return PLUMB_MEDIAN_WHY_NONE;
}

/* A field that came later than the first files: 0 where it is absent. */
static uint64_t later_u64(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                          const char *key)
{
    return plumb_json_get(object, key) ? plumb_field_u64(&c->f, object, key) : 0;
}

static void read_sched(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                       struct plumb_timing_sched *out)
{
    out->preempted_ns = later_u64(c, object, "preempted_ns");
    out->blocked_ns = later_u64(c, object, "blocked_ns");
    out->longest_ns = later_u64(c, object, "longest_preemption_ns");
    out->preemptions = later_u64(c, object, "preemptions");
    out->blocks = later_u64(c, object, "blocks");
    out->migrations = later_u64(c, object, "migrations");
}

static void read_sites(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                       struct plumb_timing_node *node)
{
    size_t n;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, object, "sites", sizeof *node->sites, &node->sites, &n);
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *site = plumb_json_at(list, i);
        node->sites[i].file = plumb_field_text(&c->f, site, "file");
        node->sites[i].line = plumb_field_u32(&c->f, site, "line");
    }
    node->site_count = n;
}

static void read_node(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                      struct plumb_timing_node *node)
{
    node->pipeline = plumb_field_name(&c->f, object, "pipeline");
    node->phase = plumb_field_name(&c->f, object, "phase");
    node->name = plumb_field_name(&c->f, object, "name");
    node->stage = plumb_field_bool(&c->f, object, "stage");
    node->skipped = plumb_field_u64(&c->f, object, "skipped");
    node->failures = plumb_field_u64(&c->f, object, "failures");
    node->last_failure = plumb_field_text(&c->f, object, "last_failure");
    node->abandoned = plumb_field_u64(&c->f, object, "abandoned");
    node->unbalanced = plumb_field_u64(&c->f, object, "unbalanced");
    node->untraced = later_u64(c, object, "untraced");
    node->median_estimator = get_estimator(c, object);
    node->median_why = get_median_why(c, object);
    node->threads = plumb_field_u32(&c->f, object, "threads");
    node->self_ns = plumb_field_u64(&c->f, object, "self_ns");
    node->outermost_ns = plumb_field_u64(&c->f, object, "outermost_ns");
    node->outermost_count = plumb_field_u64(&c->f, object, "outermost_count");
    read_channel(c, object, &node->host);
    read_channel(c, plumb_field_object(&c->f, object, "device"), &node->device);
    node->device_skipped = later_u64(c, plumb_json_get(object, "device"), "skipped");
    node->on_device = plumb_field_bool(&c->f, object, "on_device");
    node->synced = plumb_field_bool(&c->f, object, "synced");
    plumb_timing_read_device_use(c, object, &node->use);
    read_sched(c, plumb_json_get(object, "sched"), &node->sched);
    node->metric = plumb_field_text(&c->f, object, "component_metric");
    plumb_timing_read_use(c, object, &node->memory);
    read_sites(c, object, node);
}

static void read_nodes(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "nodes", sizeof *t->nodes, &t->nodes, &t->node_count);
    for (size_t i = 0; i < t->node_count && !c->f.failed; i++)
        read_node(c, plumb_field_entry(&c->f, list, "nodes", i), &t->nodes[i]);
    plumb_field_end(&c->f);
}

/* ---- The other lists ------------------------------------------------------------------------- */

static void read_tree(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "tree", sizeof *t->tree, &t->tree, &t->tree_count);
    for (size_t i = 0; i < t->tree_count && !c->f.failed; i++) {
        const struct plumb_json_value *object = plumb_field_entry(&c->f, list, "tree", i);
        bool has_parent = !plumb_json_is(plumb_json_get(object, "parent"), PLUMB_JSON_IS_NULL);
        struct plumb_timing_tree *place = &t->tree[i];
        place->parent = has_parent ? plumb_field_u32(&c->f, object, "parent") : PLUMB_TIMING_NONE;
        place->node = plumb_field_index(&c->f, object, "node", t->node_count, "nodes");
        place->count = plumb_field_u64(&c->f, object, "count");
        place->total_ns = plumb_field_u64(&c->f, object, "total_ns");
        place->self_ns = plumb_field_u64(&c->f, object, "self_ns");
        place->async = plumb_field_bool(&c->f, object, "async");
        if (has_parent && place->parent >= i)
            plumb_field_fault(&c->f, "parent", "does not stand before its children");
    }
    plumb_field_end(&c->f);
}

static void read_counts(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "counts", sizeof *t->counts, &t->counts, &t->count_count);
    for (size_t i = 0; i < t->count_count && !c->f.failed; i++) {
        const struct plumb_json_value *object = plumb_field_entry(&c->f, list, "counts", i);
        t->counts[i].pipeline = plumb_field_name(&c->f, object, "pipeline");
        t->counts[i].name = plumb_field_name(&c->f, object, "name");
        t->counts[i].total = plumb_field_i64(&c->f, object, "total");
        t->counts[i].events = plumb_field_u64(&c->f, object, "events");
    }
    plumb_field_end(&c->f);
}

static void read_node_counts(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    if (!plumb_json_get(root, "node_counts"))
        return;
    const struct plumb_json_value *list = plumb_field_array(
        &c->f, root, "node_counts", sizeof *t->node_counts, &t->node_counts, &t->node_count_count);
    for (size_t i = 0; i < t->node_count_count && !c->f.failed; i++) {
        const struct plumb_json_value *object = plumb_field_entry(&c->f, list, "node_counts", i);
        t->node_counts[i].pipeline = plumb_field_name(&c->f, object, "pipeline");
        t->node_counts[i].phase = plumb_field_name(&c->f, object, "phase");
        t->node_counts[i].node = plumb_field_name(&c->f, object, "node");
        t->node_counts[i].name = plumb_field_name(&c->f, object, "name");
        t->node_counts[i].total = plumb_field_i64(&c->f, object, "total");
        t->node_counts[i].events = plumb_field_u64(&c->f, object, "events");
    }
    plumb_field_end(&c->f);
}

static void read_cells(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    if (!plumb_json_get(root, "count_cells"))
        return;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "count_cells", sizeof *t->cells, &t->cells, &t->cell_count);
    for (size_t i = 0; i < t->cell_count && !c->f.failed; i++) {
        const struct plumb_json_value *object = plumb_field_entry(&c->f, list, "count_cells", i);
        struct plumb_timing_cell *cell = &t->cells[i];
        cell->pipeline = plumb_field_name(&c->f, object, "pipeline");
        cell->phase = plumb_field_name(&c->f, object, "phase");
        cell->node = plumb_field_name(&c->f, object, "node");
        cell->step = plumb_field_i64(&c->f, object, "step");
        cell->kind = plumb_field_u32(&c->f, object, "kind");
        cell->name = plumb_field_name(&c->f, object, "name");
        cell->calls = plumb_field_u64(&c->f, object, "calls");
        cell->value = plumb_field_i64(&c->f, object, "value");
    }
    plumb_field_end(&c->f);
    t->cells_lost = plumb_field_u64(&c->f, root, "count_cells_lost");
}

static void read_open(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "open", sizeof *t->open, &t->open, &t->open_count);
    for (size_t i = 0; i < t->open_count && !c->f.failed; i++) {
        const struct plumb_json_value *object = plumb_field_entry(&c->f, list, "open", i);
        t->open[i].pipeline = plumb_field_text(&c->f, object, "pipeline");
        t->open[i].node = plumb_field_name(&c->f, object, "node");
        t->open[i].phase = plumb_field_name(&c->f, object, "phase");
        t->open[i].tid = plumb_field_u32(&c->f, object, "tid");
        t->open[i].depth = plumb_field_u32(&c->f, object, "depth");
        t->open[i].age_ns = plumb_field_u64(&c->f, object, "age_ns");
    }
    plumb_field_end(&c->f);
}

static void read_strings(struct plumb_timing_cursor *c, const struct plumb_json_value *list,
                         const char *key, const char **out, size_t n)
{
    for (size_t i = 0; i < n && !c->f.failed; i++) {
        const struct plumb_json_value *text = plumb_json_at(list, i);
        out[i] = plumb_json_is(text, PLUMB_JSON_IS_TEXT)
                     ? plumb_field_own(&c->f, plumb_json_text(text))
                     : NULL;
        if (!plumb_json_is(text, PLUMB_JSON_IS_TEXT))
            plumb_field_fault(&c->f, key, "holds something that is not a string");
    }
}

static void read_notes(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list =
        plumb_field_array(&c->f, root, "notes", sizeof *t->notes, &t->notes, &t->note_count);
    read_strings(c, list, "notes", t->notes, t->note_count);
}

void plumb_timing_read_pairs(struct plumb_timing_cursor *c, const struct plumb_json_value *object,
                             struct plumb_timing_pair **out, size_t *count)
{
    size_t n = plumb_json_count(object);
    *count = 0;
    if (c->f.failed || n == 0 || !(*out = plumb_arena_alloc(&c->t->arena, n * sizeof **out)))
        return;
    for (; *count < n; ++*count) {
        const char *key = plumb_json_at(object, *count)->name;
        (*out)[*count].key = plumb_field_own(&c->f, key);
        (*out)[*count].value = plumb_field_text(&c->f, object, key);
    }
}

static void read_environment(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    plumb_timing_read_pairs(c, plumb_field_object(&c->f, root, "environment"), &c->t->env,
                            &c->t->env_count);
}

/* ---- The run --------------------------------------------------------------------------------- */

static void read_drops(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *object = plumb_field_object(&c->f, root, "drops");
    t->drops.other_nodes = plumb_field_u64(&c->f, object, "other_nodes");
    t->drops.other_state = plumb_field_u64(&c->f, object, "other_state");
    t->drops.lost_state = plumb_field_u64(&c->f, object, "lost_state");
    t->drops.too_deep = plumb_field_u64(&c->f, object, "too_deep");
    t->drops.async = plumb_field_u64(&c->f, object, "async");
    t->drops.reentrant = plumb_field_u64(&c->f, object, "reentrant");
    t->drops.unbalanced = plumb_field_u64(&c->f, object, "unbalanced");
    t->drops.stale = plumb_field_u64(&c->f, object, "stale");
    t->drops.tree = plumb_field_u64(&c->f, object, "tree");
    t->drops.range = later_u64(c, object, "range");
    t->drops.other_phases = later_u64(c, object, "other_phases");
    t->drops.other_pipelines = later_u64(c, object, "other_pipelines");
}

static void read_trace(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *object = plumb_json_get(root, "trace");
    if (!plumb_json_is(object, PLUMB_JSON_IS_OBJECT))
        return;
    t->trace.mode = plumb_field_text(&c->f, object, "mode");
    t->trace.end = plumb_field_text(&c->f, object, "end");
    t->trace.bytes = plumb_field_u64(&c->f, object, "bytes");
    t->trace.spans = plumb_field_u64(&c->f, object, "spans");
    t->trace.dropped = plumb_field_u64(&c->f, object, "dropped");
    t->trace.dropped_threads = plumb_field_u32(&c->f, object, "dropped_threads");
    t->trace.kept = plumb_field_u32(&c->f, object, "kept");
    t->trace.kept_refused = plumb_field_u64(&c->f, object, "kept_refused");
}

static void read_windows(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list = plumb_json_get(root, "trace_windows");
    if (!list)
        return; /* none was switched on, or an older version wrote this */
    t->windows_all = plumb_field_u64(&c->f, root, "trace_windows_all");
    list = plumb_field_array(&c->f, root, "trace_windows", sizeof *t->windows, &t->windows,
                             &t->window_count);
    for (size_t i = 0; i < t->window_count; i++) {
        const struct plumb_json_value *object = plumb_json_at(list, i);
        struct plumb_timing_window *w = &t->windows[i];
        w->file = plumb_field_text(&c->f, object, "file");
        w->end = plumb_field_text(&c->f, object, "end");
        w->from_ns = plumb_field_u64(&c->f, object, "from_ns");
        w->to_ns = plumb_field_u64(&c->f, object, "to_ns");
        w->bytes = plumb_field_u64(&c->f, object, "bytes");
        w->spans = plumb_field_u64(&c->f, object, "spans");
        w->dropped = plumb_field_u64(&c->f, object, "dropped");
        w->threads_left_out = plumb_field_u32(&c->f, object, "threads_left_out");
    }
}

static void read_measuring(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *object = plumb_field_object(&c->f, root, "clock");
    t->clock.source = plumb_field_text(&c->f, object, "source");
    t->clock.tick_ns = plumb_field_f64(&c->f, object, "tick_ns");
    t->clock.resolution_ns = plumb_field_f64(&c->f, object, "resolution_ns");
    t->clock.drift_ppm = plumb_field_f64(&c->f, object, "drift_ppm");
    t->clock.jumps = (uint32_t)later_u64(c, object, "jumps");
    object = plumb_field_object(&c->f, root, "overhead");
    t->overhead.span_ns = plumb_field_f64(&c->f, object, "span_ns");
    t->overhead.spans = plumb_field_u64(&c->f, object, "spans");
    if (plumb_json_get(object, "work_span_ns"))
        t->overhead.work_span_ns = plumb_field_f64(&c->f, object, "work_span_ns");
    t->overhead.threads_ns = later_u64(c, object, "threads_ns");
    t->overhead.total_ns = plumb_field_f64(&c->f, object, "total_ns");
}

static void read_runtime_environment(struct plumb_timing_cursor *c,
                                     const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *object, *list;
    if (!plumb_json_get(root, "runtime_environment")) /* files of before */
        return;
    object = plumb_field_object(&c->f, root, "runtime_environment");
    t->runtime.libc = plumb_field_text(&c->f, object, "libc");
    t->runtime.compiler = plumb_field_text(&c->f, object, "compiler");
    t->runtime.nvidia_driver = plumb_field_text(&c->f, object, "nvidia_driver");
    t->runtime.git_commit = plumb_field_text(&c->f, object, "git_commit");
    t->runtime.framework = plumb_field_text(&c->f, object, "framework");
    t->runtime.framework_version = plumb_field_text(&c->f, object, "framework_version");
    list = plumb_field_array(&c->f, object, "gpus", sizeof *t->runtime.gpus, &t->runtime.gpus,
                             &t->runtime.gpu_count);
    read_strings(c, list, "gpus", t->runtime.gpus, t->runtime.gpu_count);
}

static void read_machine(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *object;
    t->host = plumb_field_text(&c->f, root, "host");
    t->cpu = plumb_field_text(&c->f, root, "cpu");
    t->cpus = plumb_field_u32(&c->f, root, "cpus");
    t->kernel = plumb_field_text(&c->f, root, "kernel");
    t->plumb_version =
        plumb_field_text(&c->f, plumb_field_object(&c->f, root, "versions"), "plumb");
    object = plumb_field_object(&c->f, root, "rank");
    t->rank = plumb_field_known(&c->f, object, "rank");
    t->world_size = plumb_field_known(&c->f, object, "world_size");
    t->local_rank = plumb_field_known(&c->f, object, "local_rank");
    t->rank_source = plumb_field_text(&c->f, object, "source");
}

/* Where there are requests, the old names at the top level are those of the last request, and the
 * run has its own in "run". Older files have no requests. */
static void read_identity(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *run = plumb_json_get(root, "run");
    const struct plumb_json_value *facts =
        plumb_field_object(&c->f, root, run ? "run" : "metadata");
    t->request_id = plumb_field_text(&c->f, run ? run : root, "request_id");
    t->pipeline = plumb_field_text(&c->f, facts, "pipeline");
    t->program = plumb_field_text(&c->f, facts, "program");
    t->command = plumb_field_text(&c->f, facts, "command");
    t->pid = plumb_field_u32(&c->f, facts, "pid");
}

/* Older files have one skip_first_n for all. */
static void read_pipelines(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    const struct plumb_json_value *list;
    if (!plumb_json_get(root, "pipelines"))
        return;
    list = plumb_field_array(&c->f, root, "pipelines", sizeof *t->pipelines, &t->pipelines,
                             &t->pipeline_count);
    for (size_t i = 0; i < t->pipeline_count && !c->f.failed; i++) {
        const struct plumb_json_value *object = plumb_field_entry(&c->f, list, "pipelines", i);
        t->pipelines[i].name = plumb_field_name(&c->f, object, "name");
        t->pipelines[i].skip_first_n = plumb_field_u64(&c->f, object, "skip_first_n");
    }
    plumb_field_end(&c->f);
}

static void read_head(struct plumb_timing_cursor *c, const struct plumb_json_value *root)
{
    struct plumb_timing *t = c->t;
    read_identity(c, root);
    t->schema = plumb_field_u32(&c->f, root, "schema");
    t->recovered = plumb_field_bool(&c->f, root, "recovered");
    t->unsaved = plumb_json_get(root, "unsaved") && plumb_field_bool(&c->f, root, "unsaved");
    t->start_unix_ns = plumb_field_u64(&c->f, root, "start_unix_ns");
    t->end_unix_ns = plumb_field_u64(&c->f, root, "end_unix_ns");
    t->wall_clock_ns = plumb_field_u64(&c->f, root, "wall_clock_ns");
    t->skip_first_n = plumb_field_u64(&c->f, root, "skip_first_n");
    read_pipelines(c, root);
}

static int check_kind(const struct plumb_json_value *root, const char *name, plumb_error *err)
{
    const struct plumb_json_value *format = plumb_json_get(root, "format");
    const struct plumb_json_value *schema = plumb_json_get(root, "schema");
    if (!plumb_json_is(format, PLUMB_JSON_IS_TEXT) ||
        strcmp(plumb_json_text(format), PLUMB_TIMING_FORMAT) != 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a timing report of plumb (its \"format\" is not \"%s\")",
                          name, PLUMB_TIMING_FORMAT);
    if (!plumb_json_is(schema, PLUMB_JSON_IS_INT) || plumb_json_whole(schema) < 1)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: schema is missing", name);
    if (plumb_json_whole(schema) > PLUMB_TIMING_SCHEMA)
        return plumb_fail(
            err, PLUMB_ERR_FORMAT,
            "'%s' was written by a newer plumb (schema %lld; this one reads up to %d)", name,
            (long long)plumb_json_whole(schema), PLUMB_TIMING_SCHEMA);
    return PLUMB_OK;
}

static int read_root(struct plumb_timing *t, const struct plumb_json_value *root, const char *name,
                     plumb_error *err)
{
    struct plumb_timing_cursor c = {t, {.arena = &t->arena, .name = name, .err = err}};
    read_head(&c, root);
    plumb_timing_read_pools(&c, root);
    read_nodes(&c, root);
    read_tree(&c, root);
    read_counts(&c, root);
    read_node_counts(&c, root);
    read_cells(&c, root);
    read_open(&c, root);
    plumb_timing_read_requests(&c, root);
    plumb_timing_read_streams(&c, root);
    plumb_timing_read_collectors(&c, root);
    plumb_timing_read_perf(&c, root);
    plumb_timing_read_metrics(&c, root);
    plumb_timing_check_device_uses(&c);
    plumb_timing_read_memory(&c, root);
    read_drops(&c, root);
    read_trace(&c, root);
    read_windows(&c, root);
    read_notes(&c, root);
    read_measuring(&c, root);
    read_machine(&c, root);
    read_runtime_environment(&c, root);
    read_environment(&c, root);
    if (t->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    return c.f.failed ? PLUMB_ERR_FORMAT : PLUMB_OK;
}

int plumb_timing_parse(struct plumb_timing *out, const char *text, size_t size, const char *name,
                       plumb_error *err)
{
    struct plumb_timing t;
    struct plumb_json_tree tree;
    int rc;
    plumb_timing_init(&t);
    if (size == 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is empty", name);
    rc = plumb_json_tree_read(&tree, text, size, 0, name, err);
    if (rc < 0 || (rc = check_kind(tree.root, name, err)) < 0 ||
        (rc = read_root(&t, tree.root, name, err)) < 0)
        goto out;
    *out = t;
    plumb_timing_init(&t);
out:
    plumb_json_tree_fini(&tree);
    plumb_timing_fini(&t);
    return rc;
}

int plumb_timing_read(struct plumb_timing *out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_read_file(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_timing_parse(out, text.data ? text.data : "", text.len, path, err);
    plumb_buf_fini(&text);
    return rc;
}
