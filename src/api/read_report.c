/* read_report.c: reports of the public interface: finds the run, loads it, renders it. Any thread,
 * one report at a time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/read_report.h"
#include "api/take.h"
#include "base/error.h"
#include "live/read.h"
#include "read/run/load.h"
#include "read/run/runs.h"
#include "report/run/render.h"
#include "report/table/choice.h"
#include "summary/rank_summary.h"
#include <plumb/read/report.h>
#include <plumb/version.h>

enum { PATH_BYTES = PLUMB_REPORT_PATH };

struct plumb_report {
    struct plumb_load load;
    plumb_error summary; /* why the summary of a recovered run is not saved; code 0: it is */
    char path[PATH_BYTES];
};

void plumb_read_free(char *text)
{
    free(text);
}

const char *plumb_read_version(void)
{
    return PLUMB_VERSION;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* A run may also be given by its live mapping: then its folder is meant. */
static void strip_mapping(char *path)
{
    size_t n = strlen(path);
    size_t tail = strlen("/" PLUMB_LIVE_NAME);
    if (strcmp(path, PLUMB_LIVE_NAME) == 0)
        strcpy(path, ".");
    else if (n > tail && strcmp(path + n - tail, "/" PLUMB_LIVE_NAME) == 0)
        path[n - tail] = '\0';
}

static int find(char *out, const char *run, plumb_error *err)
{
    char dir[PATH_BYTES];
    int rc = plumb_runs_dir(dir, sizeof dir, err);
    if (rc < 0)
        return rc;
    return plumb_runs_resolve(out, PATH_BYTES, run, dir, err);
}

static int save_beside(void *arg, const char *name, const struct plumb_buf *b, plumb_error *err)
{
    const struct plumb_report *r = arg;
    return plumb_load_save(r->path, name, b, err);
}

/* A run that is recovered gets the files that it would have left itself. */
static int load_run(struct plumb_report *r, plumb_error *err)
{
    struct plumb_shape_times shapes = {.count = 0};
    int rc = plumb_load_run(&r->load, r->path, err);
    if (rc == PLUMB_OK && r->load.fresh &&
        plumb_live_read_shape_times(&shapes, r->path, r->load.timing.clock.tick_ns, &r->summary) ==
            PLUMB_OK)
        plumb_rank_files(&r->load.timing, &shapes, save_beside, r, &r->summary);
    plumb_shape_times_fini(&shapes);
    return rc;
}

bool plumb_report_is_program(const char *path)
{
    static const char elf[] = {0x7f, 'E', 'L', 'F'};
    char begin[4] = "";
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(begin, 1, sizeof begin, file) : 0;
    if (file)
        fclose(file);
    return (n == sizeof begin && memcmp(begin, elf, sizeof elf) == 0) ||
           (n >= 2 && begin[0] == '#' && begin[1] == '!');
}

/* A pipeline has its program's name, and the program often lies in the current folder: then its
 * newest run is meant. */
static int find_of_program(char *out, const char *program, plumb_error *err)
{
    const char *slash = strrchr(program, '/');
    char dir[PATH_BYTES];
    plumb_error why = {0, ""};
    int rc = plumb_runs_dir(dir, sizeof dir, err);
    if (rc < 0)
        return rc;
    if (plumb_runs_resolve(out, PATH_BYTES, slash ? slash + 1 : program, dir, &why) < 0)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                          "'%s' is a program, and '%s' has no run of it: record one with 'plumb "
                          "record -- %s%s'",
                          program, dir, slash ? "" : "./", program);
    return PLUMB_OK;
}

int plumb_report_find(char out[PLUMB_REPORT_PATH], const char *run, plumb_error *err)
{
    if (run && strlen(run) >= PATH_BYTES)
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", run);
    if (run && is_file(run) && plumb_report_is_program(run))
        return find_of_program(out, run, err);
    if (!run || !is_file(run))
        return find(out, run, err);
    memcpy(out, run, strlen(run) + 1);
    strip_mapping(out);
    return PLUMB_OK;
}

