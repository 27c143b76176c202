/* read_compare.c: comparisons of the public interface: finds the runs of both sides, hands their
 * reports to the analysis one after the other, renders it. Any thread, one comparison at a time.
 *
 * Reports are closed as soon as the analysis has copied their figures, so that many repeats cost no
 * more memory than one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/compare/compare.h"
#include "api/read_report.h"
#include "api/take.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/strings/strings.h"
#include "config/pattern.h"
#include "read/run/runs.h"
#include "report/compare/view.h"
#include "report/run/render.h"
#include "summary/fold_nodes.h"
#include "summary/table.h"

enum { PATH_BYTES = 4096 };

struct plumb_comparison {
    struct plumb_compare compare;
    struct plumb_arena arena;
    const char *labels[2];
    struct plumb_buf remarks;
    /* Only while runs are added: what of them is compared, the same of all. */
    struct plumb_fold_names names; /* with --fold */
    struct plumb_strings rows;     /* with --depth: of all runs */
    struct plumb_map levels;       /* with --depth: the least level of a row in any run, plus 1 */
    struct plumb_pattern *pattern; /* with --node */
    bool any;                      /* a node of a run was chosen */
};

/* The runs of a side, oldest first where a folder gave them. */
struct side {
    const char **paths;
    size_t count, cap;
};

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a comparison");
}

/* ---- The sides ------------------------------------------------------------------------------- */

static int add_path(struct plumb_comparison *c, struct side *side, const char *path,
                    plumb_error *err)
{
    const char **paths = plumb_arena_grow(&c->arena, (void *)side->paths, &side->cap,
                                          side->count + 1, sizeof *paths);
    if (!paths)
        return no_memory(err);
    side->paths = paths;
    if (!(paths[side->count] = plumb_arena_strdup(&c->arena, path)))
        return no_memory(err);
    side->count++;
    return PLUMB_OK;
}

static bool is_folder_of_runs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && !plumb_runs_is_run(path);
}

static int add_folder(struct plumb_comparison *c, struct side *side, const char *folder,
                      plumb_error *err)
{
    struct plumb_found_runs found;
    int rc = plumb_runs_find(&found, folder, err);
    if (rc < 0)
        return rc;
    if (found.count == 0)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                        "no run in '%s': record one with 'plumb record --dir %s -- CMD'", folder,
                        folder);
    for (size_t i = found.count; i-- > 0 && rc == PLUMB_OK;)
        rc = add_path(c, side, found.runs[i].path, err);
    plumb_runs_fini(&found);
    return rc;
}

/* Finds the folder of the pipeline's runs, if the argument is the name of a pipeline, or of the
 * program that gave one its name. False: it is neither. */
static bool is_pipeline(char *folder, size_t size, const char *name)
{
    struct stat st;
    char dir[PATH_BYTES];
    if (strchr(name, '/') || plumb_runs_dir(dir, sizeof dir, NULL) < 0 ||
        snprintf(folder, size, "%s/%s", dir, name) >= (int)size)
        return false;
    return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && !plumb_runs_is_run(folder);
}

static int add_argument(struct plumb_comparison *c, struct side *side, const char *argument,
                        plumb_error *err)
{
    char folder[2 * PATH_BYTES];
    struct stat st;
    bool there = stat(argument, &st) == 0;
    if (is_folder_of_runs(argument))
        return add_folder(c, side, argument, err);
    if ((!there || access(argument, X_OK) == 0) && !plumb_runs_is_run(argument) &&
        is_pipeline(folder, sizeof folder, argument))
        return add_folder(c, side, folder, err);
    return add_path(c, side, argument, err);
}

static int find_side(struct plumb_comparison *c, struct side *side, const char *const *runs,
                     size_t n, plumb_error *err)
{
    int rc = PLUMB_OK;
    *side = (struct side){NULL, 0, 0};
    for (size_t i = 0; i < n && rc == PLUMB_OK; i++)
        rc = add_argument(c, side, runs[i], err);
    return rc;
}

