/* take_run.c: a recorded run as one result. Its metrics are the medians of its nodes and requests
 * and the highest resident set. Nodes that lie in no other are gated, as stages and requests are:
 * a change of a nested node shows in the node around it, where it matters. */
#include "read/history/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "read/history/identity.h"
#include "read/history/raw.h"
#include "read/run/load.h"
#include "read/run/runs.h"

/* A change of a median that is smaller than this is one wake-up of the scheduler. */
static const double FLOOR_MS = 0.05;

static void add_ms(struct plumb_taking *t, struct plumb_result_item *item, const char *name,
                   double ns, bool gated)
{
    plumb_metric *m = plumb_result_metric(t->list, item, name, "ms", ns / 1e6);
    if (m) {
        m->gated = gated;
        m->floor_absolute = FLOOR_MS;
    }
}

/* "denoise", or "train: denoise" of another phase than the default, after the pipeline if it is not
 * that of the run. */
static const char *metric_name(struct plumb_taking *t, const struct plumb_timing *timing,
                               const struct plumb_timing_node *n)
{
    bool own = timing->pipeline && strcmp(timing->pipeline, n->pipeline) == 0;
    bool usual = strcmp(n->phase, "inference") == 0;
    return plumb_arena_printf(&t->list->arena, "%s%s%s%s%s", own ? "" : n->pipeline, own ? "" : "/",
                              usual ? "" : n->phase, usual ? "" : ": ", n->name);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void take_requests(struct plumb_taking *t, struct plumb_result_item *item,
                          const struct plumb_timing *timing)
{
    uint64_t *wall = calloc(timing->request_count + 1, sizeof *wall);
    size_t n = 0;
    for (size_t i = 0; wall && i < timing->request_count; i++)
        if (timing->requests[i].state == PLUMB_TIMING_REQUEST_ENDED)
            wall[n++] = timing->requests[i].wall_ns;
    if (wall && n > 0) {
        qsort(wall, n, sizeof *wall, ascending);
        double median =
            n % 2 ? (double)wall[n / 2] : ((double)wall[n / 2 - 1] + (double)wall[n / 2]) / 2;
        add_ms(t, item, "request", median, true);
    }
    t->list->arena.failed |= !wall;
    free(wall);
}

static void take_metrics(struct plumb_taking *t, struct plumb_result_item *item,
                         const struct plumb_timing *timing)
{
    take_requests(t, item, timing);
    for (size_t i = 0; i < timing->node_count; i++) {
        const struct plumb_timing_node *n = &timing->nodes[i];
        const char *name = metric_name(t, timing, n);
        if (name && n->host.ns.count > 0)
            add_ms(t, item, name, n->host.median_ns, n->stage || n->outermost_count > 0);
    }
    if (timing->memory.peak_rss > 0)
        plumb_result_metric(t->list, item, "peak_memory", "bytes", (double)timing->memory.peak_rss);
}

/* ---- Identity -------------------------------------------------------------------------------- */

static void put_hardware(struct plumb_json *j, const struct plumb_timing *timing)
{
    plumb_json_object(j);
    plumb_put_text(j, "cpu", timing->cpu);
    plumb_put_u64(j, "cpus", timing->cpus);
    plumb_put_u64(j, "gpu_count", timing->runtime.gpu_count);
    plumb_put_array(j, "gpus");
    for (size_t i = 0; i < timing->runtime.gpu_count; i++) {
        plumb_json_object(j);
        plumb_put_text(j, "name", timing->runtime.gpus[i]);
        plumb_json_object_end(j);
    }
    plumb_json_array_end(j);
    plumb_json_object_end(j);
}

static void put_software(struct plumb_json *j, const struct plumb_timing *timing)
{
    plumb_json_object(j);
    plumb_put_text(j, "libc", timing->runtime.libc);
    plumb_put_text(j, "compiler", timing->runtime.compiler);
    plumb_put_text(j, "framework", timing->runtime.framework);
    plumb_put_text(j, "framework_version", timing->runtime.framework_version);
    plumb_put_text(j, "nvidia_driver", timing->runtime.nvidia_driver);
    plumb_json_object_end(j);
}

/* How the run was made: its arguments, without the folder of the program. */
static void put_recipe(struct plumb_json *j, const struct plumb_timing *timing)
{
    const char *arguments = timing->command ? strchr(timing->command, ' ') : NULL;
    plumb_json_object(j);
    plumb_put_i64(j, "recipe_schema_version", 2);
    plumb_put_object(j, "run");
    plumb_put_text(j, "program", timing->program ? plumb_take_base(timing->program) : NULL);
    plumb_put_text(j, "arguments", arguments ? arguments + 1 : "");
    plumb_put_u64(j, "skip_first_n", timing->skip_first_n);
    plumb_put_i64(j, "world_size", timing->world_size);
    plumb_json_object_end(j);
    plumb_json_object_end(j);
}

static void take_identity(struct plumb_taking *t, struct plumb_result_item *item,
                          const struct plumb_timing *timing)
{
    plumb_cohort *c = &item->r.cohort;
    struct plumb_arena *arena = &t->list->arena;
    struct plumb_buf hardware = {0}, software = {0}, recipe = {0};
    struct plumb_json j;
    const char *name = timing->pipeline ? timing->pipeline : "pipeline";
    c->workload = plumb_arena_strdup(arena, name);
    c->variant = "run";
    c->version = "1";
    plumb_json_init(&j, &hardware, 0);
    put_hardware(&j, timing);
    plumb_json_init(&j, &software, 0);
    put_software(&j, timing);
    plumb_json_init(&j, &recipe, 0);
    put_recipe(&j, timing);
    arena->failed |= hardware.failed || software.failed || recipe.failed;
    if (!arena->failed)
        plumb_take_identity(t, item, hardware.data, software.data, recipe.data, NULL);
    plumb_buf_fini(&hardware);
    plumb_buf_fini(&software);
    plumb_buf_fini(&recipe);
}

static void take_timing(struct plumb_taking *t, const struct plumb_timing *timing)
{
    struct plumb_arena *arena = &t->list->arena;
    struct plumb_result_item *item = plumb_result_add(t->list);
    if (!item)
        return;
    item->keyed = true;
    item->r.time_ns = timing->start_unix_ns;
    item->r.commit = plumb_arena_strdup(arena, timing->runtime.git_commit);
    item->r.label = plumb_arena_strdup(arena, timing->pipeline);
    item->r.device = plumb_arena_strdup(
        arena, timing->runtime.gpu_count > 0 ? timing->runtime.gpus[0] : timing->cpu);
    take_metrics(t, item, timing);
    if (t->more)
        t->more(t->list, item, timing);
    take_identity(t, item, timing);
}

/* ---- A run of a configured benchmark
 * ---------------------------------------------------------- */

/* Writes the profile of the facts that `write` puts. */
static void put_profile(struct plumb_buf *out, const struct plumb_timing *timing,
                        void (*write)(struct plumb_json *, const struct plumb_timing *),
                        void (*profile)(struct plumb_buf *, const struct plumb_json_value *))
{
    struct plumb_json_tree tree;
    struct plumb_buf facts = {0};
    struct plumb_json j;
    plumb_json_init(&j, &facts, 0);
    write(&j, timing);
    if (facts.failed || plumb_json_tree_read(&tree, facts.data, facts.len, 0, "facts", NULL) < 0) {
        out->failed = true;
    } else {
        profile(out, tree.root);
        plumb_json_tree_fini(&tree);
    }
    plumb_buf_fini(&facts);
}

/* Takes the raw record as the file that it is to be. */
static int take_record(struct plumb_taking *t, const struct plumb_buf *text, plumb_error *err)
{
    struct plumb_json_tree tree;
    size_t before = t->list->count;
    int rc = plumb_json_tree_read(&tree, text->data, text->len, 0, "the raw record", err);
    if (rc < 0)
        return rc;
    if ((rc = plumb_take_perf(t, tree.root, err)) == PLUMB_OK)
        t->list->items[before].raw = plumb_arena_strdup(&t->list->arena, text->data);
    plumb_json_tree_fini(&tree);
    return rc;
}

static int take_configured(struct plumb_taking *t, const struct plumb_timing *timing,
                           plumb_error *err)
{
    struct plumb_benchmark_config c;
    struct plumb_buf hardware = {0}, software = {0}, record = {0};
    int rc = plumb_benchmark_config_read(&c, t->config, t->options->config, err);
    if (rc < 0)
        return rc;
    if (c.gpus > 0 && (uint64_t)c.gpus > timing->runtime.gpu_count) {
        plumb_buf_printf(&t->list->remarks,
                         "benchmark '%s' is skipped: it needs %lld GPUs, and the run had %zu\n",
                         c.id, (long long)c.gpus, timing->runtime.gpu_count);
        return PLUMB_OK;
    }
    put_profile(&hardware, timing, put_hardware, plumb_hardware_profile);
    put_profile(&software, timing, put_software, plumb_software_profile);
    if (hardware.failed || software.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a record");
    else
        rc = plumb_raw_record(&record, timing, &c, &t->origin, hardware.data, software.data,
                              &t->list->remarks, err);
    if (rc == PLUMB_OK)
        rc = take_record(t, &record, err);
    plumb_buf_fini(&hardware);
    plumb_buf_fini(&software);
    plumb_buf_fini(&record);
    return rc;
}

int plumb_take_run(struct plumb_taking *t, const char *path, plumb_error *err)
{
    struct plumb_load load;
    int rc = plumb_runs_is_run(path) ? plumb_load_run(&load, path, err)
                                     : plumb_load_file(&load, path, err);
    if (rc < 0)
        return rc;
    if (load.state == PLUMB_LOAD_LIVE)
        rc = plumb_fail(err, PLUMB_ERR_STATE,
                        "the run '%s' still records: add it when it has ended", path);
    else if (t->config)
        rc = take_configured(t, &load.timing, err);
    else
        take_timing(t, &load.timing);
    plumb_timing_fini(&load.timing);
    return rc;
}
