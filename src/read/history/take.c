/* take.c: see take.h. */
#include "read/history/take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "read/history/canonical.h"
#include "read/history/identity.h"
#include "read/history/metric_kinds.h"
#include "read/history/store.h"
#include "read/json/fields.h"
#include "read/json/scan.h"
#include "read/run/runs.h"

extern char **environ;

typedef const struct plumb_json_value *json;

enum { MOST_BYTES = 256 << 20 };

/* ---- Files ----------------------------------------------------------------------------------- */

/* Reads a JSON file into a tree. `text` is the caller's to end. */
static int read_json(struct plumb_json_tree *tree, struct plumb_buf *text, const char *path,
                     plumb_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return plumb_fail(err, PLUMB_ERR_IO, "'%s' is a folder, not a JSON file", path);
    if (stat(path, &st) == 0 && st.st_size > MOST_BYTES)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is larger than 256 MiB: not a result", path);
    int rc = plumb_read_file(text, path, err);
    if (rc < 0)
        return rc;
    return plumb_json_tree_read(tree, text->data ? text->data : "", text->len, PLUMB_JSON_NAN, path,
                                err);
}

static bool has_array(json root, const char *name)
{
    return plumb_json_is(plumb_json_get(root, name), PLUMB_JSON_IS_ARRAY);
}

static int take_document(struct plumb_taking *t, const char *path, plumb_error *err)
{
    struct plumb_json_tree tree = {NULL, NULL, {NULL, false}};
    struct plumb_buf text = {0};
    const char *format;
    int rc = read_json(&tree, &text, path, err);
    plumb_buf_fini(&text);
    if (rc < 0)
        return rc;
    format = plumb_json_text(plumb_json_get(tree.root, "format"));
    if (has_array(tree.root, "benchmarks"))
        rc = plumb_take_google(t, tree.root, err);
    else if (plumb_json_text(plumb_json_get(tree.root, "benchmark_id")) ||
             plumb_json_text(plumb_json_get(tree.root, "model_id")))
        rc = plumb_take_perf(t, tree.root, err);
    else if (format && strcmp(format, "plumb-timing") == 0)
        rc = plumb_take_run(t, path, err);
    else
        rc =
            plumb_fail(err, PLUMB_ERR_FORMAT,
                       "'%s' has no results: history reads bench.json and other files of "
                       "google/benchmark, perf_*.json, run directories with their timing.json, and "
                       "folders of results of asv",
                       path);
    plumb_json_tree_fini(&tree);
    return rc;
}

static int take_path(struct plumb_taking *t, const char *path, plumb_error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return plumb_fail(err, errno == ENOENT ? PLUMB_ERR_NOT_FOUND : PLUMB_ERR_IO,
                          "cannot read '%s': %s", path, strerror(errno));
    t->file_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    if (!S_ISDIR(st.st_mode))
        return take_document(t, path, err);
    if (plumb_runs_is_run(path))
        return plumb_take_run(t, path, err);
    if (plumb_take_is_asv(path))
        return plumb_take_asv(t, path, err);
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' is neither a run directory nor a folder of results of asv (which has "
                      "benchmarks.json)",
                      path);
}

/* ---- Identity -------------------------------------------------------------------------------- */

static char *take_canonical(struct plumb_taking *t, const char *text,
                            void (*write)(struct plumb_buf *, json))
{
    struct plumb_json_tree tree;
    struct plumb_buf out = {0};
    char *copy = NULL;
    if (text &&
        plumb_json_tree_read(&tree, text, strlen(text), PLUMB_JSON_NAN, "facts", NULL) == 0) {
        write(&out, tree.root);
        copy = out.failed ? NULL : plumb_arena_strdup(&t->list->arena, out.data);
        plumb_json_tree_fini(&tree);
    }
    t->list->arena.failed |= out.failed;
    plumb_buf_fini(&out);
    return copy;
}

static const char *id_of(struct plumb_taking *t, const char *prefix, const char *canonical)
{
    char id[PLUMB_PROFILE_ID];
    if (!canonical)
        return NULL;
    plumb_profile_id(id, prefix, canonical);
    return plumb_arena_strdup(&t->list->arena, id);
}

static void put_member(struct plumb_buf *out, const char *name, const char *value)
{
    if (value)
        plumb_buf_printf(out, "%s\"%s\":%s", out->len > 1 ? "," : "", name, value);
}

void plumb_take_identity(struct plumb_taking *t, struct plumb_result_item *item,
                         const char *hardware_facts, const char *software_facts, const char *recipe,
                         const char *audit)
{
    plumb_cohort *c = &item->r.cohort;
    struct plumb_buf extra = {0};
    char *hardware = take_canonical(t, hardware_facts, plumb_hardware_profile);
    char *software = take_canonical(t, software_facts, plumb_software_profile);
    char *canonical = take_canonical(t, recipe, plumb_recipe_canonical);
    char digest[PLUMB_DIGEST];
    if (!c->hardware)
        c->hardware = id_of(t, "hw", hardware);
    if (!c->software)
        c->software = id_of(t, "sw", software);
    if (!c->recipe && canonical) {
        plumb_digest_text(digest, canonical);
        c->recipe = plumb_arena_strdup(&t->list->arena, digest);
    }
    plumb_buf_char(&extra, '{');
    put_member(&extra, "hardware_profile", hardware);
    put_member(&extra, "software_profile", software);
    put_member(&extra, "recipe", canonical);
    put_member(&extra, "audit", audit);
    plumb_buf_char(&extra, '}');
    t->list->arena.failed |= extra.failed;
    item->extra = extra.failed ? NULL : plumb_arena_strdup(&t->list->arena, extra.data);
    plumb_buf_fini(&extra);
}

/* ---- What the user replaces ------------------------------------------------------------------ */

