/* read_deep.c: peaks and kernels of the public interface: finds the kept peaks or measures them,
 * opens the trace, renders. Any thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/read_deep.h"
#include "api/read_report.h"
#include "api/read_tables.h"
#include "api/take.h"
#include "base/error.h"
#include "report/roofline/view.h"

enum { PATH_BYTES = 4096 };

struct plumb_deep {
    plumb_trace *trace;   /* NULL: the peaks alone, or the counters of a run without a trace */
    plumb_report *report; /* of the run that the trace lies in; NULL: it lies in none */
    uint32_t *stages;     /* texts of the trace */
    size_t stage_count;
    struct plumb_peaks peaks;
    char path[PATH_BYTES]; /* of the kept peaks; "": not kept */
    char remark[PATH_BYTES + 256];
};

/* Whether the kept peaks are those of this machine. */
static bool is_ours(const struct plumb_peaks *peaks)
{
    char cpu[sizeof peaks->cpu];
    uint32_t cores;
    plumb_peaks_machine(cpu, &cores);
    return strcmp(cpu, peaks->cpu) == 0 && cores == peaks->cores;
}

static const char *why_measured(const struct plumb_deep *deep, bool wanted, int loaded)
{
    return wanted                          ? "as asked"
           : loaded == PLUMB_OK            ? "the kept ones are of another processor"
           : loaded == PLUMB_ERR_NOT_FOUND ? "for the first time"
           : deep->path[0]                 ? "the kept ones could not be read"
                                           : "there is no place to keep them";
}

static int find_peaks(struct plumb_deep *deep, bool measure, plumb_error *err)
{
    plumb_error why = {0, ""};
    int loaded = PLUMB_ERR_ABSENT, rc;
    if (!plumb_peaks_path(deep->path, sizeof deep->path))
        deep->path[0] = 0;
    else if (!measure)
        loaded = plumb_peaks_load(&deep->peaks, deep->path, &why);
    if (loaded == PLUMB_OK && is_ours(&deep->peaks))
        return PLUMB_OK;
    snprintf(deep->remark, sizeof deep->remark, "measured the peaks of this machine, %s",
             why_measured(deep, measure, loaded));
    if ((rc = plumb_peaks_measure(&deep->peaks, NULL, err)) < 0)
        return rc;
    if (deep->path[0] && plumb_peaks_save(&deep->peaks, deep->path, &why) < 0) {
        snprintf(deep->remark, sizeof deep->remark, "measured the peaks of this machine: %s",
                 why.message);
        deep->path[0] = 0;
    }
    return PLUMB_OK;
}

/* The report of the run whose trace it is; any other trace has none. */
static void find_report(struct plumb_deep *deep)
{
    static const char name[] = "trace.pftrace";
    char folder[PATH_BYTES];
    plumb_error why = {0, ""};
    const char *path = plumb_trace_path(deep->trace);
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (strcmp(slash ? slash + 1 : path, name) != 0 || n + 2 > sizeof folder)
        return;
    memcpy(folder, slash ? path : ".", slash ? n : 1);
    folder[slash ? n : 1] = 0;
    if (plumb_report_open(&deep->report, n || !slash ? folder : "/", &why) < 0)
        deep->report = NULL;
}

/* Returns whether the run, which has no trace, has counters. `why`: why it has none. */
static bool has_counters(struct plumb_deep *deep, const char *what, const plumb_error *why)
{
    plumb_error unused = {0, ""};
    if (plumb_report_open(&deep->report, what, &unused) < 0)
        return false;
    snprintf(deep->remark, sizeof deep->remark, "the counters alone: %s", why->message);
    return plumb_report_loaded(deep->report)->timing.perf.on;
}

static int find_stages(struct plumb_deep *deep, plumb_error *err)
{
    const struct plumb_table *t = plumb_trace_table(deep->trace);
    const struct plumb_timing *timing =
        deep->report ? &plumb_report_loaded(deep->report)->timing : NULL;
    if (!timing)
        return PLUMB_OK;
    deep->stages = malloc((timing->node_count + 1) * sizeof *deep->stages);
    if (!deep->stages)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the stages of a run");
    for (size_t i = 0; i < timing->node_count; i++) {
        uint32_t name = plumb_strings_find(&t->strings, timing->nodes[i].name);
        if (timing->nodes[i].stage && name < t->strings.count)
            deep->stages[deep->stage_count++] = name;
    }
    return PLUMB_OK;
}

