/* timing.c: writes the timing report: the run, its nodes, call tree and counts; timing_write_*.c
 * have the rest. docs/timing-json.md says what the fields mean, and src/read/run/timing*.c is the
 * other half.
 *
 * Two kinds of fields: figures for people and scripts (`_ms`, `_mb`, `percentage`), and the
 * integers and doubles they come from (`_ns`, `_bytes`), from which the reader restores the model
 * exactly.
 *
 * Any thread, one report at a time. Why no JSON library: this file is part of libplumb, which lives
 * in other people's processes and brings nothing along. */
#include "model/timing.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/timing_parts.h"
#include <plumb/summary.h>

void plumb_timing_init(struct plumb_timing *t)
{
    memset(t, 0, sizeof *t);
    t->schema = PLUMB_TIMING_SCHEMA;
    t->rank = t->world_size = t->local_rank = -1;
}

void plumb_timing_fini(struct plumb_timing *t)
{
    plumb_arena_fini(&t->arena);
    plumb_timing_init(t);
}

void plumb_timing_note(struct plumb_timing *t, const char *text)
{
    const char **notes =
        text ? plumb_arena_alloc(&t->arena, (t->note_count + 1) * sizeof *notes) : NULL;
    if (!notes)
        return;
    for (size_t i = 0; i < t->note_count; i++)
        notes[i] = t->notes[i];
    notes[t->note_count++] = text;
    t->notes = notes;
}

uint64_t plumb_timing_own_ns(const struct plumb_timing_node *node)
{
    return node->self_ns > 0 ? node->self_ns : node->outermost_ns;
}

uint64_t plumb_timing_skip_of(const struct plumb_timing *t, const char *pipeline)
{
    for (size_t i = 0; i < t->pipeline_count; i++)
        if (strcmp(t->pipelines[i].name, pipeline) == 0)
            return t->pipelines[i].skip_first_n;
    return t->pipeline_count ? 0 : t->skip_first_n;
}

bool plumb_timing_is_open(const struct plumb_timing_open *open,
                          const struct plumb_timing_node *node)
{
    return strcmp(node->name, open->node) == 0 && strcmp(node->phase, open->phase) == 0 &&
           (!open->pipeline || strcmp(node->pipeline, open->pipeline) == 0);
}

int plumb_timing_signature_path(char *out, size_t size, const char *report, plumb_error *err)
{
    size_t n = strlen(report);
    if (n >= 5 && strcmp(report + n - 5, ".json") == 0)
        n -= 5;
    int length = snprintf(out, size, "%.*s_io_signature.json", (int)n, report);
    if (length >= 0 && (size_t)length < size)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", report);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void write_sketch(struct plumb_json *j, const struct plumb_timing_channel *c)
{
    plumb_json_key(j, "sketch");
    plumb_json_array_inline(j);
    for (size_t i = 0; i < c->bucket_count; i++) {
        plumb_json_array(j);
        plumb_json_f64(j, c->buckets[i].value);
        plumb_put_integer(j, c->buckets[i].count);
        plumb_json_array_end(j);
    }
    plumb_json_array_end(j);
}

/* The figures that merging needs: integers, and the quantiles as they were measured. */
static void write_channel_exact(struct plumb_json *j, const struct plumb_timing_channel *c)
{
    const struct plumb_stats *s = &c->ns;
    plumb_put_u64(j, "total_ns", s->total);
    plumb_json_key(j, "sumsq_ns2");
    plumb_put_decimal(j, plumb_u128_make(s->sq_lo, s->sq_hi));
    plumb_put_u64(j, "min_ns", s->count ? s->min : 0);
    plumb_put_u64(j, "max_ns", s->max);
    plumb_put_u64(j, "last_ns", s->last);
    plumb_put_u64(j, "last_at_ns", s->last_at);
    plumb_put_f64(j, "median_ns", c->median_ns);
    plumb_put_f64(j, "p50_ns", c->p50_ns);
    plumb_put_f64(j, "p90_ns", c->p90_ns);
    plumb_put_f64(j, "p95_ns", c->p95_ns);
    plumb_put_f64(j, "p99_ns", c->p99_ns);
    plumb_json_key(j, "first_ns");
    plumb_json_array_inline(j);
    for (size_t i = 0; i < PLUMB_EXACT && s->count <= PLUMB_EXACT && i < s->count; i++)
        plumb_put_integer(j, s->first[i]);
    plumb_json_array_end(j);
    write_sketch(j, c);
}

static void write_channel_ms(struct plumb_json *j, const struct plumb_timing_channel *c)
{
    const struct plumb_stats *s = &c->ns;
    plumb_put_ms(j, "mean_ms", plumb_stats_mean(s));
    plumb_put_ms(j, "median_ms", c->median_ns);
    plumb_put_ms(j, "std_ms", plumb_stats_std(s));
    plumb_put_ms(j, "min_ms", s->count ? (double)s->min : 0);
    plumb_put_ms(j, "max_ms", (double)s->max);
    plumb_put_ms(j, "total_ms", (double)s->total);
    plumb_put_ms(j, "last_ms", (double)s->last);
    plumb_put_ms(j, "p50_ms", c->p50_ns);
    plumb_put_ms(j, "p90_ms", c->p90_ns);
    plumb_put_ms(j, "p95_ms", c->p95_ns);
    plumb_put_ms(j, "p99_ms", c->p99_ns);
}

const char *plumb_timing_estimator_name(uint32_t median_estimator)
{
    switch (median_estimator) {
    case PLUMB_MEDIAN_P2:
        return "p2";
    case PLUMB_MEDIAN_EXACT:
        return "exact";
    default:
        return "sketch";
    }
}

const char *plumb_timing_median_why_name(uint32_t why)
{
    static const char *const names[PLUMB_MEDIAN_WHYS] = {NULL, "threads", "sources", "range"};
    return why < PLUMB_MEDIAN_WHYS ? names[why] : NULL;
}

size_t plumb_timing_clamped(const struct plumb_timing *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->node_count; i++)
        n += t->nodes[i].host.ns.total >= PLUMB_TOTAL_MAX ||
             t->nodes[i].device.ns.total >= PLUMB_TOTAL_MAX;
    return n;
}

