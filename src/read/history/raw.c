/* raw.c: see raw.h. The times of a request are those that the program marked: a program whose
 * device works asynchronously waits for it before both marks. */
#include "read/history/raw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "read/history/canonical.h"
#include "read/history/digest.h"
#include "read/history/identity.h"

typedef const struct plumb_json_value *json;

enum { COMPONENTS = 3 };
static const char *const components[COMPONENTS] = {"text_encoder_time_s", "dit_time_s",
                                                   "vae_decode_time_s"};

int plumb_raw_component(const char *tag, const char *stage)
{
    static const struct {
        const char *name;
        int component;
    } classes[] = {{"TextEncodingStage", 0},
                   {"DenoisingStage", 1},
                   {"DmdDenoisingStage", 1},
                   {"DecodingStage", 2}};
    for (int i = 0; tag && i < COMPONENTS; i++)
        if (strcmp(components[i], tag) == 0)
            return i;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].name, stage) == 0)
            return classes[i].component;
    return -1;
}

/* ---- Measured runs
 * ---------------------------------------------------------------------------- */

struct measured {
    double time_s;
    double peak_mb;                 /* NaN: not known */
    double component_s[COMPONENTS]; /* NaN: no stage of it ran */
};

static double peak_of(const struct plumb_timing_memory *m)
{
    uint64_t most = 0;
    for (size_t i = 0; i < m->use_count; i++)
        most = m->uses[i].peak_allocated > most ? m->uses[i].peak_allocated : most;
    if (most == 0 && m->samples > 0)
        most = m->peak_rss;
    return most ? (double)most / (1 << 20) : NAN;
}

static struct measured measure(const struct plumb_timing *t, const struct plumb_timing_request *r)
{
    struct measured m = {(double)r->wall_ns / 1e9, peak_of(&r->memory), {NAN, NAN, NAN}};
    for (size_t i = 0; i < r->stage_count; i++) {
        const struct plumb_timing_request_stage *s = &r->stages[i];
        if (s->node >= t->node_count || s->count == 0)
            continue;
        int c = plumb_raw_component(t->nodes[s->node].metric, t->nodes[s->node].name);
        if (c >= 0) {
            double seconds = (double)s->total_ns / 1e9;
            m.component_s[c] = isnan(m.component_s[c]) ? seconds : m.component_s[c] + seconds;
        }
    }
    return m;
}

static int measure_all(struct measured *out, const struct plumb_timing *t,
                       const struct plumb_benchmark_config *c, plumb_error *err)
{
    int64_t skipped = 0, n = 0;
    for (size_t i = 0; i < t->request_count && n < c->runs; i++) {
        if (t->requests[i].state != PLUMB_TIMING_REQUEST_ENDED)
            continue;
        if (skipped < c->warmup)
            skipped++;
        else
            out[n++] = measure(t, &t->requests[i]);
    }
    if (n < c->runs)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "the run has %lld good requests, and benchmark '%s' wants %lld warm-ups "
                          "and %lld measured runs: mark each of its runs as a request",
                          (long long)(skipped + n), c->id, (long long)c->warmup,
                          (long long)c->runs);
    return PLUMB_OK;
}

/* ---- Writing
 * ---------------------------------------------------------------------------------- */

/* The decimals of the original, and more where these would leave less than three digits: it was
 * made for minutes, and a stage of a program in C may take microseconds. */
static int decimals_of(double value, int decimals)
{
    double size = fabs(value) * pow(10, decimals);
    while (size > 0 && size < 100 && decimals < 12) {
        size *= 10;
        decimals++;
    }
    return decimals;
}

/* Rounded as by Python's round(); NaN: null. */
static void put_rounded(struct plumb_json *j, const char *key, double value, int decimals)
{
    if (isnan(value))
        plumb_put_null(j, key);
    else
        plumb_put_rounded(j, key, value, decimals);
}

static void put_time(struct plumb_json *j, const char *key, double seconds)
{
    put_rounded(j, key, seconds, decimals_of(seconds, 3));
}

static double mean_of(const struct measured *m, int64_t n, int component)
{
    double sum = 0;
    int64_t known = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = component < 0 ? m[i].time_s : m[i].component_s[component];
        if (!isnan(v)) {
            sum += v;
            known++;
        }
    }
    return known ? sum / (double)known : NAN;
}

static void put_times(struct plumb_json *j, const struct measured *m,
                      const struct plumb_benchmark_config *c)
{
    json frames = plumb_json_get(plumb_json_get(c->root, "generation_kwargs"), "num_frames");
    double average = mean_of(m, c->runs, -1), peak = NAN;
    double work = plumb_json_is_number(frames) && plumb_json_as_real(frames) > 0
                      ? plumb_json_as_real(frames)
                      : 1;
    for (int64_t i = 0; i < c->runs; i++)
        peak = isnan(peak) || m[i].peak_mb > peak ? m[i].peak_mb : peak;
    put_time(j, "avg_generation_time_s", average);
    plumb_put_array(j, "individual_times_s");
    for (int64_t i = 0; i < c->runs; i++)
        plumb_json_fixed(j, m[i].time_s, decimals_of(m[i].time_s, 3));
    plumb_json_array_end(j);
    put_rounded(j, "throughput_fps", average > 0 ? work / average : NAN, 3);
    put_rounded(j, "max_peak_memory_mb", peak, decimals_of(peak, 1));
    plumb_put_array(j, "individual_peak_memories_mb");
    for (int64_t i = 0; i < c->runs; i++)
        if (isnan(m[i].peak_mb))
            plumb_json_null(j);
        else
            plumb_json_fixed(j, m[i].peak_mb, decimals_of(m[i].peak_mb, 1));
    plumb_json_array_end(j);
    for (int i = 0; i < COMPONENTS; i++)
        put_time(j, components[i], mean_of(m, c->runs, i));
}

