/* read_deep.c: peaks and kernels of the public interface: finds the kept peaks or measures them,
 * opens the trace, renders. Any thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/read_deep.h"
#include "api/read_tables.h"
#include "api/take.h"
#include "base/error.h"
#include "report/roofline/view.h"

enum { PATH_BYTES = 4096 };

struct plumb_deep {
    plumb_trace *trace; /* NULL: the peaks alone */
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

int plumb_deep_open(plumb_deep **out, const char *what, const plumb_deep_options *options,
                    plumb_error *err)
{
    plumb_deep_options given = plumb_deep_options_default();
    struct plumb_deep *deep = NULL;
    int rc = plumb_take(&given, sizeof given, options, err);
    if (rc < 0)
        return rc;
    if (!(deep = calloc(1, sizeof *deep)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the peaks of this machine");
    if (!given.peaks_only)
        rc = plumb_trace_open(&deep->trace, what, err);
    if (rc == PLUMB_OK)
        rc = find_peaks(deep, given.measure != 0, err);
    if (rc == PLUMB_OK) {
        *out = deep;
        deep = NULL;
    }
    plumb_deep_close(deep);
    return rc;
}

void plumb_deep_close(plumb_deep *deep)
{
    if (!deep)
        return;
    plumb_trace_close(deep->trace);
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

int plumb_deep_render(char **out, const plumb_deep *deep, const plumb_deep_view *view,
                      plumb_error *err)
{
    plumb_deep_view given = plumb_deep_view_default();
    struct plumb_buf text = {0};
    int rc = plumb_take(&given, sizeof given, view, err);
    if (rc < 0)
        return rc;
    if (given.cores > PLUMB_DEEP_ONE_CORE)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown roofs: %u", (unsigned)given.cores);
    struct plumb_roofline_view v = {
        .t = deep->trace ? plumb_trace_table(deep->trace) : NULL,
        .path = deep->trace ? plumb_trace_path(deep->trace) : NULL,
        .peaks = &deep->peaks,
        .peaks_path = deep->path[0] ? deep->path : NULL,
        .span = given.cores == PLUMB_DEEP_ONE_CORE ? PLUMB_PEAK_ONE : PLUMB_PEAK_ALL,
        .format = given.format,
        .kernel = given.kernel,
        .top = given.top,
        .explain = given.explain != 0,
    };
    rc = plumb_roofline_render(&text, &v, err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