static int open_parts(plumb_deep **out, const char *what, bool trace, bool peaks, bool measure,
                      plumb_error *err)
{
    plumb_error none = {0, ""};
    int rc = PLUMB_OK;
    struct plumb_deep *deep = calloc(1, sizeof *deep);
    if (!deep)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the peaks of this machine");
    if (trace)
        rc = plumb_trace_open(&deep->trace, what, &none);
    if (rc < 0)
        rc = peaks && has_counters(deep, what, &none) ? PLUMB_OK
                                                      : plumb_fail(err, rc, "%s", none.message);
    else if (trace) {
        find_report(deep);
        rc = find_stages(deep, err);
    }
    if (rc == PLUMB_OK && peaks && (deep->trace || !trace))
        rc = find_peaks(deep, measure, err);
    if (rc == PLUMB_OK) {
        *out = deep;
        deep = NULL;
    }
    plumb_deep_close(deep);
    return rc;
}

int plumb_deep_open(plumb_deep **out, const char *what, const plumb_deep_options *options,
                    plumb_error *err)
{
    plumb_deep_options given = plumb_deep_options_default();
    int rc = plumb_take(&given, sizeof given, options, err);
    return rc < 0 ? rc : open_parts(out, what, !given.peaks_only, true, given.measure != 0, err);
}

int plumb_deep_open_trace(plumb_deep **out, const char *what, plumb_error *err)
{
    return open_parts(out, what, true, false, false, err);
}

void plumb_deep_close(plumb_deep *deep)
{
    if (!deep)
        return;
    plumb_trace_close(deep->trace);
    plumb_report_close(deep->report);
    free(deep->stages);
    free(deep);
}

const char *plumb_deep_get_remark(const plumb_deep *deep)
{
    return deep->remark;
}

const struct plumb_peaks *plumb_deep_peaks(const plumb_deep *deep)
{
    return &deep->peaks;
}

const plumb_trace *plumb_deep_trace(const plumb_deep *deep)
{
    return deep->trace;
}

const uint32_t *plumb_deep_stages(const plumb_deep *deep, size_t *count)
{
    *count = deep->stage_count;
    return deep->stages;
}

int plumb_deep_render(char **out, const plumb_deep *deep, const plumb_deep_view *view,
                      plumb_error *err)
{
    plumb_deep_view given = plumb_deep_view_default();
    struct plumb_buf text = {0};
    plumb_report *other = NULL;
    int rc = plumb_take(&given, sizeof given, view, err);
    if (rc < 0)
        return rc;
    if (given.cores > PLUMB_DEEP_ONE_CORE)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown roofs: %u", (unsigned)given.cores);
    if (given.report && given.run && (rc = plumb_report_open(&other, given.run, err)) < 0)
        return rc;
    const plumb_report *run = other ? other : deep->report;
    struct plumb_roofline_view v = {
        .t = deep->trace ? plumb_trace_table(deep->trace) : NULL,
        .path = deep->trace ? plumb_trace_path(deep->trace) : NULL,
        .peaks = deep->trace || !deep->report ? &deep->peaks : NULL,
        .peaks_path = deep->path[0] ? deep->path : NULL,
        .span = given.cores == PLUMB_DEEP_ONE_CORE ? PLUMB_PEAK_ONE : PLUMB_PEAK_ALL,
        .format = given.format,
        .kernel = given.kernel,
        .top = given.top,
        .explain = given.explain != 0,
        .stages = deep->stages,
        .stage_count = deep->stage_count,
        .report = given.report != 0,
        .timing = run ? &plumb_report_loaded(run)->timing : NULL,
        .run = run ? plumb_report_path(run) : NULL,
    };
    rc = plumb_roofline_render(&text, &v, err);
    plumb_report_close(other);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