/* A value of the configuration, as canonical JSON; a NULL value is left out. */
static void put_value(struct plumb_json *j, const char *key, json v)
{
    if (!v)
        return;
    plumb_json_key(j, key);
    plumb_canonical_json(j->out, v);
    j->after_key = false;
}

static void put_text_value(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_buf_str(j->out, text);
    j->after_key = false;
}

static void put_limits(struct plumb_json *j, const struct plumb_benchmark_config *c,
                       const char *device, struct plumb_buf *remarks)
{
    json limits = plumb_benchmark_limits(c, device);
    if (limits) {
        put_value(j, "thresholds", limits);
        return;
    }
    plumb_buf_printf(remarks,
                     "benchmark '%s' has no limits for this device and no default: 120 s and "
                     "30000 MB are taken\n",
                     c->id);
    plumb_put_object(j, "thresholds");
    plumb_put_real(j, "max_generation_time_s", 120);
    plumb_put_real(j, "max_peak_memory_mb", 30000);
    plumb_json_object_end(j);
}

static void put_origin(struct plumb_json *j, const struct plumb_run_origin *o,
                       const struct plumb_timing *t)
{
    plumb_put_text(j, "commit", o->commit ? o->commit : t->runtime.git_commit);
    plumb_put_text(j, "run_source", o->source);
    plumb_put_text(j, "branch", o->branch);
    plumb_put_text(j, "pr_number", o->pr ? o->pr : "");
    plumb_put_text(j, "test_scope", o->scope);
    plumb_put_text(j, "build_url", o->build_url);
    plumb_put_text(j, "build_id", o->build_id);
    plumb_put_text(j, "job_id", o->job_id);
    plumb_put_time(j, "timestamp", t->start_unix_ns);
}

static void put_identity(struct plumb_json *j, const struct plumb_benchmark_config *c,
                         const char *hardware, const char *software)
{
    const char *backend = getenv("FASTVIDEO_ATTENTION_BACKEND");
    struct plumb_buf recipe = {0};
    char digest[PLUMB_DIGEST], id[PLUMB_PROFILE_ID];
    plumb_recipe_of_config(&recipe, c->root, backend, 1); /* only the first prompt is measured */
    if (recipe.failed) {
        j->out->failed = true;
        plumb_buf_fini(&recipe);
        return;
    }
    put_value(j, "workload_id", plumb_json_get(c->root, "workload_id"));
    put_value(j, "variant_id", plumb_json_get(c->root, "variant_id"));
    put_value(j, "benchmark_version", plumb_json_get(c->root, "benchmark_version"));
    put_text_value(j, "recipe", recipe.data);
    plumb_digest_text(digest, recipe.data);
    plumb_put_text(j, "recipe_fingerprint", digest);
    put_text_value(j, "hardware_profile", hardware);
    plumb_profile_id(id, "hw", hardware);
    plumb_put_text(j, "hardware_profile_id", id);
    put_text_value(j, "software_profile", software);
    plumb_profile_id(id, "sw", software);
    plumb_put_text(j, "software_profile_id", id);
    plumb_buf_fini(&recipe);
}

int plumb_raw_record(struct plumb_buf *out, const struct plumb_timing *run,
                     const struct plumb_benchmark_config *config,
                     const struct plumb_run_origin *origin, const char *hardware,
                     const char *software, struct plumb_buf *remarks, plumb_error *err)
{
    json model = plumb_json_get(config->root, "model");
    const char *device = run->runtime.gpu_count > 0 ? run->runtime.gpus[0] : run->cpu;
    struct measured *m = calloc((size_t)(config->runs < 100000 ? config->runs : 100000), sizeof *m);
    struct plumb_json j;
    if (!m || config->runs > 100000) {
        free(m);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for %lld measured runs",
                          (long long)config->runs);
    }
    int rc = measure_all(m, run, config, err);
    if (rc == PLUMB_OK) {
        plumb_json_init(&j, out, 2);
        plumb_json_object(&j);
        plumb_put_text(&j, "benchmark_id", config->id);
        if (config->keyed)
            plumb_put_i64(&j, "result_schema_version", 2);
        plumb_put_text(&j, "model_short_name",
                       plumb_json_text(plumb_json_get(model, "model_short_name")));
        plumb_put_text(&j, "device", device);
        plumb_put_i64(&j, "num_gpus", config->gpus);
        plumb_put_i64(&j, "num_warmup_runs", config->warmup);
        plumb_put_i64(&j, "num_measurement_runs", config->runs);
        put_times(&j, m, config);
        put_limits(&j, config, device, remarks);
        put_value(&j, "regression_thresholds",
                  plumb_json_get(config->root, "regression_thresholds"));
        put_value(&j, "quality_metadata", plumb_json_get(config->root, "quality_metadata"));
        put_value(&j, "variant_metadata", plumb_json_get(config->root, "variant_metadata"));
        put_origin(&j, origin, run);
        put_identity(&j, config, hardware, software);
        plumb_json_object_end(&j);
        if (out->failed)
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a record");
    }
    free(m);
    return rc;
}