/* How the user called the side: its one argument, or the first and how many more. */
static const char *label_of(struct plumb_comparison *c, const char *const *runs, size_t n)
{
    if (n == 1)
        return plumb_arena_strdup(&c->arena, runs[0]);
    return n == 0 ? "" : plumb_arena_printf(&c->arena, "%s and %zu more", runs[0], n - 1);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* The remarks of a run, each line with the side and, of several runs, which. */
static void take_remarks(struct plumb_comparison *c, const struct plumb_load *load,
                         enum plumb_side side, bool several, const char *path)
{
    struct plumb_buf text = {0};
    plumb_remarks_write(&load->timing, load->state == PLUMB_LOAD_LIVE, &text);
    if (load->state == PLUMB_LOAD_UNSAVED)
        plumb_buf_printf(&text, "the recovered report is not saved: %s\n", load->why.message);
    for (char *line = text.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        plumb_buf_printf(&c->remarks, "%c%s%s: %s\n", side == PLUMB_SIDE_A ? 'A' : 'B',
                         several ? ", " : "", several ? path : "", line);
    }
    c->remarks.failed |= text.failed;
    plumb_buf_fini(&text);
}

/* Returns the number of the node's row; 0: no memory. */
static uint32_t row_of(struct plumb_comparison *c, const struct plumb_timing *t,
                       const struct plumb_timing_node *node)
{
    bool own = t->pipeline && strcmp(node->pipeline, t->pipeline) == 0;
    const char *const key[] = {own ? "own" : "", own ? "" : node->pipeline, node->phase,
                               node->name};
    return plumb_strings_put_key(&c->rows, key, sizeof key / sizeof *key);
}

static int note_levels(struct plumb_comparison *c, const struct plumb_timing *t)
{
    uint32_t *level = calloc(t->node_count + 1, sizeof *level);
    int rc = level ? plumb_summary_levels(t, level) : PLUMB_ERR_MEMORY;
    for (size_t i = 0; i < t->node_count && rc == PLUMB_OK; i++) {
        uint32_t row = row_of(c, t, &t->nodes[i]);
        uint64_t known = plumb_map_get(&c->levels, row);
        if (row == 0)
            rc = PLUMB_ERR_MEMORY;
        else if (!known || known > level[i] + 1ull)
            rc = plumb_map_put(&c->levels, row, level[i] + 1ull);
    }
    free(level);
    return rc;
}

/* Folds the report as all of them are. */
static int fold(const struct plumb_comparison *c, struct plumb_fold *out,
                const struct plumb_timing *t, plumb_error *err)
{
    return plumb_fold_init_by(out, t, &c->names, err);
}

/* Collects from every run, before the first one is added, the names that fold, and with `levels`
 * how deep each node lies. */
static int look_at(struct plumb_comparison *c, const struct side *runs, bool levels,
                   plumb_error *err)
{
    bool folds = c->compare.options.fold == PLUMB_FOLD_ON;
    int rc = PLUMB_OK;
    for (size_t i = 0; i < runs->count && rc == PLUMB_OK; i++) {
        plumb_report *report;
        struct plumb_fold folded = {.groups = NULL};
        if ((rc = plumb_report_open(&report, runs->paths[i], err)) < 0)
            return rc;
        const struct plumb_timing *t = &plumb_report_loaded(report)->timing;
        if (!levels)
            rc = plumb_fold_names_add_all(&c->names, t) < 0 ? no_memory(err) : PLUMB_OK;
        else if (!folds || (rc = fold(c, &folded, t, err)) == PLUMB_OK)
            rc = note_levels(c, folds ? &folded.timing : t) < 0 ? no_memory(err) : PLUMB_OK;
        plumb_fold_fini(&folded);
        plumb_report_close(report);
    }
    return rc;
}

static int look_at_all(struct plumb_comparison *c, const struct side *a, const struct side *b,
                       plumb_error *err)
{
    const plumb_compare_options *o = &c->compare.options;
    int rc = PLUMB_OK;
    if (o->fold == PLUMB_FOLD_ON &&
        ((rc = look_at(c, a, false, err)) < 0 || (rc = look_at(c, b, false, err)) < 0))
        return rc;
    if (o->depth > 0 &&
        ((rc = look_at(c, a, true, err)) < 0 || (rc = look_at(c, b, true, err)) < 0))
        return rc;
    return rc;
}

/* Which nodes of `t` are compared; NULL: no memory. */
static bool *choose(struct plumb_comparison *c, const struct plumb_timing *t)
{
    uint32_t depth = c->compare.options.depth;
    bool *chosen = calloc(t->node_count + 1, sizeof *chosen);
    for (size_t i = 0; chosen && i < t->node_count; i++) {
        const struct plumb_timing_node *node = &t->nodes[i];
        chosen[i] = (!c->pattern || plumb_pattern_matches(c->pattern, node->name)) &&
                    (depth == 0 || plumb_map_get(&c->levels, row_of(c, t, node)) <= depth);
        c->any |= chosen[i];
    }
    return chosen;
}

static int add_timing(struct plumb_comparison *c, const struct plumb_timing *t, bool live,
                      const char *path, plumb_error *err)
{
    bool *chosen = choose(c, t);
    int rc = chosen ? plumb_compare_add(&c->compare, t, live, path, chosen, err) : no_memory(err);
    free(chosen);
    return rc;
}

static int add_run(struct plumb_comparison *c, enum plumb_side side, bool several, const char *run,
                   plumb_error *err)
{
    plumb_report *report;
    struct plumb_fold folded = {.groups = NULL};
    bool folds = c->compare.options.fold == PLUMB_FOLD_ON;
    int rc = plumb_report_open(&report, run, err);
    if (rc < 0)
        return rc;
    const struct plumb_load *load = plumb_report_loaded(report);
    if (!folds || (rc = fold(c, &folded, &load->timing, err)) == PLUMB_OK)
        rc = add_timing(c, folds ? &folded.timing : &load->timing, load->state == PLUMB_LOAD_LIVE,
                        plumb_report_path(report), err);
    plumb_fold_fini(&folded);
    if (rc == PLUMB_OK)
        take_remarks(c, load, side, several, plumb_report_path(report));
    plumb_report_close(report);
    return rc;
}

static int add_side(struct plumb_comparison *c, enum plumb_side side, const struct side *runs,
                    plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < runs->count && rc == PLUMB_OK; i++)
        rc = add_run(c, side, runs->count > 1, runs->paths[i], err);
    return rc;
}