static void write_sites(struct plumb_json *j, const struct plumb_timing_node *node)
{
    plumb_put_array(j, "sites");
    for (size_t i = 0; i < node->site_count; i++) {
        plumb_json_object(j);
        plumb_put_text(j, "file", node->sites[i].file);
        plumb_put_u64(j, "line", node->sites[i].line);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_sched(struct plumb_json *j, const struct plumb_timing_node *node)
{
    const struct plumb_timing_sched *s = &node->sched;
    if (!s->preemptions && !s->blocks)
        return;
    plumb_put_object(j, "sched");
    plumb_put_u64(j, "on_cpu_ns", plumb_timing_on_cpu_ns(node));
    plumb_put_u64(j, "preempted_ns", s->preempted_ns);
    plumb_put_u64(j, "blocked_ns", s->blocked_ns);
    plumb_put_u64(j, "longest_preemption_ns", s->longest_ns);
    plumb_put_u64(j, "preemptions", s->preemptions);
    plumb_put_u64(j, "blocks", s->blocks);
    plumb_put_u64(j, "migrations", s->migrations);
    plumb_json_object_end(j);
}

static void write_node(const struct plumb_timing *t, struct plumb_json *j,
                       const struct plumb_timing_node *node)
{
    plumb_json_object(j);
    plumb_put_text(j, "pipeline", node->pipeline);
    plumb_put_text(j, "phase", node->phase);
    plumb_put_text(j, "name", node->name);
    plumb_put_hex_if_needed(j, "name_hex", node->name);
    plumb_put_bool(j, "stage", node->stage);
    plumb_put_u64(j, "count", node->host.ns.count);
    plumb_put_u64(j, "skipped", node->skipped);
    plumb_put_u64(j, "failures", node->failures);
    plumb_put_text(j, "last_failure", node->last_failure);
    plumb_put_u64(j, "abandoned", node->abandoned);
    plumb_put_u64(j, "unbalanced", node->unbalanced);
    if (t->trace.end || t->windows_all)
        plumb_put_u64(j, "untraced", node->untraced);
    write_channel_ms(j, &node->host);
    plumb_put_ms(j, "self_ms", (double)node->self_ns);
    plumb_put_text(j, "median_estimator", plumb_timing_estimator_name(node->median_estimator));
    plumb_put_text(j, "median_why", plumb_timing_median_why_name(node->median_why));
    plumb_put_u64(j, "threads", node->threads);
    plumb_put_u64(j, "self_ns", node->self_ns);
    plumb_put_u64(j, "outermost_ns", node->outermost_ns);
    plumb_put_u64(j, "outermost_count", node->outermost_count);
    write_channel_exact(j, &node->host);
    plumb_put_object(j, "device");
    plumb_put_u64(j, "count", node->device.ns.count);
    plumb_put_u64(j, "skipped", node->device_skipped);
    write_channel_ms(j, &node->device);
    write_channel_exact(j, &node->device);
    plumb_json_object_end(j);
    plumb_put_text(j, "device_times", plumb_timing_device_times(node));
    plumb_put_bool(j, "on_device", node->on_device);
    plumb_put_bool(j, "synced", node->synced);
    plumb_timing_write_device_use(t, j, &node->use);
    write_sched(j, node);
    plumb_put_text(j, "component_metric", node->metric);
    plumb_timing_write_use(t, j, &node->memory);
    write_sites(j, node);
    plumb_json_object_end(j);
}

/* ---- The other lists ------------------------------------------------------------------------- */

static void write_tree(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "tree");
    for (size_t i = 0; i < t->tree_count; i++) {
        const struct plumb_timing_tree *place = &t->tree[i];
        plumb_json_object(j);
        plumb_put_index(j, "parent", place->parent);
        plumb_put_u64(j, "node", place->node);
        plumb_put_text(j, "name", place->node < t->node_count ? t->nodes[place->node].name : NULL);
        plumb_put_bool(j, "async", place->async);
        plumb_put_u64(j, "count", place->count);
        plumb_put_ms(j, "total_ms", (double)place->total_ns);
        plumb_put_ms(j, "self_ms", (double)place->self_ns);
        plumb_put_u64(j, "total_ns", place->total_ns);
        plumb_put_u64(j, "self_ns", place->self_ns);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_counts(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "counts");
    for (size_t i = 0; i < t->count_count; i++) {
        plumb_json_object(j);
        plumb_put_text(j, "pipeline", t->counts[i].pipeline);
        plumb_put_text(j, "name", t->counts[i].name);
        plumb_put_hex_if_needed(j, "name_hex", t->counts[i].name);
        plumb_put_i64(j, "total", t->counts[i].total);
        plumb_put_u64(j, "events", t->counts[i].events);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_node_counts(const struct plumb_timing *t, struct plumb_json *j)
{
    if (t->node_count_count == 0)
        return;
    plumb_put_array(j, "node_counts");
    for (size_t i = 0; i < t->node_count_count; i++) {
        const struct plumb_timing_node_count *c = &t->node_counts[i];
        plumb_json_object(j);
        plumb_put_text(j, "pipeline", c->pipeline);
        plumb_put_text(j, "phase", c->phase);
        plumb_put_text(j, "node", c->node);
        plumb_put_hex_if_needed(j, "node_hex", c->node);
        plumb_put_text(j, "name", c->name);
        plumb_put_hex_if_needed(j, "name_hex", c->name);
        plumb_put_i64(j, "total", c->total);
        plumb_put_u64(j, "events", c->events);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_cells(const struct plumb_timing *t, struct plumb_json *j)
{
    if (t->cell_count == 0)
        return;
    plumb_put_array(j, "count_cells");
    for (size_t i = 0; i < t->cell_count; i++) {
        const struct plumb_timing_cell *c = &t->cells[i];
        plumb_json_object_inline(j);
        plumb_put_text(j, "pipeline", c->pipeline);
        plumb_put_text(j, "phase", c->phase);
        plumb_put_text(j, "node", c->node);
        plumb_put_hex_if_needed(j, "node_hex", c->node);
        plumb_put_i64(j, "step", c->step);
        plumb_put_u64(j, "kind", c->kind);
        plumb_put_text(j, "name", c->name);
        plumb_put_hex_if_needed(j, "name_hex", c->name);
        plumb_put_u64(j, "calls", c->calls);
        plumb_put_i64(j, "value", c->value);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_put_u64(j, "count_cells_lost", t->cells_lost);
}

static void write_open(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "open");
    for (size_t i = 0; i < t->open_count; i++) {
        plumb_json_object(j);
        if (t->open[i].pipeline)
            plumb_put_text(j, "pipeline", t->open[i].pipeline);
        plumb_put_text(j, "node", t->open[i].node);
        plumb_put_text(j, "phase", t->open[i].phase);
        plumb_put_u64(j, "tid", t->open[i].tid);
        plumb_put_u64(j, "depth", t->open[i].depth);
        plumb_put_ms(j, "age_ms", (double)t->open[i].age_ns);
        plumb_put_u64(j, "age_ns", t->open[i].age_ns);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static bool seen_before(const struct plumb_timing *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(t->env[k].key, t->env[i].key) == 0)
            return true;
    return false;
}

static void write_environment(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_object(j, "environment");
    for (size_t i = 0; i < t->env_count; i++)
        if (!seen_before(t, i)) /* a process may hold one name twice; getenv() finds the first */
            plumb_put_text(j, t->env[i].key, t->env[i].value);
    plumb_json_object_end(j);
}

static void write_notes(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "notes");
    for (size_t i = 0; i < t->note_count; i++)
        plumb_json_str(j, t->notes[i]);
    plumb_json_array_end(j);
}

/* ---- The run --------------------------------------------------------------------------------- */

static void write_drops(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_object(j, "drops");
    plumb_put_u64(j, "other_nodes", t->drops.other_nodes);
    plumb_put_u64(j, "other_state", t->drops.other_state);
    plumb_put_u64(j, "lost_state", t->drops.lost_state);
    plumb_put_u64(j, "too_deep", t->drops.too_deep);
    plumb_put_u64(j, "async", t->drops.async);
    plumb_put_u64(j, "reentrant", t->drops.reentrant);
    plumb_put_u64(j, "unbalanced", t->drops.unbalanced);
    plumb_put_u64(j, "stale", t->drops.stale);
    plumb_put_u64(j, "tree", t->drops.tree);
    plumb_put_u64(j, "range", t->drops.range);
    plumb_put_u64(j, "other_phases", t->drops.other_phases);
    plumb_put_u64(j, "other_pipelines", t->drops.other_pipelines);
    plumb_json_object_end(j);
}

/* Of a run that was traced. */
static void write_trace(const struct plumb_timing *t, struct plumb_json *j)
{
    if (!t->trace.end)
        return;
    plumb_put_object(j, "trace");
    plumb_put_text(j, "mode", t->trace.mode);
    plumb_put_text(j, "end", t->trace.end);
    plumb_put_u64(j, "bytes", t->trace.bytes);
    plumb_put_u64(j, "spans", t->trace.spans);
    plumb_put_u64(j, "dropped", t->trace.dropped);
    plumb_put_u64(j, "dropped_threads", t->trace.dropped_threads);
    plumb_put_u64(j, "kept", t->trace.kept);
    plumb_put_u64(j, "kept_refused", t->trace.kept_refused);
    plumb_json_object_end(j);
}

/* Of a run in which a trace was switched on. */
static void write_windows(const struct plumb_timing *t, struct plumb_json *j)
{
    if (!t->windows_all)
        return;
    plumb_put_u64(j, "trace_windows_all", t->windows_all);
    plumb_put_array(j, "trace_windows");
    for (size_t i = 0; i < t->window_count; i++) {
        const struct plumb_timing_window *w = &t->windows[i];
        plumb_json_object(j);
        plumb_put_text(j, "file", w->file);
        plumb_put_text(j, "end", w->end);
        plumb_put_u64(j, "from_ns", w->from_ns);
        plumb_put_u64(j, "to_ns", w->to_ns);
        plumb_put_u64(j, "bytes", w->bytes);
        plumb_put_u64(j, "spans", w->spans);
        plumb_put_u64(j, "dropped", w->dropped);
        plumb_put_u64(j, "threads_left_out", w->threads_left_out);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static void write_measuring(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_object(j, "clock");
    plumb_put_text(j, "source", t->clock.source);
    plumb_put_f64(j, "tick_ns", t->clock.tick_ns);
    plumb_put_f64(j, "resolution_ns", t->clock.resolution_ns);
    plumb_put_f64(j, "drift_ppm", t->clock.drift_ppm);
    if (t->clock.jumps)
        plumb_put_u64(j, "jumps", t->clock.jumps);
    plumb_json_object_end(j);
    plumb_put_object(j, "overhead");
    plumb_put_f64(j, "span_ns", t->overhead.span_ns);
    plumb_put_f64(j, "work_span_ns", t->overhead.work_span_ns);
    plumb_put_u64(j, "spans", t->overhead.spans);
    plumb_put_ms(j, "total_ms", t->overhead.total_ns);
    plumb_put_f64(j, "total_ns", t->overhead.total_ns);
    plumb_put_ms(j, "threads_ms", (double)t->overhead.threads_ns);
    plumb_put_u64(j, "threads_ns", t->overhead.threads_ns);
    plumb_json_object_end(j);
}

static void write_machine(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_text(j, "host", t->host);
    plumb_put_text(j, "cpu", t->cpu);
    plumb_put_u64(j, "cpus", t->cpus);
    plumb_put_text(j, "kernel", t->kernel);
    plumb_put_object(j, "versions");
    plumb_put_text(j, "plumb", t->plumb_version);
    plumb_json_object_end(j);
    plumb_put_object(j, "rank");
    plumb_put_known(j, "rank", t->rank);
    plumb_put_known(j, "world_size", t->world_size);
    plumb_put_known(j, "local_rank", t->local_rank);
    plumb_put_text(j, "source", t->rank_source);
    plumb_json_object_end(j);
}

static void write_runtime_environment(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_object(j, "runtime_environment");
    plumb_put_text(j, "platform", t->kernel);
    plumb_put_text(j, "libc", t->runtime.libc);
    plumb_put_text(j, "compiler", t->runtime.compiler);
    plumb_put_text(j, "plumb", t->plumb_version);
    plumb_put_text(j, "framework", t->runtime.framework);
    plumb_put_text(j, "framework_version", t->runtime.framework_version);
    plumb_put_text(j, "nvidia_driver", t->runtime.nvidia_driver);
    plumb_put_array(j, "gpus");
    for (size_t i = 0; i < t->runtime.gpu_count; i++)
        plumb_json_str(j, t->runtime.gpus[i]);
    plumb_json_array_end(j);
    plumb_put_text(j, "git_commit", t->runtime.git_commit);
    plumb_json_object_end(j);
}

static void write_pipelines(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_array(j, "pipelines");
    for (size_t i = 0; i < t->pipeline_count; i++) {
        plumb_json_object(j);
        plumb_put_text(j, "name", t->pipelines[i].name);
        plumb_put_hex_if_needed(j, "name_hex", t->pipelines[i].name);
        plumb_put_u64(j, "skip_first_n", t->pipelines[i].skip_first_n);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
}

static int write_head(const struct plumb_timing *t, struct plumb_json *j)
{
    plumb_put_text(j, "format", PLUMB_TIMING_FORMAT);
    plumb_put_u64(j, "schema", t->schema);
    if (plumb_timing_write_section(t, j) < 0)
        return PLUMB_ERR_MEMORY;
    plumb_put_bool(j, "recovered", t->recovered);
    if (t->unsaved)
        plumb_put_bool(j, "unsaved", true);
    plumb_put_u64(j, "start_unix_ns", t->start_unix_ns);
    plumb_put_u64(j, "end_unix_ns", t->end_unix_ns);
    plumb_put_u64(j, "wall_clock_ns", t->wall_clock_ns);
    plumb_put_u64(j, "skip_first_n", t->skip_first_n);
    write_pipelines(t, j);
    return PLUMB_OK;
}

int plumb_timing_write(const struct plumb_timing *t, struct plumb_buf *out, plumb_error *err)
{
    struct plumb_json json;
    struct plumb_json *j = &json;
    plumb_json_init(j, out, 2);
    plumb_json_object(j);
    if (write_head(t, j) < 0)
        goto no_memory;
    plumb_put_array(j, "nodes");
    for (size_t i = 0; i < t->node_count; i++)
        write_node(t, j, &t->nodes[i]);
    plumb_json_array_end(j);
    write_tree(t, j);
    write_counts(t, j);
    write_node_counts(t, j);
    write_cells(t, j);
    write_open(t, j);
    plumb_timing_write_memory(t, j);
    plumb_timing_write_requests(t, j);
    plumb_timing_write_streams(t, j);
    plumb_timing_write_collectors(t, j);
    plumb_timing_write_perf(t, j);
    plumb_timing_write_metrics(t, j);
    write_drops(t, j);
    write_trace(t, j);
    write_windows(t, j);
    write_notes(t, j);
    write_measuring(t, j);
    write_machine(t, j);
    write_runtime_environment(t, j);
    write_environment(t, j);
    plumb_json_object_end(j);
    plumb_buf_char(out, '\n');
    if (!out->failed)
        return PLUMB_OK;
no_memory:
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while writing the timing report");
}
