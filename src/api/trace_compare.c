/* trace_compare.c: comparisons of the public interface: finds the runs of both sides, hands their
 * reports to the analysis one after the other, renders it. Any thread, one comparison at a time.
 *
 * Reports are closed as soon as the analysis has what it needs of them, so that many repeats cost
 * no more memory than one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/compare.h"
#include "api/take.h"
#include "api/trace_report.h"
#include "base/arena.h"
#include "base/error.h"
#include "report/compare_view.h"
#include "report/render.h"
#include "trace/runs.h"

enum { PATH_BYTES = 4096 };

struct plumb_comparison {
    struct plumb_compare compare;
    struct plumb_arena arena;
    const char *labels[2];
    struct plumb_buf remarks;
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

/* The folder of the pipeline's runs, where the argument is the name of one, or of the program whose
 * pipeline is called as it. False: it is neither. */
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

static int add_run(struct plumb_comparison *c, enum plumb_side side, bool several, const char *run,
                   plumb_error *err)
{
    plumb_report *report;
    int rc = plumb_report_open(&report, run, err);
    if (rc < 0)
        return rc;
    const struct plumb_load *load = plumb_report_loaded(report);
    rc = plumb_compare_add(&c->compare, &load->timing, load->state == PLUMB_LOAD_LIVE,
                           plumb_report_path(report), err);
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

static int compare(struct plumb_comparison *c, const struct side *a, const struct side *b,
                   const plumb_compare_options *options, plumb_error *err)
{
    plumb_compare_options o = plumb_compare_options_default();
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0 || (rc = plumb_compare_init(&c->compare, &o, a->count, b->count, err)) < 0 ||
        (rc = add_side(c, PLUMB_SIDE_A, a, err)) < 0 ||
        (rc = add_side(c, PLUMB_SIDE_B, b, err)) < 0 ||
        (rc = plumb_compare_finish(&c->compare, err)) < 0)
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

/* ---- What came out --------------------------------------------------------------------------- */

void plumb_comparison_result(const plumb_comparison *comparison, plumb_compare_result *out)
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

int plumb_comparison_render(const plumb_comparison *comparison, const plumb_compare_view *view,
                            char **out, plumb_error *err)
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

int plumb_comparison_notes(const plumb_comparison *comparison, char **out, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, "");
    plumb_compare_notes_write(&comparison->compare, &text);
    return give(&text, out, err);
}

int plumb_comparison_remarks(const plumb_comparison *comparison, char **out, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, comparison->remarks.data);
    return give(&text, out, err);
}