/* An empty table would look like a node that did not run. */
static int check_chosen(const struct plumb_comparison *c, plumb_error *err)
{
    const plumb_compare_options *o = &c->compare.options;
    if (c->any || !o->node)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no node of the runs matches '%s'", o->node);
}

static int add_sides(struct plumb_comparison *c, const struct side *a, const struct side *b,
                     plumb_error *err)
{
    struct plumb_pattern pattern;
    const char *node = c->compare.options.node;
    int rc = node ? plumb_pattern_init(&pattern, node, err) : PLUMB_OK;
    if (rc < 0)
        return rc;
    c->pattern = node ? &pattern : NULL;
    if ((rc = look_at_all(c, a, b, err)) == PLUMB_OK &&
        (rc = add_side(c, PLUMB_SIDE_A, a, err)) == PLUMB_OK &&
        (rc = add_side(c, PLUMB_SIDE_B, b, err)) == PLUMB_OK)
        rc = check_chosen(c, err);
    plumb_fold_names_fini(&c->names);
    plumb_strings_fini(&c->rows);
    plumb_map_fini(&c->levels);
    if (node)
        plumb_pattern_fini(&pattern);
    c->pattern = NULL;
    return rc;
}

static int compare(struct plumb_comparison *c, const struct side *a, const struct side *b,
                   const plumb_compare_options *options, plumb_error *err)
{
    plumb_compare_options o = plumb_compare_options_default();
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0 || (rc = plumb_compare_init(&c->compare, &o, a->count, b->count, err)) < 0 ||
        (rc = add_sides(c, a, b, err)) < 0 || (rc = plumb_compare_finish(&c->compare, err)) < 0)
        return rc;
    return c->remarks.failed || c->arena.failed ? no_memory(err) : PLUMB_OK;
}

int plumb_comparison_open(plumb_comparison **out, const char *const *a, size_t a_count,
                          const char *const *b, size_t b_count,
                          const plumb_compare_options *options, plumb_error *err)
{
    struct side runs_a;
    struct side runs_b;
    int rc;
    struct plumb_comparison *c = calloc(1, sizeof *c);
    if (!c)
        return no_memory(err);
    c->labels[PLUMB_SIDE_A] = label_of(c, a, a_count);
    c->labels[PLUMB_SIDE_B] = label_of(c, b, b_count);
    plumb_buf_str(&c->remarks, "");
    if ((rc = find_side(c, &runs_a, a, a_count, err)) < 0 ||
        (rc = find_side(c, &runs_b, b, b_count, err)) < 0 ||
        (rc = compare(c, &runs_a, &runs_b, options, err)) < 0)
        goto out;
    *out = c;
    c = NULL;
out:
    plumb_comparison_close(c);
    return rc;
}

void plumb_comparison_close(plumb_comparison *comparison)
{
    if (!comparison)
        return;
    plumb_compare_fini(&comparison->compare);
    plumb_arena_fini(&comparison->arena);
    plumb_buf_fini(&comparison->remarks);
    free(comparison);
}

/* ---- The outcome ----------------------------------------------------------------------------- */

void plumb_comparison_result(plumb_compare_result *out, const plumb_comparison *comparison)
{
    plumb_compare_result result = comparison->compare.result;
    result.size = out->size < sizeof result ? out->size : sizeof result;
    memcpy(out, &result, result.size);
}

const char *plumb_comparison_run(const plumb_comparison *comparison, uint32_t side, size_t i)
{
    const struct plumb_compare *c = &comparison->compare;
    if (side > PLUMB_SIDE_B || i >= c->run_count[side])
        return NULL;
    return c->runs[side == PLUMB_SIDE_A ? i : c->run_count[PLUMB_SIDE_A] + i].path;
}

int plumb_comparison_render(char **out, const plumb_comparison *comparison,
                            const plumb_compare_view *view, plumb_error *err)
{
    plumb_compare_view v = plumb_compare_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&v, sizeof v, view, err);
    if (rc < 0)
        return rc;
    rc = plumb_compare_render(&text, &comparison->compare, &v, comparison->labels,
                              comparison->remarks.data, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}

static int give(struct plumb_buf *text, char **out, plumb_error *err)
{
    if (text->failed) {
        plumb_buf_fini(text);
        return no_memory(err);
    }
    *out = text->data;
    return PLUMB_OK;
}

int plumb_comparison_notes(char **out, const plumb_comparison *comparison, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, "");
    plumb_compare_notes_write(&comparison->compare, &text);
    return give(&text, out, err);
}

int plumb_comparison_remarks(char **out, const plumb_comparison *comparison, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, comparison->remarks.data);
    return give(&text, out, err);
}
