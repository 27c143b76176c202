/* identity.c: see identity.h. Each profile is first written as JSON in any order, then read and
 * written again in its canonical form: one place decides how a value is spelled. */
#include "read/history/identity.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json_fields.h"
#include "read/history/canonical.h"
#include "read/json/scan.h"

typedef const struct plumb_json_value *json;

/* Appends the canonical form of the text. */
static void put_canonical(struct plumb_buf *out, const struct plumb_buf *text)
{
    struct plumb_json_tree tree;
    plumb_error err;
    if (text->failed ||
        plumb_json_tree_read(&tree, text->data, text->len, PLUMB_JSON_NAN, "profile", &err) < 0) {
        out->failed = true;
        return;
    }
    plumb_canonical_json(out, tree.root);
    plumb_json_tree_fini(&tree);
}

/* Writes a value as it is. Canonical text is JSON. */
static void put_value(struct plumb_buf *out, json v)
{
    plumb_canonical_json(out, v);
}

static const char *text_of(json v)
{
    const char *text = plumb_json_text(v);
    for (const char *p = text; p && *p; p++)
        if (!isspace((unsigned char)*p))
            return text;
    return NULL;
}

/* ---- Hardware -------------------------------------------------------------------------------- */

static void put_gpu(struct plumb_buf *out, json gpu)
{
    const char *name = text_of(plumb_json_get(gpu, "name"));
    const char *capability = text_of(plumb_json_get(gpu, "compute_capability"));
    json bytes = plumb_json_get(gpu, "memory_bytes");
    json gb = plumb_json_get(gpu, "memory_gb");
    plumb_buf_str(out, "{\"name\":");
    plumb_canonical_text(out, name ? name : "unknown");
    plumb_buf_str(out, ",\"memory_gb\":");
    if (plumb_json_is_number(gb))
        put_value(out, gb);
    else if (plumb_json_is_number(bytes))
        plumb_buf_printf(out, "%.0f", nearbyint(plumb_json_as_real(bytes) / (1 << 30)));
    else
        plumb_buf_str(out, "null");
    plumb_buf_str(out, ",\"compute_capability\":");
    if (capability)
        plumb_canonical_text(out, capability);
    else
        plumb_buf_str(out, "null");
    plumb_buf_char(out, '}');
}

/* The processor is a part only where it is known: profiles of other systems have none. */
static void put_cpu(struct plumb_buf *out, json facts)
{
    const char *cpu = text_of(plumb_json_get(facts, "cpu"));
    json cpus = plumb_json_get(facts, "cpus");
    if (!cpu && !plumb_json_is_number(cpus))
        return;
    plumb_buf_str(out, ",\"cpu\":{\"name\":");
    plumb_canonical_text(out, cpu ? cpu : "unknown");
    plumb_buf_str(out, ",\"count\":");
    put_value(out, cpus);
    plumb_buf_char(out, '}');
}

void plumb_hardware_profile(struct plumb_buf *out, const struct plumb_json_value *facts)
{
    enum { MOST = 4096 };
    struct plumb_buf text = {0};
    json gpus = plumb_json_get(facts, "gpus");
    json counted = plumb_json_get(facts, "gpu_count");
    size_t listed = plumb_json_is(gpus, PLUMB_JSON_IS_ARRAY) ? gpus->count : 0;
    int64_t told = plumb_json_is(counted, PLUMB_JSON_IS_INT) ? counted->whole : (int64_t)listed;
    size_t count = told < 0 ? 0 : told > MOST ? MOST : (size_t)told;
    const char *type = text_of(plumb_json_get(facts, "device_type"));
    const char *link = text_of(plumb_json_get(facts, "interconnect"));
    if (!type)
        type = count > 0 ? "cuda" : "cpu";
    if (!link)
        link = count == 0 ? "none" : count == 1 ? "single_gpu" : "unknown";
    plumb_buf_str(&text, "{\"device_type\":");
    plumb_canonical_text(&text, type);
    plumb_buf_printf(&text, ",\"gpu_count\":%zu,\"gpus\":[", count);
    for (size_t i = 0; i < count; i++) {
        plumb_buf_str(&text, i ? "," : "");
        put_gpu(&text, i < listed ? plumb_json_at(gpus, i) : NULL);
    }
    plumb_buf_str(&text, "],\"interconnect\":");
    plumb_canonical_text(&text, link);
    put_cpu(&text, facts);
    plumb_buf_char(&text, '}');
    put_canonical(out, &text);
    plumb_buf_fini(&text);
}

