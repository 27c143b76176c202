/* records.c: the records of a history as a table, and one of them with all of it (results.h). */
#include "report/history/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/history/judge.h"
#include "base/error.h"
#include "codec/json_fields.h"
#include "report/table/escape.h"
#include "report/table/grid.h"
#include "summary/cells.h"

enum { SHORT = 12 };

static const struct plumb_grid_column columns[] = {
    {"id", "Id", PLUMB_GRID_COUNT, NULL},
    {"time", "Time (UTC)", PLUMB_GRID_TEXT, NULL},
    {"workload_id", "Workload", PLUMB_GRID_TEXT, NULL},
    {"variant_id", "Variant", PLUMB_GRID_TEXT, NULL},
    {"benchmark_version", "Version", PLUMB_GRID_TEXT, NULL},
    {"commit", "Commit", PLUMB_GRID_TEXT, NULL},
    {"run_source", "Source", PLUMB_GRID_TEXT, NULL},
    {"metric", "Metric", PLUMB_GRID_TEXT, NULL},
    {"value", "Value", PLUMB_GRID_FIGURE, NULL},
    {"unit", "Unit", PLUMB_GRID_TEXT, NULL},
    {"status", "Status", PLUMB_GRID_TEXT, NULL},
    {"baseline_eligible", "Baseline", PLUMB_GRID_FLAG, NULL},
};

/* "2026-01-02 03:04:05" */
static void put_time(struct plumb_grid *g, uint64_t ns)
{
    char text[PLUMB_TIME_TEXT];
    plumb_time_text(text, ns);
    text[19] = '\0';
    text[10] = ' ';
    plumb_grid_copy(g, text);
}

static void put_short(struct plumb_grid *g, const char *text)
{
    char cut[SHORT + 1];
    if (!text) {
        plumb_grid_none(g);
        return;
    }
    snprintf(cut, sizeof cut, "%.*s", SHORT, text);
    plumb_grid_copy(g, cut);
}

/* The first gated metric stands for the record. */
static const plumb_metric *first_metric(const plumb_result *r)
{
    for (size_t i = 0; i < r->metric_count; i++)
        if (r->metrics[i].gated)
            return &r->metrics[i];
    return r->metric_count ? r->metrics : NULL;
}

static void put_row(struct plumb_grid *g, const plumb_result *r, bool whole)
{
    const plumb_metric *m = first_metric(r);
    plumb_grid_whole(g, (uint64_t)r->id);
    put_time(g, r->time_ns);
    plumb_grid_text(g, r->cohort.workload);
    plumb_grid_text(g, r->cohort.variant);
    plumb_grid_text(g, r->cohort.version);
    if (whole)
        plumb_grid_text(g, r->commit);
    else
        put_short(g, r->commit);
    plumb_grid_text(g, r->run_source);
    plumb_grid_text(g, m ? m->name : NULL);
    plumb_grid_real(g, m ? m->value : NAN);
    plumb_grid_text(g, m ? m->unit : NULL);
    plumb_grid_text(g, plumb_history_status_name(r->status));
    plumb_grid_whole(g, r->eligible && r->success);
}

static void put_json(struct plumb_buf *out, const struct plumb_result_item *items, size_t n)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_put_array(&j, "records");
    for (size_t i = 0; i < n; i++) {
        plumb_json_object(&j);
        plumb_history_put_result(&j, &items[i], NULL);
        plumb_json_object_end(&j);
    }
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}

int plumb_history_records(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                          const char *format, plumb_error *err)
{
    struct plumb_grid g;
    bool csv = strcmp(format, "csv") == 0, md = strcmp(format, "md") == 0;
    if (strcmp(format, "json") == 0) {
        put_json(out, items, n);
        return PLUMB_OK;
    }
    if (!csv && !md && strcmp(format, "text") != 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "a history has no format '%s'", format);
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++)
        put_row(&g, &items[i].r, csv);
    if (csv)
        plumb_grid_csv(&g, out);
    else if (md)
        plumb_grid_md(&g, out);
    else
        plumb_grid_write(&g, out);
    plumb_grid_fini(&g);
    return PLUMB_OK;
}

/* ---- One record ------------------------------------------------------------------------------ */

