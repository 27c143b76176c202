/* read_compare_benchmarks.c: comparing files of google/benchmark. */
#include <string.h>
#include <sys/stat.h>

#include "analyze/compare/google.h"
#include "api/take.h"
#include "base/error.h"
#include "read/json/fields.h"
#include "read/json/scan.h"
#include "report/compare/google.h"
#include <plumb/read/compare.h>

static int read_document(struct plumb_json_tree *tree, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_read_file(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_json_tree_read(tree, text.data ? text.data : "", text.len, PLUMB_JSON_NAN, path,
                                  err);
    plumb_buf_fini(&text);
    if (rc == PLUMB_OK &&
        !plumb_json_is(plumb_json_get(tree->root, "benchmarks"), PLUMB_JSON_IS_ARRAY)) {
        plumb_json_tree_fini(tree);
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' has no benchmarks", path);
    }
    return rc;
}

int plumb_benchmarks_are(const char *path)
{
    struct plumb_json_tree tree;
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || read_document(&tree, path, NULL) < 0)
        return 0;
    plumb_json_tree_fini(&tree);
    return 1;
}

int plumb_benchmarks_compare(char **out, plumb_compare_result *result, const char *a, const char *b,
                             const plumb_benchmarks_options *options, plumb_error *err)
{
    plumb_benchmarks_options o = plumb_benchmarks_options_default();
    struct plumb_json_tree trees[2] = {{NULL, NULL, {NULL, false}}, {NULL, NULL, {NULL, false}}};
    struct plumb_google g = {.rows = NULL};
    struct plumb_buf text = {0};
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0)
        return rc;
    const char *const filters[2] = {o.filter_a, o.filter_b};
    double threshold = o.threshold_percent > 0   ? o.threshold_percent / 100
                       : o.threshold_percent < 0 ? 0
                                                 : 0.05;
    if ((rc = read_document(&trees[0], a, err)) < 0 ||
        (rc = read_document(&trees[1], b, err)) < 0 ||
        (rc = plumb_google_compare(&g, trees[0].root, trees[1].root, filters, threshold,
                                   o.alpha > 0 ? o.alpha : 0.05, err)) < 0)
        goto out;
    rc = plumb_google_write(&text, &g, o.format ? o.format : "text", o.aggregates != 0, err);
    if (rc == PLUMB_OK && text.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for benchmarks");
    if (rc < 0)
        goto out;
    if (result) {
        plumb_compare_result done = {
            .worse = g.worse, .better = g.better, .unclear = g.unclear, .nodes = g.count};
        done.size = result->size < sizeof done ? result->size : sizeof done;
        memcpy(result, &done, done.size);
    }
    *out = text.data;
    text.data = NULL;
out:
    plumb_buf_fini(&text);
    plumb_google_fini(&g);
    plumb_json_tree_fini(&trees[0]);
    plumb_json_tree_fini(&trees[1]);
    return rc;
}