/* ---- Software -------------------------------------------------------------------------------- */

/* The first "digits.digits" of a version, or all of one that has none. */
static void put_major_minor(struct plumb_buf *out, const char *version)
{
    for (const char *p = version; *p; p++) {
        size_t major = strspn(p, "0123456789");
        size_t minor = major && p[major] == '.' ? strspn(p + major + 1, "0123456789") : 0;
        if (minor > 0) {
            plumb_buf_printf(out, "\"%.*s\"", (int)(major + 1 + minor), p);
            return;
        }
        p += major ? major - 1 : 0;
    }
    plumb_canonical_text(out, version);
}

static void put_versions(struct plumb_buf *out, json packages)
{
    bool first = true;
    plumb_buf_str(out, "\"packages\":{");
    for (size_t i = 0; i < plumb_json_count(packages); i++) {
        json p = plumb_json_at(packages, i);
        if (!p->name || !text_of(p)) /* one that is not installed has no version */
            continue;
        plumb_buf_str(out, first ? "" : ",");
        first = false;
        plumb_canonical_text(out, p->name);
        plumb_buf_char(out, ':');
        put_value(out, p);
    }
    plumb_buf_char(out, '}');
}

void plumb_software_profile(struct plumb_buf *out, const struct plumb_json_value *facts)
{
    enum { RUNTIMES = 3 }; /* the first three of the original, where null is a value */
    static const struct {
        const char *name;
        bool exact;
    } known[] = {{"python", false},
                 {"pytorch", false},
                 {"cuda", false},
                 {"libc", false},
                 {"framework_version", false},
                 {"nvidia_driver", false},
                 {"framework", true},
                 {"compiler", true},
                 {"library_version", true},
                 {"library_build_type", true},
                 {"attention_backend", true},
                 {"flash_attention_4_enabled", true},
                 {"performance_profile_version", true},
                 {"container_image_version", true}};
    struct plumb_buf text = {0};
    plumb_buf_char(&text, '{');
    put_versions(&text, plumb_json_get(facts, "packages"));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        json v = plumb_json_get(facts, known[i].name);
        if (!v || (v->kind == PLUMB_JSON_IS_NULL && i >= RUNTIMES))
            continue;
        plumb_buf_printf(&text, ",\"%s\":", known[i].name);
        if (plumb_json_text(v) && !known[i].exact)
            put_major_minor(&text, v->text);
        else
            put_value(&text, v);
    }
    plumb_buf_char(&text, '}');
    put_canonical(out, &text);
    plumb_buf_fini(&text);
}

/* ---- Recipes --------------------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *names)
{
    for (; name && *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* The members of an object without those of the list. */
static void put_without(struct plumb_buf *out, json object, const char *const *left_out)
{
    bool first = true;
    plumb_buf_char(out, '{');
    for (size_t i = 0; i < plumb_json_count(object); i++) {
        json member = plumb_json_at(object, i);
        if (is_one_of(member->name, left_out))
            continue;
        plumb_buf_str(out, first ? "" : ",");
        first = false;
        plumb_canonical_text(out, member->name);
        plumb_buf_char(out, ':');
        put_value(out, member);
    }
    plumb_buf_char(out, '}');
}

/* The SHA-256 of a text, or of what stands for another kind of value; null of none. */
static void put_hash(struct plumb_buf *out, json v)
{
    char digest[PLUMB_DIGEST];
    struct plumb_buf text = {0};
    if (!v || v->kind == PLUMB_JSON_IS_NULL) {
        plumb_buf_str(out, "null");
        return;
    }
    if (plumb_json_text(v))
        plumb_buf_str(&text, v->text);
    else
        put_value(&text, v);
    plumb_digest_text(digest, text.failed || !text.data ? "" : text.data);
    out->failed |= text.failed;
    plumb_buf_fini(&text);
    plumb_buf_printf(out, "\"%s\"", digest);
}