static bool is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* A key that the user gave as an id, or as the path of a JSON file. */
static int take_key_option(struct plumb_taking *t, const char **key, const char *given,
                           const char *prefix, void (*write)(struct plumb_buf *, json),
                           plumb_error *err)
{
    struct plumb_json_tree tree;
    struct plumb_buf text = {0}, canonical = {0};
    char id[PLUMB_DIGEST];
    int rc;
    if (!given)
        return PLUMB_OK;
    if (prefix ? strncmp(given, prefix, 2) == 0 && given[2] == '-' && is_hex(given + 3, 16)
               : is_hex(given, 64)) {
        *key = plumb_arena_strdup(&t->list->arena, given);
        return PLUMB_OK;
    }
    if ((rc = read_json(&tree, &text, given, err)) == PLUMB_OK) {
        write(&canonical, tree.root);
        plumb_json_tree_fini(&tree);
        if (canonical.failed)
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for '%s'", given);
        else if (prefix)
            plumb_profile_id(id, prefix, canonical.data);
        else
            plumb_digest(id, canonical.data, canonical.len);
    }
    if (rc == PLUMB_OK)
        *key = plumb_arena_strdup(&t->list->arena, id);
    plumb_buf_fini(&text);
    plumb_buf_fini(&canonical);
    return rc;
}

static void replace(struct plumb_taking *t, const char **key, const char *given)
{
    if (given)
        *key = plumb_arena_strdup(&t->list->arena, given);
}

static int take_options(struct plumb_taking *t, plumb_error *err)
{
    const plumb_results_options *o = t->options;
    plumb_cohort keys = {NULL, NULL, NULL, NULL, NULL, NULL};
    int rc;
    if ((rc = take_key_option(t, &keys.recipe, o->recipe, NULL, plumb_recipe_canonical, err)) < 0 ||
        (rc = take_key_option(t, &keys.hardware, o->hardware, "hw", plumb_hardware_profile, err)) <
            0 ||
        (rc = take_key_option(t, &keys.software, o->software, "sw", plumb_software_profile, err)) <
            0)
        return rc;
    for (size_t i = t->first; i < t->list->count; i++) {
        plumb_cohort *c = &t->list->items[i].r.cohort;
        replace(t, &c->workload, o->workload);
        replace(t, &c->variant, o->variant);
        replace(t, &c->version, o->version);
        c->recipe = keys.recipe ? keys.recipe : c->recipe;
        c->hardware = keys.hardware ? keys.hardware : c->hardware;
        c->software = keys.software ? keys.software : c->software;
    }
    return PLUMB_OK;
}

/* ---- What every result gets ------------------------------------------------------------------ */

static void put_key(struct plumb_buf *out, const char *text)
{
    plumb_canonical_text(out, text ? text : "");
    plumb_buf_char(out, '\n');
}

/* Of what was measured, when, of what: the same file that is added twice is one record. */
static void set_digest(struct plumb_taking *t, struct plumb_result_item *item)
{
    const plumb_result *r = &item->r;
    struct plumb_buf text = {0};
    char digest[PLUMB_DIGEST];
    const char *const keys[] = {r->cohort.workload, r->cohort.variant,  r->cohort.version,
                                r->cohort.recipe,   r->cohort.hardware, r->cohort.software,
                                r->commit,          r->branch,          r->run_source};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put_key(&text, keys[i]);
    plumb_buf_printf(&text, "%llu\n", (unsigned long long)r->time_ns);
    for (size_t i = 0; i < r->metric_count; i++) {
        put_key(&text, r->metrics[i].name);
        plumb_buf_printf(&text, "%a\n", r->metrics[i].value);
    }
    plumb_digest(digest, text.data, text.len);
    t->list->arena.failed |= text.failed;
    plumb_buf_fini(&text);
    item->digest = plumb_arena_strdup(&t->list->arena, digest);
}

static void complete(struct plumb_taking *t, struct plumb_result_item *item)
{
    plumb_result *r = &item->r;
    struct plumb_arena *arena = &t->list->arena;
    if (!item->history) {
        const struct plumb_run_origin *from = &t->origin;
        r->commit = r->commit ? r->commit : plumb_arena_strdup(arena, from->commit);
        r->branch = r->branch ? r->branch : plumb_arena_strdup(arena, from->branch);
        r->pr = r->pr ? r->pr : plumb_arena_strdup(arena, from->pr);
        if (strcmp(r->run_source, "unknown") == 0)
            r->run_source = from->source;
    }
    if (!r->source)
        r->source = plumb_arena_strdup(arena, t->path);
    if (r->time_ns == 0)
        r->time_ns = t->file_ns;
    set_digest(t, item);
}

int plumb_results_take(struct plumb_result_list *out, const char *path,
                       const plumb_results_options *options, plumb_take_more more, plumb_error *err)
{
    struct plumb_taking t = {
        .list = out, .options = options, .path = path, .more = more, .first = out->count};
    struct plumb_json_tree config = {NULL, NULL, {NULL, false}};
    struct plumb_buf text = {0};
    int rc = plumb_store_is_built(err);
    if (rc < 0)
        return rc;
    plumb_run_origin_find(&t.origin, options->environ_of ? options->environ_of : environ,
                          &out->remarks);
    if (options->config && (rc = read_json(&config, &text, options->config, err)) < 0)
        goto out;
    t.config = config.root;
    if ((rc = take_path(&t, path, err)) < 0 || (rc = take_options(&t, err)) < 0)
        goto out;
    for (size_t i = t.first; i < out->count; i++)
        complete(&t, &out->items[i]);
    plumb_result_sort(out);
    if (out->arena.failed || out->remarks.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", path);
out:
    plumb_json_tree_fini(&config);
    plumb_buf_fini(&text);
    return rc;
}
