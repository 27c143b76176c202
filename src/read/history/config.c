/* config.c: see config.h. */
#include "read/history/config.h"

#include <string.h>

#include "base/error.h"

typedef const struct plumb_json_value *json;

static int wrong(const char *name, const char *field, const char *what, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': %s must be %s", name, field, what);
}

static bool is_text(json v)
{
    const char *text = plumb_json_text(v);
    return text && text[strspn(text, " \t\r\n")];
}

static bool is_object_or_none(json root, const char *field)
{
    json v = plumb_json_get(root, field);
    return !v || v->kind == PLUMB_JSON_IS_OBJECT;
}

/* ---- The schema
 * ------------------------------------------------------------------------------- */

static int check_version_2(json root, const char *name, plumb_error *err)
{
    if (!is_text(plumb_json_get(root, "workload_id")))
        return wrong(name, "workload_id", "a text that is not empty", err);
    if (!is_text(plumb_json_get(root, "variant_id")))
        return wrong(name, "variant_id", "a text that is not empty", err);
    if (!plumb_json_is(plumb_json_get(root, "benchmark_version"), PLUMB_JSON_IS_INT))
        return wrong(name, "benchmark_version", "a whole number", err);
    return PLUMB_OK;
}

static int check_schema(struct plumb_benchmark_config *out, const char *name, plumb_error *err)
{
    static const char *const of_version_2[] = {"workload_id", "variant_id", "benchmark_version"};
    static const char *const objects[] = {"quality_metadata", "regression_thresholds", "model",
                                          "init_kwargs",      "generation_kwargs",     "run_config",
                                          "thresholds"};
    json root = out->root, version = plumb_json_get(root, "config_schema_version");
    if (!plumb_json_is(root, PLUMB_JSON_IS_OBJECT))
        return wrong(name, "the configuration", "a JSON object", err);
    if (!is_text(plumb_json_get(root, "benchmark_id")))
        return wrong(name, "benchmark_id", "a text that is not empty", err);
    if (version && !(plumb_json_is(version, PLUMB_JSON_IS_INT) && version->whole == 2))
        return wrong(name, "config_schema_version", "2, or not there", err);
    out->keyed = version != NULL;
    for (size_t i = 0; !version && i < sizeof of_version_2 / sizeof *of_version_2; i++)
        if (plumb_json_get(root, of_version_2[i]))
            return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s': %s needs config_schema_version 2", name,
                              of_version_2[i]);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!is_object_or_none(root, objects[i]))
            return wrong(name, objects[i], "an object", err);
    return version ? check_version_2(root, name, err) : PLUMB_OK;
}

/* ---- Counts
 * ----------------------------------------------------------------------------------- */

/* A whole number of at least `least`; not there: stays. */
static int take_count(int64_t *out, json object, const char *field, int64_t least, const char *what,
                      const char *name, plumb_error *err)
{
    json v = plumb_json_get(object, field);
    if (!v)
        return PLUMB_OK;
    if (!plumb_json_is(v, PLUMB_JSON_IS_INT) || v->whole < least)
        return wrong(name, field, what, err);
    *out = v->whole;
    return PLUMB_OK;
}

/* tp_size and sp_size: -1 says that the program decides. */
static int64_t parallel(json init, const char *field)
{
    int64_t n = plumb_json_whole(plumb_json_get(init, field));
    return n > 0 ? n : 0;
}

static int check_counts(struct plumb_benchmark_config *out, const char *name, plumb_error *err)
{
    json run = plumb_json_get(out->root, "run_config");
    json init = plumb_json_get(out->root, "init_kwargs");
    int64_t asked = 0, required = 0;
    int rc;
    out->warmup = 1;
    out->runs = 3;
    if ((rc = take_count(&out->warmup, run, "num_warmup_runs", 0, "a whole number of 0 or more",
                         name, err)) < 0 ||
        (rc = take_count(&out->runs, run, "num_measurement_runs", 1, "a whole number of 1 or more",
                         name, err)) < 0 ||
        (rc = take_count(&asked, init, "num_gpus", 0, "a whole number of 0 or more", name, err)) <
            0 ||
        (rc = take_count(&required, run, "required_gpus", 0, "a whole number of 0 or more", name,
                         err)) < 0)
        return rc;
    int64_t tp = parallel(init, "tp_size"), sp = parallel(init, "sp_size");
    int64_t least = tp > sp ? tp : sp;
    if (asked > 0 && required > 0 && asked != required)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s': init_kwargs.num_gpus is %lld and run_config.required_gpus %lld: "
                          "they must be equal",
                          name, (long long)asked, (long long)required);
    out->gpus = asked > 0 ? asked : required > 0 ? required : least;
    if (out->gpus < least)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s': %lld GPUs are fewer than max(tp_size, sp_size), which is %lld",
                          name, (long long)out->gpus, (long long)least);
    return PLUMB_OK;
}

int plumb_benchmark_config_read(struct plumb_benchmark_config *out,
                                const struct plumb_json_value *root, const char *name,
                                plumb_error *err)
{
    int rc;
    *out = (struct plumb_benchmark_config){.root = root};
    if ((rc = check_schema(out, name, err)) < 0 || (rc = check_counts(out, name, err)) < 0)
        return rc;
    out->id = plumb_json_text(plumb_json_get(root, "benchmark_id"));
    return PLUMB_OK;
}

const struct plumb_json_value *plumb_benchmark_limits(const struct plumb_benchmark_config *config,
                                                      const char *device)
{
    json all = plumb_json_get(config->root, "thresholds");
    for (size_t i = 0; device && i < plumb_json_count(all); i++) {
        json block = plumb_json_at(all, i);
        if (block->name && strcmp(block->name, "default") != 0 && strstr(device, block->name))
            return block;
    }
    return plumb_json_get(all, "default");
}
