/* take_perf.c: one result of FastVideo's runner: perf_*.json, of which version 2 has an identity,
 * or the normalized record of its history. */
#include "read/history/take.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "read/history/canonical.h"
#include "read/history/metric_kinds.h"

typedef const struct plumb_json_value *json;

static const struct {
    const char *name;  /* of the metric, and of the normalized record */
    const char *field; /* of the raw record */
    const char *limit; /* in its thresholds */
    const char *unit;
} metrics[] = {
    {"latency", "avg_generation_time_s", "max_generation_time_s", "s"},
    {"throughput", "throughput_fps", NULL, "1/s"},
    {"memory", "max_peak_memory_mb", "max_peak_memory_mb", "MB"},
    {"text_encoder_time_s", "text_encoder_time_s", "max_text_encoder_time_s", "s"},
    {"dit_time_s", "dit_time_s", "max_dit_time_s", "s"},
    {"vae_decode_time_s", "vae_decode_time_s", "max_vae_decode_time_s", "s"},
};

static double number(json object, const char *name)
{
    json v = plumb_json_get(object, name);
    return plumb_json_is_number(v) ? plumb_json_as_real(v) : NAN;
}

static void take_metrics(struct plumb_taking *t, struct plumb_result_item *item, json root)
{
    json limits = plumb_json_get(root, "thresholds");
    json own = plumb_json_get(root, "regression_thresholds");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        double value = number(root, metrics[i].field);
        if (isnan(value))
            value = number(root, metrics[i].name);
        plumb_metric *m =
            plumb_result_metric(t->list, item, metrics[i].name, metrics[i].unit, value);
        if (!m)
            return;
        plumb_metric_override(m, plumb_json_get(own, metrics[i].name));
        if (metrics[i].limit && value > number(limits, metrics[i].limit))
            item->breached = true;
    }
}

/* A key of the record, or of the benchmark that its recipe names. */
static const char *key_of(struct plumb_taking *t, json root, const char *name)
{
    const char *key = plumb_take_key(t, plumb_json_get(root, name));
    json benchmark = plumb_json_get(plumb_json_get(root, "recipe"), "benchmark");
    return key ? key : plumb_take_key(t, plumb_json_get(benchmark, name));
}

/* The canonical text of an object, whose end is the caller's; NULL: not an object. */
static const char *text_of(struct plumb_buf *text, json object)
{
    if (!plumb_json_is(object, PLUMB_JSON_IS_OBJECT))
        return NULL;
    plumb_canonical_json(text, object);
    return text->failed ? NULL : text->data;
}

static void take_identity(struct plumb_taking *t, struct plumb_result_item *item, json root)
{
    plumb_cohort *c = &item->r.cohort;
    struct plumb_buf hardware = {0}, software = {0}, recipe = {0}, audit = {0};
    c->workload = key_of(t, root, "workload_id");
    c->variant = key_of(t, root, "variant_id");
    c->version = key_of(t, root, "benchmark_version");
    c->recipe = plumb_take_key(t, plumb_json_get(root, "recipe_fingerprint"));
    c->hardware = plumb_take_key(t, plumb_json_get(root, "hardware_profile_id"));
    c->software = plumb_take_key(t, plumb_json_get(root, "software_profile_id"));
    item->environment = plumb_take_key(t, plumb_json_get(root, "environment_fingerprint"));
    plumb_take_identity(t, item, text_of(&hardware, plumb_json_get(root, "hardware_profile")),
                        text_of(&software, plumb_json_get(root, "software_profile")),
                        text_of(&recipe, plumb_json_get(root, "recipe")),
                        text_of(&audit, plumb_json_get(root, "environment_metadata")));
    plumb_buf_fini(&hardware);
    plumb_buf_fini(&software);
    plumb_buf_fini(&recipe);
    plumb_buf_fini(&audit);
}

static void take_origin(struct plumb_taking *t, plumb_result *r, json root, bool normalized)
{
    static const char *const sources[] = {"pr", "local", "scheduled_main", "unknown"};
    const char *source = plumb_json_text(plumb_json_get(root, "run_source"));
    r->commit = plumb_take_text(t, plumb_json_get(root, normalized ? "commit_sha" : "commit"));
    r->branch = plumb_take_text(t, plumb_json_get(root, "branch"));
    r->pr = plumb_pull_request(plumb_take_key(t, plumb_json_get(root, "pr_number")));
    r->device = plumb_take_text(t, plumb_json_get(root, normalized ? "gpu_type" : "device"));
    r->label = plumb_take_text(t, plumb_json_get(root, normalized ? "model_id" : "benchmark_id"));
    if (!r->label)
        r->label = plumb_take_text(t, plumb_json_get(root, "model_short_name"));
    for (size_t i = 0; source && i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i], source) == 0)
            r->run_source = sources[i];
}

int plumb_take_perf(struct plumb_taking *t, const struct plumb_json_value *root, plumb_error *err)
{
    bool normalized = !plumb_json_get(root, "benchmark_id");
    const char *stamp = plumb_json_text(plumb_json_get(root, "timestamp"));
    struct plumb_result_item *item = plumb_result_add(t->list);
    if (!item)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for '%s'", t->path);
    item->keyed = plumb_json_whole(plumb_json_get(root, "result_schema_version")) == 2;
    item->history = normalized;
    if (stamp && !plumb_take_time(stamp, &item->r.time_ns))
        plumb_buf_printf(&t->list->remarks,
                         "'%s': timestamp '%s' is not a time: that of the file is taken\n", t->path,
                         stamp);
    take_metrics(t, item, root);
    take_origin(t, &item->r, root, normalized);
    take_identity(t, item, root);
    item->r.success = !item->breached;
    if (normalized) {
        item->r.success = !plumb_json_is(plumb_json_get(root, "success"), PLUMB_JSON_IS_FALSE);
        item->r.eligible =
            plumb_json_is(plumb_json_get(root, "baseline_eligible"), PLUMB_JSON_IS_TRUE);
    }
    return PLUMB_OK;
}
