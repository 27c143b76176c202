/* take_asv.c: a folder of results of airspeed velocity: benchmarks.json, and for each machine a
 * folder with a file for each commit and environment. Each value is a result of the time of its
 * commit: these are old results, which are stored and not compared. A file that is not JSON is left
 * out and named, as asv does.
 *
 * Files of version 1 have a value, or an object with `result` and `params`, for each benchmark;
 * those of version 2 have a list, whose places `result_columns` names. */
#include "read/history/take.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "codec/json_fields.h"
#include "read/history/canonical.h"
#include "read/json/fields.h"
#include "read/json/scan.h"

typedef const struct plumb_json_value *json;

enum { PATH_BYTES = 4096 };

struct file {
    struct plumb_taking *t;
    json benchmarks, root;
    const char *path;
    struct plumb_buf hardware, software;
};

static bool is_file(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n < (int)sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool plumb_take_is_asv(const char *path)
{
    return is_file(path, "benchmarks.json");
}

static int read_json(struct plumb_json_tree *tree, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_read_file(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_json_tree_read(tree, text.data ? text.data : "", text.len, PLUMB_JSON_NAN, path,
                                  err);
    plumb_buf_fini(&text);
    return rc;
}

/* ---- One value ------------------------------------------------------------------------------- */

/* asv calls seconds "seconds". */
static const char *unit_of(json benchmark)
{
    const char *unit = plumb_json_text(plumb_json_get(benchmark, "unit"));
    return !unit ? "" : strcmp(unit, "seconds") == 0 ? "s" : unit;
}

static const char *recipe_of(struct plumb_buf *out, json benchmark)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 0);
    plumb_json_object(&j);
    plumb_put_i64(&j, "recipe_schema_version", 2);
    plumb_put_text(&j, "code", plumb_json_text(plumb_json_get(benchmark, "code")));
    plumb_json_object_end(&j);
    return out->failed ? NULL : out->data;
}

static void add_value(struct file *f, const char *name, const char *variant, double value)
{
    struct plumb_taking *t = f->t;
    struct plumb_result_item *item = isnan(value) ? NULL : plumb_result_add(t->list);
    json benchmark = plumb_json_get(f->benchmarks, name);
    struct plumb_buf recipe = {0};
    if (!item)
        return;
    item->history = true;
    item->r.time_ns =
        (uint64_t)plumb_json_whole(plumb_json_get(f->root, "date")) * (uint64_t)1000000;
    item->r.commit = plumb_take_text(t, plumb_json_get(f->root, "commit_hash"));
    item->r.device =
        plumb_take_text(t, plumb_json_get(plumb_json_get(f->root, "params"), "machine"));
    item->r.source = plumb_arena_strdup(&t->list->arena, f->path);
    item->r.label = plumb_arena_strdup(&t->list->arena, name);
    item->r.cohort.workload = item->r.label;
    item->r.cohort.variant = plumb_arena_strdup(&t->list->arena, variant);
    item->r.cohort.version = plumb_take_key(t, plumb_json_get(benchmark, "version"));
    if (!item->r.cohort.version)
        item->r.cohort.version = "1";
    plumb_result_metric(t->list, item, "result", unit_of(benchmark), value);
    plumb_take_identity(t, item, f->hardware.data, f->software.data, recipe_of(&recipe, benchmark),
                        NULL);
    plumb_buf_fini(&recipe);
}

/* ---- One benchmark --------------------------------------------------------------------------- */

static double real_of(json v)
{
    return plumb_json_is_number(v) ? plumb_json_as_real(v) : NAN;
}

/* Combination `at` of the parameters, the last one running fastest: "10, 3". */
static void put_combination(struct plumb_buf *out, json params, size_t at)
{
    size_t below = 1;
    for (size_t i = 0; i < plumb_json_count(params); i++)
        below *= plumb_json_count(plumb_json_at(params, i));
    for (size_t i = 0; i < plumb_json_count(params) && below > 0; i++) {
        json list = plumb_json_at(params, i);
        below /= plumb_json_count(list);
        json v = plumb_json_at(list, at / (below ? below : 1) % plumb_json_count(list));
        plumb_buf_str(out, i ? ", " : "");
        if (plumb_json_text(v))
            plumb_buf_str(out, v->text);
        else
            plumb_canonical_json(out, v);
    }
}

static void add_values(struct file *f, const char *name, json values, json params)
{
    if (plumb_json_is_number(values) || plumb_json_count(params) == 0) {
        add_value(f, name, "default",
                  real_of(plumb_json_is_number(values) ? values : plumb_json_at(values, 0)));
        return;
    }
    for (size_t i = 0; i < plumb_json_count(values); i++) {
        struct plumb_buf variant = {0};
        put_combination(&variant, params, i);
        if (variant.data && !variant.failed)
            add_value(f, name, variant.data, real_of(plumb_json_at(values, i)));
        f->t->list->arena.failed |= variant.failed;
        plumb_buf_fini(&variant);
    }
}

