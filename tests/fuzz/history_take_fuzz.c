/* Fuzz target: any bytes as a file of results for `plumb history add`: of google/benchmark, of
 * FastVideo, a timing.json, or, where a zero byte parts the input in two, a result and the
 * benchmarks.json of airspeed velocity. The same bytes are a configuration of a benchmark, and the
 * facts of a profile and a recipe.
 *
 * Results have all that the store and the tables need, in valid UTF-8, whatever the file says. A
 * file that is read twice has equal results, because the digest decides what is stored again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "read/history/config.h"
#include "read/history/identity.h"
#include "read/history/store.h"
#include "read/history/take.h"
#include "read/json/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, bool required)
{
    if (text ? !plumb_utf8_valid(text) : required)
        abort();
}

static void check_result(const struct plumb_result_item *item)
{
    const plumb_result *r = &item->r;
    const char *const keys[] = {r->cohort.workload,
                                r->cohort.variant,
                                r->cohort.version,
                                r->cohort.recipe,
                                r->cohort.hardware,
                                r->cohort.software,
                                r->label,
                                r->device,
                                r->commit,
                                r->branch,
                                r->pr,
                                item->extra};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        check_text(keys[i], false);
    check_text(r->run_source, true);
    for (size_t i = 0; i < r->metric_count; i++) {
        check_text(r->metrics[i].name, true);
        check_text(r->metrics[i].unit, true);
    }
}

static void check_list(const struct plumb_result_list *list)
{
    const char *remarks = list->remarks.data;
    for (size_t i = 0; i < list->count; i++) {
        check_result(&list->items[i]);
        if (i > 0 && list->items[i].r.time_ns < list->items[i - 1].r.time_ns)
            abort();
    }
    if (remarks && *remarks && remarks[strlen(remarks) - 1] != '\n')
        abort();
}

/* ---- A document ------------------------------------------------------------------------------ */

static bool take(struct plumb_result_list *list, const char *path)
{
    static char *none[] = {NULL};
    plumb_results_options o = plumb_results_options_default();
    plumb_error err = {0, ""};
    o.environ_of = none;
    plumb_result_list_init(list);
    int rc = plumb_results_take(list, path, &o, NULL, &err);
    if (rc < 0 && (!err.message[0] || strchr(err.message, '\n')))
        abort();
    return rc == PLUMB_OK;
}

static void check_equal(const struct plumb_result_list *a, const struct plumb_result_list *b)
{
    if (a->count != b->count)
        abort();
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].digest, b->items[i].digest) != 0)
            abort();
}

static void take_document(const uint8_t *data, size_t size)
{
    char path[64];
    struct plumb_result_list first, again;
    int fd = memfd_create("result", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool taken = take(&first, path);
    if (taken != take(&again, path))
        abort();
    if (taken) {
        check_list(&first);
        check_equal(&first, &again);
    }
    plumb_result_list_fini(&first);
    plumb_result_list_fini(&again);
    close(fd);
}

/* ---- A tree ---------------------------------------------------------------------------------- */

static bool parse(struct plumb_json_tree *tree, const char *text, size_t size)
{
    return plumb_json_tree_read(tree, text, size, PLUMB_JSON_NAN, "input", NULL) == PLUMB_OK;
}

static void take_asv(const struct plumb_json_value *benchmarks, const struct plumb_json_value *root)
{
    static const plumb_results_options o = {.size = sizeof o};
    struct plumb_result_list list;
    struct plumb_taking t = {.list = &list, .options = &o, .path = "input"};
    plumb_result_list_init(&list);
    plumb_take_asv_file(&t, benchmarks, root, "input");
    plumb_result_sort(&list);
    if (!list.arena.failed)
        check_list(&list);
    plumb_result_list_fini(&list);
}

/* The canonical form of a canonical form is the same. */
static void check_profile(const struct plumb_json_value *facts,
                          void (*write)(struct plumb_buf *, const struct plumb_json_value *),
                          bool stable)
{
    struct plumb_buf once = {0}, twice = {0};
    struct plumb_json_tree tree;
    write(&once, facts);
    if (once.failed || !parse(&tree, once.data, once.len))
        abort();
    write(&twice, tree.root);
    if (stable && strcmp(once.data, twice.data) != 0)
        abort();
    plumb_json_tree_fini(&tree);
    plumb_buf_fini(&once);
    plumb_buf_fini(&twice);
}

static void take_config(const struct plumb_json_value *root)
{
    struct plumb_benchmark_config config;
    struct plumb_buf recipe = {0};
    plumb_error err = {0, ""};
    int rc = plumb_benchmark_config_read(&config, root, "input", &err);
    if (rc < 0) {
        if (strchr(err.message, '\n'))
            abort();
        return;
    }
    if (config.runs < 1 || config.warmup < 0 || config.gpus < 0)
        abort();
    plumb_benchmark_limits(&config, "NVIDIA L40S");
    plumb_recipe_of_config(&recipe, root, NULL, 1);
    if (recipe.failed)
        abort();
    check_text(recipe.data, true);
    plumb_buf_fini(&recipe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *split = size ? memchr(data, '\0', size) : NULL;
    size_t first = split ? (size_t)(split - data) : size;
    struct plumb_json_tree tree, benchmarks;
    if (plumb_store_is_built(NULL) < 0)
        return 0;
    if (!split)
        take_document(data, size);
    if (!parse(&tree, (const char *)data, first))
        return 0;
    if (split && parse(&benchmarks, (const char *)split + 1, size - first - 1)) {
        take_asv(benchmarks.root, tree.root);
        plumb_json_tree_fini(&benchmarks);
    }
    take_config(tree.root);
    check_profile(tree.root, plumb_hardware_profile, false);
    check_profile(tree.root, plumb_software_profile, false);
    check_profile(tree.root, plumb_recipe_canonical, true);
    plumb_json_tree_fini(&tree);
    return 0;
}