static void put_line(struct plumb_buf *out, bool md, const char *name, const char *value)
{
    if (!value)
        return;
    plumb_buf_printf(out, md ? "- %s: " : "%-12s ", name);
    if (md)
        plumb_put_md(out, value);
    else
        plumb_put_left(out, value, 0);
    plumb_buf_char(out, '\n');
}

static void put_head(struct plumb_buf *out, const struct plumb_result_item *item, bool md)
{
    const plumb_result *r = &item->r;
    char text[PLUMB_TIME_TEXT], id[32];
    snprintf(id, sizeof id, "%lld", (long long)r->id);
    plumb_time_text(text, r->time_ns);
    put_line(out, md, "record", id);
    put_line(out, md, "time", text);
    put_line(out, md, "workload", r->cohort.workload);
    put_line(out, md, "variant", r->cohort.variant);
    put_line(out, md, "version", r->cohort.version);
    put_line(out, md, "recipe", r->cohort.recipe);
    put_line(out, md, "hardware", r->cohort.hardware);
    put_line(out, md, "software", r->cohort.software);
    put_line(out, md, "label", r->label);
    put_line(out, md, "device", r->device);
    put_line(out, md, "commit", r->commit);
    put_line(out, md, "branch", r->branch);
    put_line(out, md, "pull request", r->pr);
    put_line(out, md, "run source", r->run_source);
    put_line(out, md, "file", r->source);
    put_line(out, md, "status", plumb_history_status_name(r->status));
    put_line(out, md, "reason", r->reason && *r->reason ? r->reason : NULL);
    put_line(out, md, "baseline", r->eligible && r->success ? "counts" : "does not count");
    put_line(out, md, "identity", item->extra);
    plumb_buf_char(out, '\n');
}

static void put_metrics(struct plumb_buf *out, const plumb_result *r,
                        const plumb_baseline *baselines, bool md)
{
    static const struct plumb_grid_column of_metrics[] = {
        {"metric", "Metric", PLUMB_GRID_TEXT, NULL},
        {"value", "Value", PLUMB_GRID_FIGURE, NULL},
        {"unit", "Unit", PLUMB_GRID_TEXT, NULL},
        {"baseline", "Baseline now", PLUMB_GRID_FIGURE, NULL},
        {"records", "N", PLUMB_GRID_COUNT, NULL},
        {"gated", "Gated", PLUMB_GRID_FLAG, NULL},
        {"floor_percent", "Floor (%)", PLUMB_GRID_PERCENT, NULL},
        {"floor_absolute", "Floor", PLUMB_GRID_FIGURE, NULL},
    };
    struct plumb_grid g;
    plumb_grid_init(&g, of_metrics, sizeof of_metrics / sizeof *of_metrics);
    for (size_t i = 0; i < r->metric_count; i++) {
        const plumb_metric *m = &r->metrics[i];
        plumb_grid_text(&g, m->name);
        plumb_grid_real(&g, m->value);
        plumb_grid_text(&g, m->unit);
        plumb_grid_real(&g, baselines[i].median);
        plumb_grid_whole(&g, baselines[i].count);
        plumb_grid_whole(&g, m->gated);
        plumb_grid_real(&g, m->floor_relative * 100);
        plumb_grid_real(&g, m->floor_absolute);
    }
    if (md)
        plumb_grid_md(&g, out);
    else
        plumb_grid_write(&g, out);
    plumb_grid_fini(&g);
}

int plumb_history_record(struct plumb_buf *out, const struct plumb_result_item *item,
                         const plumb_baseline *baselines, const char *format, plumb_error *err)
{
    bool md = strcmp(format, "md") == 0;
    if (strcmp(format, "json") == 0) {
        struct plumb_json j;
        plumb_json_init(&j, out, 2);
        plumb_json_object(&j);
        plumb_history_put_result(&j, item, baselines);
        plumb_put_text(&j, "identity", item->extra);
        plumb_json_object_end(&j);
        return PLUMB_OK;
    }
    if (!md && strcmp(format, "text") != 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "a record has no format '%s'", format);
    put_head(out, item, md);
    put_metrics(out, &item->r, baselines, md);
    return PLUMB_OK;
}