static json column(json columns, json row, const char *name)
{
    for (size_t i = 0; i < plumb_json_count(columns); i++) {
        const char *text = plumb_json_text(plumb_json_at(columns, i));
        if (text && strcmp(text, name) == 0)
            return plumb_json_at(row, i);
    }
    return NULL;
}

static void take_benchmark(struct file *f, json v)
{
    json columns = plumb_json_get(f->root, "result_columns");
    if (plumb_json_is_number(v))
        add_value(f, v->name, "default", plumb_json_as_real(v));
    else if (plumb_json_is(v, PLUMB_JSON_IS_OBJECT))
        add_values(f, v->name, plumb_json_get(v, "result"), plumb_json_get(v, "params"));
    else if (plumb_json_is(v, PLUMB_JSON_IS_ARRAY) && columns)
        add_values(f, v->name, column(columns, v, "result"), column(columns, v, "params"));
}

/* ---- One file -------------------------------------------------------------------------------- */

static void put_facts(struct file *f)
{
    json params = plumb_json_get(f->root, "params");
    json packages = plumb_json_get(f->root, "requirements");
    struct plumb_json j;
    plumb_json_init(&j, &f->hardware, 0);
    plumb_json_object(&j);
    plumb_put_text(&j, "cpu", plumb_json_text(plumb_json_get(params, "cpu")));
    plumb_json_object_end(&j);
    plumb_buf_str(&f->software, "{\"python\":");
    plumb_canonical_json(&f->software, plumb_json_get(f->root, "python"));
    plumb_buf_str(&f->software, ",\"packages\":{");
    for (size_t i = 0; i < plumb_json_count(packages); i++) {
        json p = plumb_json_at(packages, i);
        const char *version = plumb_json_text(p);
        plumb_buf_str(&f->software, i ? "," : "");
        plumb_canonical_text(&f->software, p->name ? p->name : "");
        plumb_buf_char(&f->software, ':');
        plumb_canonical_text(&f->software, version && *version ? version : "any");
    }
    plumb_buf_str(&f->software, "}}");
}

void plumb_take_asv_file(struct plumb_taking *t, json benchmarks, json root, const char *path)
{
    struct file f = {.t = t, .benchmarks = benchmarks, .root = root, .path = path};
    json results = plumb_json_get(root, "results");
    if (!plumb_json_is(results, PLUMB_JSON_IS_OBJECT)) {
        plumb_buf_printf(&t->list->remarks, "left out: '%s' has no results\n", path);
        return;
    }
    put_facts(&f);
    for (size_t i = 0; i < results->count && !f.hardware.failed && !f.software.failed; i++)
        take_benchmark(&f, plumb_json_at(results, i));
    t->list->arena.failed |= f.hardware.failed || f.software.failed;
    plumb_buf_fini(&f.hardware);
    plumb_buf_fini(&f.software);
}

static void take_file(struct plumb_taking *t, json benchmarks, const char *path)
{
    struct plumb_json_tree tree;
    plumb_error why = {0, ""};
    if (read_json(&tree, path, &why) < 0) {
        plumb_buf_printf(&t->list->remarks, "left out: %s\n", why.message);
        return;
    }
    plumb_take_asv_file(t, benchmarks, tree.root, path);
    plumb_json_tree_fini(&tree);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void take_machine(struct plumb_taking *t, json benchmarks, const char *folder)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, visible, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH_BYTES];
        const char *name = names[i]->d_name, *dot = strrchr(name, '.');
        int length = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (dot && strcmp(dot, ".json") == 0 && strcmp(name, "machine.json") != 0 &&
            length < (int)sizeof path)
            take_file(t, benchmarks, path);
        free(names[i]);
    }
    free(names);
}

int plumb_take_asv(struct plumb_taking *t, const char *path, plumb_error *err)
{
    struct plumb_json_tree tree;
    struct dirent **names = NULL;
    char inner[PATH_BYTES];
    snprintf(inner, sizeof inner, "%s/benchmarks.json", path);
    int rc = read_json(&tree, inner, err);
    if (rc < 0)
        return rc;
    int n = scandir(path, &names, visible, alphasort);
    if (n < 0)
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        struct stat st;
        int length = snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (length < (int)sizeof inner && stat(inner, &st) == 0 && S_ISDIR(st.st_mode))
            take_machine(t, tree.root, inner);
        free(names[i]);
    }
    free(names);
    plumb_json_tree_fini(&tree);
    if (rc == PLUMB_OK && t->list->count == t->first && !t->list->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' has no results of asv", path);
    return rc;
}
