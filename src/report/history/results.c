/* results.c: results after their comparison (results.h). */
#include "report/history/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/history/judge.h"
#include "base/error.h"
#include "codec/json_fields.h"
#include "read/history/metric_kinds.h"
#include "report/table/escape.h"
#include "report/table/grid.h"
#include "summary/cells.h"

enum { TEXT = 512, MD_METRICS = 6, SHOWN_METRICS = 12 };

static const plumb_baseline *baseline_at(plumb_baseline *const *baselines, size_t result,
                                         size_t metric)
{
    return baselines && baselines[result] ? &baselines[result][metric] : NULL;
}

static const char *name_of(const plumb_result *r)
{
    return r->label ? r->label : r->cohort.workload ? r->cohort.workload : "?";
}

/* ---- Text and CSV: a row for each metric
 * ------------------------------------------------------ */

static const struct plumb_grid_column columns[] = {
    {"benchmark", "Benchmark", PLUMB_GRID_TEXT, NULL},
    {"metric", "Metric", PLUMB_GRID_TEXT, NULL},
    {"unit", "Unit", PLUMB_GRID_TEXT, NULL},
    {"baseline", "Baseline", PLUMB_GRID_FIGURE, NULL},
    {"records", "N", PLUMB_GRID_COUNT, NULL},
    {"current", "Current", PLUMB_GRID_FIGURE, NULL},
    {"worse_percent", "Worse (%)", PLUMB_GRID_PERCENT, NULL},
    {"verdict", "Verdict", PLUMB_GRID_TEXT, NULL},
    {"status", "Status", PLUMB_GRID_TEXT, NULL},
};

static const char *verdict(const struct plumb_metric_delta *d, bool compared)
{
    if (!compared)
        return "not compared";
    return d->regressed ? "worse" : d->exceeded ? "worse, not gated" : "ok";
}

static void put_row(struct plumb_grid *g, const plumb_result *r, const plumb_metric *m,
                    const plumb_baseline *b)
{
    struct plumb_metric_delta d;
    bool compared = b && plumb_metric_compare(&d, m, b->median);
    plumb_grid_text(g, name_of(r));
    plumb_grid_text(g, m->name);
    plumb_grid_text(g, m->unit);
    plumb_grid_real(g, b ? b->median : NAN);
    if (b)
        plumb_grid_whole(g, b->count);
    else
        plumb_grid_none(g);
    plumb_grid_real(g, m->value);
    plumb_grid_real(g, compared && !isinf(d.relative) ? d.relative * 100 : NAN);
    plumb_grid_text(g, verdict(&d, compared));
    plumb_grid_text(g, plumb_history_status_name(r->status));
}

/* A run may have hundreds of nodes: then only the first few gated metrics are shown, and what is
 * worse. */
static bool is_shown(const plumb_result *r, size_t metric, const plumb_baseline *b, bool all)
{
    const plumb_metric *m = &r->metrics[metric];
    struct plumb_metric_delta d;
    if (isnan(m->value) && (!b || b->count == 0))
        return false;
    return all || r->metric_count <= SHOWN_METRICS ||
           (b && plumb_metric_compare(&d, m, b->median) && d.exceeded) ||
           (m->gated && metric < SHOWN_METRICS);
}

static size_t put_rows(struct plumb_grid *g, const struct plumb_result_item *items, size_t n,
                       plumb_baseline *const *baselines, bool all)
{
    size_t hidden = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < items[i].r.metric_count; k++) {
            const plumb_baseline *b = baseline_at(baselines, i, k);
            if (is_shown(&items[i].r, k, b, all))
                put_row(g, &items[i].r, &items[i].r.metrics[k], b);
            else
                hidden++;
        }
    return hidden;
}

static bool same_reason(const plumb_result *a, const plumb_result *b)
{
    return a->status == b->status && a->reason && b->reason && strcmp(a->reason, b->reason) == 0;
}

/* A line for each reason, with how many results have it. */
static void put_reasons(struct plumb_buf *out, const struct plumb_result_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const plumb_result *r = &items[i].r;
        size_t equal = 0, first = i;
        for (size_t k = 0; k < n; k++) {
            equal += same_reason(r, &items[k].r);
            first = k < first && same_reason(r, &items[k].r) ? k : first;
        }
        if (!r->reason || r->status == PLUMB_HISTORY_PASS || first < i)
            continue;
        plumb_buf_printf(out, "\n%s: ", plumb_history_status_name(r->status));
        plumb_put_left(out, name_of(r), 0);
        if (equal > 1)
            plumb_buf_printf(out, " and %zu more", equal - 1);
        plumb_buf_printf(out, ": %s", r->reason);
    }
}

/* ---- Markdown: a row for each result
 * ---------------------------------------------------------- */