static int load(struct plumb_report *r, const char *run, plumb_error *err)
{
    int rc = plumb_report_find(r->path, run, err);
    if (rc < 0)
        return rc;
    return is_file(r->path) ? plumb_load_file(&r->load, r->path, err) : load_run(r, err);
}

int plumb_report_open(plumb_report **out, const char *run, plumb_error *err)
{
    int rc;
    struct plumb_report *r = calloc(1, sizeof *r);
    if (!r)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a report");
    if ((rc = load(r, run, err)) == PLUMB_OK) {
        *out = r;
        r = NULL;
    }
    free(r);
    return rc;
}

void plumb_report_close(plumb_report *report)
{
    if (!report)
        return;
    plumb_timing_fini(&report->load.timing);
    free(report);
}

const struct plumb_load *plumb_report_loaded(const plumb_report *report)
{
    return &report->load;
}

/* ---- Text ------------------------------------------------------------------------------------ */

int plumb_report_options_take(plumb_report_options *out, const plumb_report_options *in,
                              plumb_error *err)
{
    *out = plumb_report_options_default();
    int rc = plumb_take(out, sizeof *out, in, err);
    if (rc < 0)
        return rc;
    if (out->sort > PLUMB_SORT_P95)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown order of rows: %u", (unsigned)out->sort);
    if (out->unit > PLUMB_REPORT_S)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown unit of times: %u", (unsigned)out->unit);
    if (out->by > PLUMB_BY_PHASE)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown sum of counts: %u", (unsigned)out->by);
    if (out->fold > PLUMB_FOLD_OFF)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown way to fold: %u", (unsigned)out->fold);
    return PLUMB_OK;
}

void plumb_render_options_fill(struct plumb_render_options *out, const plumb_report_options *o)
{
    *out = (struct plumb_render_options){
        .summary = {.pipeline = o->pipeline,
                    .phase = o->phase,
                    .frames = o->frames,
                    .sort = (enum plumb_summary_sort)o->sort,
                    .unit = (enum plumb_unit_choice)o->unit,
                    .depth = o->depth,
                    .top = o->top < SIZE_MAX ? (size_t)o->top : SIZE_MAX},
        .wide = o->wide != 0,
        .tree = o->tree != 0,
        .explain = o->explain != 0,
        .min_width_px = o->min_width,
        .request = o->request,
        .view = o->view,
        .fold = o->fold,
        .by = o->by,
    };
}

/* Checks --node: PLUMB_ERR_NOT_FOUND when the report has nodes and none matches, because an empty
 * table would look like a node that did not run. With `fold` the names that folding gives are
 * matched too. */
static int check_nodes(const struct plumb_timing *t, const struct plumb_pattern *pattern,
                       const char *text, bool fold, plumb_error *err)
{
    struct plumb_fold folded;
    bool any = t->node_count == 0;
    for (size_t i = 0; i < t->node_count && !any; i++)
        any = plumb_pattern_matches(pattern, t->nodes[i].name);
    if (!any && fold) {
        int rc = plumb_fold_init(&folded, t, err);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < folded.timing.node_count && !any; i++)
            any = plumb_pattern_matches(pattern, folded.timing.nodes[i].name);
        plumb_fold_fini(&folded);
    }
    return any ? PLUMB_OK
               : plumb_fail(err, PLUMB_ERR_NOT_FOUND, "no node of the run matches '%s'", text);
}

