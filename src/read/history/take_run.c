/* take_run.c: a recorded run as one result. Its metrics are the medians of its nodes and requests
 * and the highest resident set. Nodes that lie in no other are gated, as stages and requests are:
 * a change of a nested node shows in the node around it, where it matters. */
#include "read/history/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
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
    take_identity(t, item, timing);
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
    else
        take_timing(t, &load.timing);
    plumb_timing_fini(&load.timing);
    return rc;
}