struct names {
    const char *at[MD_METRICS];
    size_t n;
};

static void add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return;
    if (names->n < MD_METRICS)
        names->at[names->n++] = name;
}

/* The first gated metrics of all results. */
static void collect_names(struct names *names, const struct plumb_result_item *items, size_t n)
{
    names->n = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < items[i].r.metric_count; k++)
            if (items[i].r.metrics[k].gated)
                add_name(names, items[i].r.metrics[k].name);
}

static void put_figure(struct plumb_buf *out, const char *name, double value)
{
    if (isnan(value))
        plumb_buf_str(out, "n/a");
    else
        plumb_buf_printf(out, "%.*f", plumb_metric_decimals(name), value);
}

static void put_text(struct plumb_buf *out, const char *text)
{
    struct plumb_buf clean = {0};
    for (const char *p = text; p && *p; p++) /* the cells of older readers end at any pipe */
        plumb_buf_char(&clean, *p == '|' ? '/' : *p);
    plumb_put_md(out, clean.data ? clean.data : "");
    out->failed |= clean.failed;
    plumb_buf_fini(&clean);
}

static void put_md_metric(struct plumb_buf *out, const plumb_result *r, const char *name,
                          const plumb_baseline *b)
{
    const plumb_metric *m = plumb_result_find(r, name);
    plumb_buf_str(out, " ");
    put_figure(out, name, m ? m->value : NAN);
    plumb_buf_str(out, " / ");
    put_figure(out, name, m && b ? b[m - r->metrics].median : NAN);
    if (m && m->unit[0]) {
        plumb_buf_char(out, ' ');
        put_text(out, m->unit);
    }
    plumb_buf_str(out, " |");
}

/* The largest relative change for the worse, and the metrics beyond their floors. */
static void put_md_verdicts(struct plumb_buf *out, const plumb_result *r, const plumb_baseline *b)
{
    struct plumb_buf exceeded = {0}, failing = {0};
    double worst = NAN;
    for (size_t i = 0; b && i < r->metric_count; i++) {
        struct plumb_metric_delta d;
        if (!plumb_metric_compare(&d, &r->metrics[i], b[i].median))
            continue;
        worst = isnan(worst) || d.relative > worst ? d.relative : worst;
        if (d.exceeded)
            plumb_buf_printf(&exceeded, "%s%s", exceeded.len ? ", " : "", r->metrics[i].name);
        if (d.regressed)
            plumb_buf_printf(&failing, "%s%s", failing.len ? ", " : "", r->metrics[i].name);
    }
    if (isnan(worst))
        plumb_buf_str(out, " n/a |");
    else if (isinf(worst))
        plumb_buf_str(out, " from 0 |");
    else
        plumb_buf_printf(out, " %.1f%% |", worst * 100);
    plumb_buf_char(out, ' ');
    put_text(out, exceeded.data ? exceeded.data : "none");
    plumb_buf_str(out, " | ");
    put_text(out, failing.data ? failing.data : "none");
    plumb_buf_str(out, " |");
    out->failed |= exceeded.failed || failing.failed;
    plumb_buf_fini(&exceeded);
    plumb_buf_fini(&failing);
}

static uint32_t records_of(const plumb_result *r, const plumb_baseline *b)
{
    uint32_t most = 0;
    for (size_t i = 0; b && i < r->metric_count; i++)
        most = b[i].count > most ? b[i].count : most;
    return most;
}

