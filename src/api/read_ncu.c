/* read_ncu.c: reports of Nsight Compute of the public interface. Any thread, one report at a
 * time. */
#include <stdlib.h>
#include <string.h>

#include "api/read_report.h"
#include "api/take.h"
#include "base/error.h"
#include "report/deep/view.h"
#include <plumb/read/ncu.h>
#include <plumb/read/report.h>

struct plumb_ncu_report {
    struct plumb_ncu ncu;
    char path[4096];
};

int plumb_ncu_report_open(plumb_ncu_report **out, const char *path, plumb_error *err)
{
    if (strlen(path) >= sizeof(((plumb_ncu_report *)NULL)->path))
        return plumb_fail(err, PLUMB_ERR_ARG, "the path is too long: '%s'", path);
    plumb_ncu_report *k = calloc(1, sizeof *k);
    if (!k)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a report of kernels");
    memcpy(k->path, path, strlen(path) + 1);
    int rc = plumb_ncu_read(&k->ncu, path, err);
    if (rc < 0) {
        free(k);
        return rc;
    }
    *out = k;
    return PLUMB_OK;
}

void plumb_ncu_report_close(plumb_ncu_report *k)
{
    if (!k)
        return;
    plumb_ncu_fini(&k->ncu);
    free(k);
}

const char *plumb_ncu_report_metrics(void)
{
    /* In the order of enum plumb_ncu_metric. */
    return "gpu__time_duration.sum,"
           "dram__throughput.avg.pct_of_peak_sustained_elapsed,"
           "sm__throughput.avg.pct_of_peak_sustained_elapsed,"
           "sm__warps_active.avg.pct_of_peak_sustained_active";
}

typedef void (*render_fn)(struct plumb_buf *out, const struct plumb_deep_page *p);

static render_fn renderer_of(const plumb_ncu_report_view *v)
{
    static const struct {
        const char *format;
        render_fn render;
    } all[] = {{"text", plumb_deep_text},
               {"md", plumb_deep_md},
               {"csv", plumb_deep_csv},
               {"json", plumb_deep_json}};
    const char *format = v->format ? v->format : "text";
    if (v->report)
        return strcmp(format, "md") == 0 ? plumb_deep_report : NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(format, all[i].format) == 0)
            return all[i].render;
    return NULL;
}

int plumb_ncu_report_render(char **out, const plumb_ncu_report *k,
                            const plumb_ncu_report_view *view, plumb_error *err)
{
    plumb_ncu_report_view v = plumb_ncu_report_view_default();
    struct plumb_buf text = {0};
    plumb_report *run = NULL;
    int rc = plumb_take(&v, sizeof v, view, err);
    if (rc < 0)
        return rc;
    render_fn render = renderer_of(&v);
    if (!render)
        return plumb_fail(err, PLUMB_ERR_ARG, "kernels of ncu have no format '%s': %s", v.format,
                          v.report ? "the report is md" : "text, json, csv or md");
    if (v.report && v.run && (rc = plumb_report_open(&run, v.run, err)) < 0)
        return rc;
    struct plumb_deep_page page = {
        .ncu = &k->ncu,
        .path = k->path,
        .timing = run ? &plumb_report_loaded(run)->timing : NULL,
        .run = run ? plumb_report_path(run) : NULL,
        .command = v.command,
        .shown = v.top && v.top < k->ncu.count ? (size_t)v.top : k->ncu.count,
    };
    render(&text, &page);
    plumb_report_close(run);
    if (text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for '%s'", k->path);
    }
    *out = text.data;
    return PLUMB_OK;
}