int plumb_report_render(char **out, const plumb_report *report, const plumb_report_options *options,
                        plumb_error *err)
{
    plumb_report_options o;
    struct plumb_render_options render;
    struct plumb_buf text = {0};
    struct plumb_signature signature;
    struct plumb_pattern node;
    bool signatures = false;
    int rc = plumb_report_options_take(&o, options, err);
    if (rc < 0 || (rc = plumb_choice_check(&report->load.timing, o.pipeline, o.phase, err)) < 0 ||
        (o.view == PLUMB_VIEW_SIGNATURES &&
         (rc = plumb_signature_of_report(&signature, &signatures, report->path, err)) < 0))
        return rc;
    plumb_render_options_fill(&render, &o);
    if (o.node && (rc = plumb_pattern_init(&node, o.node, err)) == PLUMB_OK) {
        render.summary.node = &node;
        rc = check_nodes(&report->load.timing, &node, o.node, o.fold == PLUMB_FOLD_ON, err);
    }
    render.live = report->load.state == PLUMB_LOAD_LIVE;
    render.run = report->path;
    render.signature = signatures ? &signature : NULL;
    if (rc == PLUMB_OK)
        rc = plumb_render(&text, &report->load.timing, o.format ? o.format : "text", &render, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    if (render.summary.node)
        plumb_pattern_fini(&node);
    if (signatures)
        plumb_signature_fini(&signature);
    return rc;
}

static void put_unsaved(const struct plumb_report *r, struct plumb_buf *out)
{
    if (r->load.state == PLUMB_LOAD_UNSAVED)
        plumb_buf_printf(out, "the recovered report is not saved: %s\n", r->load.why.message);
    if (r->summary.code < 0)
        plumb_buf_printf(out, "the summary of the recovered run is not saved: %s\n",
                         r->summary.message);
}

int plumb_report_remarks(char **out, const plumb_report *report, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, "");
    plumb_remarks_write(&report->load.timing, report->load.state == PLUMB_LOAD_LIVE, &text);
    put_unsaved(report, &text);
    if (text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the remarks of a report");
    }
    *out = text.data;
    return PLUMB_OK;
}

const char *plumb_report_format(size_t i)
{
    size_t n;
    const struct plumb_renderer *renderers = plumb_renderers(&n);
    return i < n ? renderers[i].name : NULL;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

const char *plumb_report_path(const plumb_report *report)
{
    return report->path;
}

int plumb_report_state(const plumb_report *report)
{
    if (report->load.state == PLUMB_LOAD_LIVE)
        return PLUMB_RUN_OPEN;
    return report->load.timing.recovered ? PLUMB_RUN_RECOVERED : PLUMB_RUN_ENDED;
}

uint64_t plumb_report_nodes(const plumb_report *report)
{
    return report->load.timing.node_count;
}

uint64_t plumb_report_samples(const plumb_report *report)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->load.timing.node_count; i++)
        sum += report->load.timing.nodes[i].host.ns.count;
    return sum;
}

/* ---- Recovery -------------------------------------------------------------------------------- */

static int recovered(const struct plumb_report *r, bool was_there, plumb_recovered *out,
                     plumb_error *err)
{
    plumb_recovered facts = {plumb_report_nodes(r), plumb_report_samples(r),
                             r->load.timing.open_count, ""};
    if (r->load.state == PLUMB_LOAD_LIVE)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s' still records (process %u): end the process first", r->path,
                          (unsigned)r->load.timing.pid);
    if (r->load.state == PLUMB_LOAD_UNSAVED) {
        if (err)
            *err = r->load.why;
        return r->load.why.code;
    }
    int n = snprintf(facts.path, sizeof facts.path, "%s%s", r->path,
                     is_file(r->path) ? "" : "/" PLUMB_TIMING_NAME);
    if (n >= (int)sizeof facts.path)
        facts.path[0] = '\0';
    if (out)
        *out = facts;
    if (err)
        *err = r->summary;
    return was_there ? 0 : 1;
}

int plumb_recover(plumb_recovered *out, const char *run, plumb_error *err)
{
    char path[PATH_BYTES];
    char report_path[PATH_BYTES + sizeof PLUMB_TIMING_NAME];
    plumb_report *report;
    bool was_there;
    int rc;
    if (run && is_file(run))
        rc = snprintf(path, sizeof path, "%s", run) < (int)sizeof path ? PLUMB_OK : PLUMB_ERR_ARG;
    else
        rc = find(path, run, err);
    if (rc < 0)
        return rc;
    strip_mapping(path);
    snprintf(report_path, sizeof report_path, "%s/" PLUMB_TIMING_NAME, path);
    was_there = is_file(path) || is_file(report_path);
    if ((rc = plumb_report_open(&report, path, err)) < 0)
        return rc;
    rc = recovered(report, was_there, out, err);
    plumb_report_close(report);
    return rc;
}