static void put_md(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                   plumb_baseline *const *baselines)
{
    struct names names;
    collect_names(&names, items, n);
    plumb_buf_str(out,
                  "## Performance against the baseline\n\n| Benchmark | Device | Baseline N |");
    for (size_t i = 0; i < names.n; i++) {
        plumb_buf_char(out, ' ');
        put_text(out, names.at[i]);
        plumb_buf_str(out, " (current / baseline) |");
    }
    plumb_buf_str(out,
                  " Worst regression | Exceeded | Failing | Status | Detail |\n|---|---|---:|");
    for (size_t i = 0; i < names.n; i++)
        plumb_buf_str(out, "---:|");
    plumb_buf_str(out, "---:|---|---|---|---|");
    for (size_t i = 0; i < n; i++) {
        const plumb_result *r = &items[i].r;
        const plumb_baseline *b = baselines ? baselines[i] : NULL;
        plumb_buf_str(out, "\n| ");
        put_text(out, name_of(r));
        plumb_buf_str(out, " | ");
        put_text(out, r->device ? r->device : "n/a");
        plumb_buf_printf(out, " | %u |", records_of(r, b));
        for (size_t k = 0; k < names.n; k++)
            put_md_metric(out, r, names.at[k], b);
        put_md_verdicts(out, r, b);
        plumb_buf_printf(out, " %s | ", plumb_history_status_name(r->status));
        put_text(out, r->reason ? r->reason : "");
        plumb_buf_str(out, " |");
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_metric(struct plumb_json *j, const plumb_metric *m, const plumb_baseline *b)
{
    struct plumb_metric_delta d;
    bool compared = b && plumb_metric_compare(&d, m, b->median);
    plumb_json_object(j);
    plumb_put_text(j, "name", m->name);
    plumb_put_text(j, "unit", m->unit);
    plumb_put_f64(j, "value", m->value);
    plumb_put_bool(j, "higher_is_better", m->higher_is_better);
    plumb_put_bool(j, "gated", m->gated);
    plumb_put_f64(j, "floor_relative", m->floor_relative);
    plumb_put_f64(j, "floor_absolute", m->floor_absolute);
    if (b) {
        plumb_put_f64(j, "baseline", b->median);
        plumb_json_key(j, "baseline_values");
        plumb_json_f64s(j, b->values, b->count);
    }
    if (compared) {
        plumb_put_f64(j, "worse_relative", d.relative);
        plumb_put_f64(j, "worse_absolute", d.absolute);
        plumb_put_bool(j, "exceeded", d.exceeded);
        plumb_put_bool(j, "regressed", d.regressed);
    }
    plumb_json_object_end(j);
}

static void put_keys(struct plumb_json *j, const plumb_cohort *c)
{
    plumb_put_text(j, "workload_id", c->workload);
    plumb_put_text(j, "variant_id", c->variant);
    plumb_put_text(j, "benchmark_version", c->version);
    plumb_put_text(j, "recipe_fingerprint", c->recipe);
    plumb_put_text(j, "hardware_profile_id", c->hardware);
    plumb_put_text(j, "software_profile_id", c->software);
}

void plumb_history_put_result(struct plumb_json *j, const struct plumb_result_item *item,
                              const plumb_baseline *baselines)
{
    const plumb_result *r = &item->r;
    if (r->id)
        plumb_put_i64(j, "id", r->id);
    plumb_put_time(j, "time", r->time_ns);
    put_keys(j, &r->cohort);
    plumb_put_text(j, "label", r->label);
    plumb_put_text(j, "device", r->device);
    plumb_put_text(j, "commit", r->commit);
    plumb_put_text(j, "branch", r->branch);
    plumb_put_text(j, "pr_number", r->pr);
    plumb_put_text(j, "run_source", r->run_source);
    plumb_put_text(j, "source", r->source);
    plumb_put_text(j, "environment_fingerprint", item->environment);
    plumb_put_bool(j, "success", r->success);
    plumb_put_bool(j, "baseline_eligible", r->eligible);
    plumb_put_text(j, "comparison_status", plumb_history_status_name(r->status));
    plumb_put_text(
        j, "baseline_status",
        r->status == PLUMB_HISTORY_NOT_COMPARED ? NULL : plumb_baseline_state_name(r->baseline));
    plumb_put_text(j, "comparison_status_reason", r->reason);
    plumb_put_array(j, "metrics");
    for (size_t i = 0; i < r->metric_count; i++)
        put_metric(j, &r->metrics[i], baselines ? &baselines[i] : NULL);
    plumb_json_array_end(j);
}

static void put_json(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                     plumb_baseline *const *baselines)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 2);
    plumb_json_object(&j);
    plumb_put_array(&j, "results");
    for (size_t i = 0; i < n; i++) {
        plumb_json_object(&j);
        plumb_history_put_result(&j, &items[i], baselines ? baselines[i] : NULL);
        plumb_json_object_end(&j);
    }
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
}

int plumb_history_results(struct plumb_buf *out, const struct plumb_result_item *items, size_t n,
                          plumb_baseline *const *baselines, const char *format, plumb_error *err)
{
    struct plumb_grid g;
    bool text = strcmp(format, "text") == 0, csv = strcmp(format, "csv") == 0;
    if (strcmp(format, "md") == 0) {
        put_md(out, items, n, baselines);
        return PLUMB_OK;
    }
    if (strcmp(format, "json") == 0) {
        put_json(out, items, n, baselines);
        return PLUMB_OK;
    }
    if (!text && !csv)
        return plumb_fail(err, PLUMB_ERR_ARG, "results have no format '%s'", format);
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    size_t hidden = put_rows(&g, items, n, baselines, csv);
    if (csv)
        plumb_grid_csv(&g, out);
    else
        plumb_grid_write(&g, out);
    if (hidden > 0)
        plumb_buf_printf(out, "\n(%zu more metrics, none of them worse: --format csv has all)",
                         hidden);
    if (text)
        put_reasons(out, items, n);
    plumb_grid_fini(&g);
    return PLUMB_OK;
}
