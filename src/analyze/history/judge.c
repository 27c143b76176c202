/* judge.c: see judge.h. */
#include "analyze/history/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *plumb_cohort_missing(const plumb_cohort *c)
{
    const struct {
        const char *name, *value;
    } keys[] = {{"workload", c->workload}, {"variant", c->variant},   {"version", c->version},
                {"recipe", c->recipe},     {"hardware", c->hardware}, {"software", c->software}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!keys[i].value || !*keys[i].value)
            return keys[i].name;
    return NULL;
}

/* ---- The baseline ---------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *values, size_t n)
{
    double sorted[PLUMB_BASELINE_RECORDS];
    if (n == 0)
        return NAN;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void plumb_baseline_of(plumb_baseline *out, const struct plumb_result_item *records, size_t n,
                       const char *metric, size_t place)
{
    size_t size = out->size;
    size_t first = n > PLUMB_BASELINE_RECORDS ? n - PLUMB_BASELINE_RECORDS : 0;
    memset(out, 0, sizeof *out);
    out->size = size;
    out->state = n > 0 ? PLUMB_BASELINE_FOUND : PLUMB_BASELINE_NEW_COHORT;
    for (size_t i = first; i < n; i++) {
        const plumb_metric *m = plumb_result_find_near(&records[i].r, metric, place);
        if (!m || isnan(m->value))
            continue;
        out->values[out->count] = m->value;
        out->times_ns[out->count++] = records[i].r.time_ns;
        out->higher_is_better = m->higher_is_better;
        out->floor_relative = m->floor_relative;
        out->floor_absolute = m->floor_absolute;
        snprintf(out->unit, sizeof out->unit, "%s", m->unit);
    }
    out->median = median_of(out->values, out->count);
    out->status = out->count > 0 ? PLUMB_HISTORY_PASS : PLUMB_HISTORY_CALIBRATION_NEEDED;
}

bool plumb_metric_compare(struct plumb_metric_delta *out, const plumb_metric *m, double baseline)
{
    bool from_zero = baseline == 0 && strcmp(m->unit, "count") == 0;
    *out = (struct plumb_metric_delta){0, 0, false, false};
    if (isnan(m->value) || isnan(baseline) || !(baseline > 0 || from_zero))
        return false;
    out->absolute = m->higher_is_better ? baseline - m->value : m->value - baseline;
    if (!from_zero)
        out->relative = out->absolute / baseline;
    else if (out->absolute != 0)
        out->relative = out->absolute > 0 ? INFINITY : -INFINITY;
    out->exceeded = out->relative > m->floor_relative && out->absolute > m->floor_absolute;
    out->regressed = out->exceeded && m->gated;
    return true;
}

/* ---- The status ------------------------------------------------------------------------------ */

/* `*compared`: some gated metric has a baseline. */
static bool explain_regressions(const struct plumb_judge_input *in, bool *compared,
                                struct plumb_buf *reason)
{
    const plumb_result *r = &in->item->r;
    size_t found = 0;
    *compared = false;
    for (size_t i = 0; i < r->metric_count; i++) {
        plumb_baseline b = {.size = sizeof b};
        struct plumb_metric_delta d;
        const plumb_metric *m = &r->metrics[i];
        plumb_baseline_of(&b, in->records, in->count, m->name, i);
        if (!plumb_metric_compare(&d, m, b.median))
            continue;
        *compared |= m->gated != 0;
        if (!d.regressed)
            continue;
        plumb_buf_printf(reason, "%s%s is worse by %.1f %% (%.6g %s, baseline %.6g of %u)",
                         found++ ? "; " : "", m->name, d.relative * 100, m->value, m->unit,
                         b.median, b.count);
    }
    return found > 0;
}

/* The statuses that need no baseline; PASS: none of them. */
static uint32_t judge_early(const struct plumb_judge_input *in, const char *missing,
                            struct plumb_buf *reason)
{
    if (in->item->keyed && missing) {
        plumb_buf_printf(reason, "the result has no %s", missing);
        return PLUMB_HISTORY_INFRA_ERROR;
    }
    if (!missing && in->count == 0 && in->other_recipe) {
        plumb_buf_str(reason, "the recipe differs from that of the trusted records");
        return PLUMB_HISTORY_RECIPE_MISMATCH;
    }
    if (in->item->breached) {
        plumb_buf_str(reason, "a static limit is exceeded");
        return PLUMB_HISTORY_REGRESSION;
    }
    if (in->failed && !in->breach_known) {
        plumb_buf_str(reason, "the program that measures failed");
        return PLUMB_HISTORY_INFRA_ERROR;
    }
    return PLUMB_HISTORY_PASS;
}

uint32_t plumb_judge(const struct plumb_judge_input *in, uint32_t *baseline,
                     struct plumb_buf *reason)
{
    const char *missing = plumb_cohort_missing(&in->item->r.cohort);
    uint32_t status = judge_early(in, missing, reason);
    bool compared;
    if (missing)
        *baseline =
            in->item->keyed ? PLUMB_BASELINE_INVALID_IDENTITY : PLUMB_BASELINE_MISSING_IDENTITY;
    else if (in->count > 0)
        *baseline = PLUMB_BASELINE_FOUND;
    else
        *baseline = in->other_recipe ? PLUMB_BASELINE_RECIPE_MISMATCH : PLUMB_BASELINE_NEW_COHORT;
    if (status != PLUMB_HISTORY_PASS)
        return status;
    if (missing)
        return PLUMB_HISTORY_PASS; /* a format without keys */
    if (in->count == 0) {
        plumb_buf_str(reason, "there is no baseline yet");
        return PLUMB_HISTORY_CALIBRATION_NEEDED;
    }
    if (explain_regressions(in, &compared, reason))
        return PLUMB_HISTORY_REGRESSION;
    if (compared)
        return PLUMB_HISTORY_PASS;
    plumb_buf_str(reason, "no gated metric has both a value and a baseline");
    return PLUMB_HISTORY_CALIBRATION_NEEDED;
}

int plumb_history_exit(uint32_t status)
{
    switch (status) {
    case PLUMB_HISTORY_PASS:
    case PLUMB_HISTORY_NOT_COMPARED:
        return 0;
    case PLUMB_HISTORY_REGRESSION:
        return 1;
    case PLUMB_HISTORY_INFRA_ERROR:
        return 2;
    default:
        return 3;
    }
}

int plumb_history_worse_exit(int a, int b)
{
    static const int order[] = {[0] = 0, [3] = 1, [1] = 2, [2] = 3};
    return order[a & 3] > order[b & 3] ? a : b;
}

const char *plumb_history_status_name(uint32_t status)
{
    static const char *const names[] = {"PASS",
                                        "REGRESSION",
                                        "INFRA_ERROR",
                                        "CALIBRATION_NEEDED",
                                        "RECIPE_MISMATCH",
                                        "QUALITY_BLOCKED",
                                        "NOT_COMPARED"};
    return status < sizeof names / sizeof *names ? names[status] : "UNKNOWN";
}

const char *plumb_baseline_state_name(uint32_t state)
{
    static const char *const names[] = {"compared",         "initialized_new_cohort",
                                        "recipe_mismatch",  "skipped_missing_identity",
                                        "invalid_identity", "infra_error"};
    return state < sizeof names / sizeof *names ? names[state] : "unknown";
}
