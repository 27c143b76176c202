/* take_google.c: results of files of google/benchmark, which bench.json of plumb bench is one of:
 * each benchmark is a result, with the median over its repetitions.
 *
 * A metric of a repetition is one sample of it; a file with aggregates alone has its median, or its
 * mean. Counters of the user have no known direction, so they are shown and never gated, except
 * rates, whose names end in _per_second. */
#include "read/history/take.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "read/history/canonical.h"

typedef const struct plumb_json_value *json;

static const char *text_at(json object, const char *name)
{
    return plumb_json_text(plumb_json_get(object, name));
}

static const char *name_of(json entry)
{
    const char *name = text_at(entry, "run_name");
    return name ? name : text_at(entry, "name");
}

static bool is_aggregate(json entry)
{
    const char *type = text_at(entry, "run_type");
    return type && strcmp(type, "aggregate") == 0;
}

static bool failed(json entry)
{
    return plumb_json_is(plumb_json_get(entry, "error_occurred"), PLUMB_JSON_IS_TRUE);
}

static bool same_benchmark(json a, json b)
{
    const char *x = name_of(a), *y = name_of(b);
    return x && y && strcmp(x, y) == 0;
}

/* ---- Metrics --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of a field over the repetitions of entry `first`; NaN: no repetition has it. */
static double median_of(json entries, size_t first, const char *field, plumb_error *err)
{
    double *values = calloc(entries->count + 1, sizeof *values);
    double median = NAN;
    size_t n = 0;
    if (!values) {
        plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for benchmarks");
        return NAN;
    }
    for (size_t i = first; i < entries->count; i++) {
        json e = plumb_json_at(entries, i), v = plumb_json_get(e, field);
        if (same_benchmark(e, plumb_json_at(entries, first)) && !is_aggregate(e) && !failed(e) &&
            plumb_json_is_number(v) && !isnan(plumb_json_as_real(v)))
            values[n++] = plumb_json_as_real(v);
    }
    if (n > 0) {
        qsort(values, n, sizeof *values, ascending);
        median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    }
    free(values);
    return median;
}

/* The same, of aggregates where there are no repetitions: the median, or else the mean. */
static double figure_of(json entries, size_t first, const char *field, plumb_error *err)
{
    static const char *const kinds[] = {"median", "mean"};
    double figure = median_of(entries, first, field, err);
    for (size_t k = 0; isnan(figure) && k < 2; k++)
        for (size_t i = first; isnan(figure) && i < entries->count; i++) {
            json e = plumb_json_at(entries, i);
            const char *kind = text_at(e, "aggregate_name");
            if (same_benchmark(e, plumb_json_at(entries, first)) && kind &&
                strcmp(kind, kinds[k]) == 0 && plumb_json_is_number(plumb_json_get(e, field)))
                figure = plumb_json_as_real(plumb_json_get(e, field));
        }
    return figure;
}