static void put_inputs(struct plumb_buf *out, json config, size_t measured)
{
    json prompts = plumb_json_get(config, "test_prompts");
    json kwargs = plumb_json_get(config, "generation_kwargs");
    json negative = plumb_json_get(kwargs, "negative_prompt");
    size_t n = plumb_json_is(prompts, PLUMB_JSON_IS_ARRAY) ? prompts->count : 0;
    n = measured > 0 && measured < n ? measured : n;
    plumb_buf_printf(out, "{\"prompt_count\":%zu,\"prompt_sha256\":[", n);
    for (size_t i = 0; i < n; i++) {
        plumb_buf_str(out, i ? "," : "");
        put_hash(out, plumb_json_at(prompts, i));
    }
    plumb_buf_str(out, "],\"negative_prompt_sha256\":");
    put_hash(out, negative ? negative : plumb_json_get(kwargs, "neg_prompt"));
    plumb_buf_char(out, '}');
}

static void put_member(struct plumb_buf *out, const char *name, json v)
{
    plumb_buf_printf(out, "\"%s\":", name);
    put_value(out, v);
}

void plumb_recipe_of_config(struct plumb_buf *out, const struct plumb_json_value *config,
                            const char *backend, size_t prompts)
{
    static const char *const paths_and_prompts[] = {
        "output_path", "output_video_name", "prompt", "negative_prompt", "neg_prompt", NULL};
    static const char *const none[] = {NULL};
    struct plumb_buf text = {0};
    json model = plumb_json_get(config, "model");
    json revision = plumb_json_get(model, "revision");
    plumb_buf_printf(&text, "{\"recipe_schema_version\":%d,\"benchmark\":{", PLUMB_RECIPE_SCHEMA);
    put_member(&text, "workload_id", plumb_json_get(config, "workload_id"));
    plumb_buf_char(&text, ',');
    put_member(&text, "variant_id", plumb_json_get(config, "variant_id"));
    plumb_buf_char(&text, ',');
    put_member(&text, "benchmark_version", plumb_json_get(config, "benchmark_version"));
    plumb_buf_str(&text, "},\"model\":{");
    put_member(&text, "model_path", plumb_json_get(model, "model_path"));
    plumb_buf_char(&text, ',');
    put_member(&text, "revision",
               text_of(revision) ? revision : plumb_json_get(config, "revision"));
    plumb_buf_str(&text, "},\"init_kwargs\":");
    put_without(&text, plumb_json_get(config, "init_kwargs"), none);
    plumb_buf_str(&text, ",\"generation_kwargs\":");
    put_without(&text, plumb_json_get(config, "generation_kwargs"), paths_and_prompts);
    plumb_buf_str(&text, ",\"inputs\":");
    put_inputs(&text, config, prompts);
    plumb_buf_str(&text, ",\"attention\":{\"requested_backend\":");
    plumb_canonical_text(&text, backend && *backend ? backend : "auto");
    plumb_buf_str(&text, "}}");
    put_canonical(out, &text);
    plumb_buf_fini(&text);
}

void plumb_recipe_canonical(struct plumb_buf *out, const struct plumb_json_value *recipe)
{
    static const struct {
        const char *part;
        const char *left_out[2];
    } audit[] = {{"model", {"resolved_revision", NULL}},
                 {"attention", {"resolved_backend", NULL}},
                 {"benchmark", {"benchmark_id", NULL}}};
    struct plumb_buf text = {0};
    plumb_buf_char(&text, '{');
    for (size_t i = 0; i < plumb_json_count(recipe); i++) {
        json member = plumb_json_at(recipe, i);
        const char *const *left_out = NULL;
        for (size_t k = 0; member->name && k < sizeof audit / sizeof *audit; k++)
            if (strcmp(member->name, audit[k].part) == 0)
                left_out = audit[k].left_out;
        plumb_buf_str(&text, i ? "," : "");
        plumb_canonical_text(&text, member->name ? member->name : "");
        plumb_buf_char(&text, ':');
        if (left_out && plumb_json_is(member, PLUMB_JSON_IS_OBJECT))
            put_without(&text, member, left_out);
        else
            put_value(&text, member);
    }
    plumb_buf_char(&text, '}');
    put_canonical(out, &text);
    plumb_buf_fini(&text);
}

void plumb_profile_id(char out[PLUMB_PROFILE_ID], const char *prefix, const char *canonical)
{
    char digest[PLUMB_DIGEST];
    plumb_digest_text(digest, canonical);
    snprintf(out, PLUMB_PROFILE_ID, "%.6s-%.16s", prefix, digest);
}