static bool is_own_field(const char *name)
{
    static const char *const own[] = {"family_index",
                                      "per_family_instance_index",
                                      "repetitions",
                                      "repetition_index",
                                      "threads",
                                      "iterations",
                                      "real_time",
                                      "cpu_time",
                                      "rms",
                                      "cpu_coefficient",
                                      "real_coefficient"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void take_counters(struct plumb_taking *t, struct plumb_result_item *item, json entries,
                          size_t first, plumb_error *err)
{
    json entry = plumb_json_at(entries, first);
    for (size_t i = 0; i < entry->count; i++) {
        json v = plumb_json_at(entry, i);
        if (!v->name || !plumb_json_is_number(v) || is_own_field(v->name))
            continue;
        bool rate = ends_in(v->name, "_per_second");
        plumb_metric *m = plumb_result_metric(t->list, item, v->name, rate ? "1/s" : "",
                                              figure_of(entries, first, v->name, err));
        if (m)
            m->gated = rate;
    }
}

/* A benchmark may change its unit and stay the same benchmark. NaN: an unknown unit. */
static double ns_of(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return unit ? NAN : 1; /* files from before there were units */
}

/* No measured time is 0 or below: a clock that went backwards did not make a program faster. */
static double time_of(json entries, size_t first, const char *field, double unit_ns,
                      plumb_error *err)
{
    double ns = figure_of(entries, first, field, err) * unit_ns;
    return isfinite(ns) && ns > 0 ? ns : NAN;
}

static void take_metrics(struct plumb_taking *t, struct plumb_result_item *item, json root,
                         json entries, size_t first, plumb_error *err)
{
    json entry = plumb_json_at(entries, first), own = plumb_json_get(root, "plumb");
    json peak = plumb_json_get(own, "peak_bytes");
    double unit_ns = ns_of(text_at(entry, "time_unit"));
    double real = time_of(entries, first, "real_time", unit_ns, err);
    double cpu = time_of(entries, first, "cpu_time", unit_ns, err);
    plumb_result_metric(t->list, item, "real_time", "ns", real);
    if (!own && !isnan(cpu) && !isnan(real)) /* plumb bench does not measure it */
        plumb_result_metric(t->list, item, "cpu_time", "ns", cpu);
    if (plumb_json_is_number(peak))
        plumb_result_metric(t->list, item, "peak_memory", "bytes", plumb_json_as_real(peak));
    take_counters(t, item, entries, first, err);
    item->r.success = !isnan(real);
}

/* ---- Identity -------------------------------------------------------------------------------- */

static void put_facts(struct plumb_json *j, json context)
{
    plumb_json_object(j);
    plumb_put_text(j, "library_version", text_at(context, "library_version"));
    plumb_put_text(j, "library_build_type", text_at(context, "library_build_type"));
    plumb_json_object_end(j);
}

/* Not the other keys: those a user may replace. */
static void put_recipe(struct plumb_json *j, json root, json entry)
{
    json own = plumb_json_get(root, "plumb");
    plumb_json_object(j);
    plumb_put_i64(j, "recipe_schema_version", 2);
    plumb_put_object(j, "run");
    plumb_put_i64(j, "threads", plumb_json_whole(plumb_json_get(entry, "threads")));
    if (own) {
        plumb_put_text(j, "shape", text_at(own, "shape"));
        plumb_put_text(j, "inputs", text_at(own, "inputs"));
        plumb_put_i64(j, "first_step", plumb_json_whole(plumb_json_get(own, "first_step")));
        plumb_put_i64(j, "steps", plumb_json_whole(plumb_json_get(own, "steps")));
        plumb_put_i64(j, "seed", plumb_json_whole(plumb_json_get(own, "seed")));
    }
    plumb_json_object_end(j);
    plumb_json_object_end(j);
}

static void take_identity(struct plumb_taking *t, struct plumb_result_item *item, json root,
                          json entry)
{
    json context = plumb_json_get(root, "context");
    const char *executable = text_at(context, "executable");
    plumb_cohort *c = &item->r.cohort;
    struct plumb_buf hardware = {0}, software = {0}, recipe = {0};
    struct plumb_json j;
    c->workload =
        plumb_arena_strdup(&t->list->arena, plumb_take_base(executable ? executable : t->path));
    c->variant = plumb_arena_strdup(&t->list->arena, name_of(entry));
    c->version = "1";
    item->r.label = c->variant;
    plumb_take_machine(&hardware, text_at(context, "host_name"),
                       plumb_json_whole(plumb_json_get(context, "num_cpus")));
    plumb_json_init(&j, &software, 0);
    put_facts(&j, context);
    plumb_json_init(&j, &recipe, 0);
    put_recipe(&j, root, entry);
    t->list->arena.failed |= hardware.failed || software.failed || recipe.failed;
    if (!t->list->arena.failed)
        plumb_take_identity(t, item, hardware.data, software.data, recipe.data, NULL);
    plumb_buf_fini(&hardware);
    plumb_buf_fini(&software);
    plumb_buf_fini(&recipe);
}

static bool seen_before(json entries, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (same_benchmark(plumb_json_at(entries, i), plumb_json_at(entries, at)))
            return true;
    return false;
}

int plumb_take_google(struct plumb_taking *t, const struct plumb_json_value *root, plumb_error *err)
{
    json entries = plumb_json_get(root, "benchmarks");
    plumb_error why = {0, ""};
    uint64_t time_ns = 0;
    plumb_take_time(text_at(plumb_json_get(root, "context"), "date"), &time_ns);
    for (size_t i = 0; i < entries->count; i++) {
        json entry = plumb_json_at(entries, i);
        const char *name = name_of(entry);
        if (!name || (seen_before(entries, i)) ||
            (!plumb_json_is_number(plumb_json_get(entry, "real_time")) && !failed(entry)))
            continue;
        struct plumb_result_item *item = plumb_result_add(t->list);
        if (!item)
            break;
        item->keyed = true;
        item->r.time_ns = time_ns;
        take_metrics(t, item, root, entries, i, &why);
        take_identity(t, item, root, entry);
        if (!item->r.success)
            plumb_buf_printf(&t->list->remarks,
                             "'%s': benchmark '%s' failed, or has no time above 0\n", t->path,
                             name);
    }
    if (why.code < 0)
        return plumb_fail(err, why.code, "%s", why.message);
    if (t->list->count == t->first && !t->list->arena.failed)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' has no benchmarks with a time", t->path);
    return PLUMB_OK;
}
