/* read_gate_history.c: baselines of the history as the old side of rules with "old = history". The
 * results are read once more, as the history reads them: their identity decides which records they
 * are compared with. */
#include <string.h>

#include "api/read_gate.h"
#include "base/error.h"
#include <plumb/read/history.h>

struct finding {
    struct plumb_gate_case *g;
    struct plumb_gate_source *source;
    plumb_history *history;
    plumb_error *err;
};

static double unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return 0;
}

/* The metric of a gate that a metric of the history is. `node` is the benchmark, or empty for a
 * recording, whose metrics are called after nodes. */
static const char *metric_of(const plumb_metric *m, const char **node)
{
    if (strcmp(m->name, "peak_memory") == 0)
        return "peak_rss";
    if (strcmp(m->name, "cpu_time") == 0)
        return "cpu_time";
    if (strcmp(m->name, "real_time") == 0)
        return "time";
    if (!unit_ns(m->unit))
        return NULL;
    if (!**node)
        *node = m->name;
    return "time";
}

/* Why there is no value to compare with; NULL: there is one. */
static const char *obstacle(const plumb_baseline *b)
{
    switch (b->state) {
    case PLUMB_BASELINE_FOUND:
        return b->count > 0 ? NULL : "the history has no value of it: CALIBRATION_NEEDED";
    case PLUMB_BASELINE_NEW_COHORT:
        return "the history has no baseline of this workload on this machine: CALIBRATION_NEEDED";
    case PLUMB_BASELINE_RECIPE_MISMATCH:
        return "the baseline was run in another way: RECIPE_MISMATCH";
    case PLUMB_BASELINE_MISSING_IDENTITY:
    case PLUMB_BASELINE_INVALID_IDENTITY:
        return "the result does not say what it is of, so no record is comparable: INFRA_ERROR";
    default:
        return "the baseline cannot be read: INFRA_ERROR";
    }
}

static int64_t to_bytes(const plumb_baseline *b)
{
    double factor = strcmp(b->unit, "MB") == 0 ? 1048576 : 1;
    return (int64_t)(b->median * factor + 0.5);
}

/* The metrics of a recording are called "denoise", or "train: denoise" in another phase than the
 * default. */
static void set_place(struct finding *f, struct plumb_gate_value *v, const char *node,
                      bool recorded)
{
    const char *colon = recorded ? strstr(node, ": ") : NULL;
    v->phase = recorded && *node ? "inference" : "";
    if (colon) {
        v->phase = plumb_arena_strndup(&f->g->arena, node, (size_t)(colon - node));
        node = colon + 2;
    }
    v->node = plumb_arena_strdup(&f->g->arena, node);
}

static int add_metric(struct finding *f, const plumb_result *r, const plumb_metric *m,
                      const char *benchmark)
{
    plumb_baseline b = {.size = sizeof b};
    const char *node = benchmark, *metric = metric_of(m, &node);
    const struct plumb_gate_metric *known = metric ? plumb_gate_metric_find(metric) : NULL;
    struct plumb_gate_value *v;
    int rc;
    if (!known)
        return PLUMB_OK;
    /* Without the result itself, which may be in the history already. */
    rc = plumb_history_baseline(&b, f->history, &r->cohort, m->name,
                                r->time_ns > 0 ? r->time_ns - 1 : 0, f->err);
    if (rc < 0)
        return rc;
    v = plumb_gate_put(f->g, f->source, metric);
    if (!v)
        return plumb_fail(f->err, PLUMB_ERR_MEMORY, "no memory for baselines");
    set_place(f, v, node, !*benchmark);
    v->of_run = !*node;
    v->wrong = obstacle(&b);
    if (v->wrong)
        return PLUMB_OK;
    v->exact = to_bytes(&b);
    for (uint32_t i = 0; known->quantity == PLUMB_GATE_TIME && i < b.count; i++)
        plumb_gate_sample(f->g, v, b.values[i] * unit_ns(b.unit));
    return PLUMB_OK;
}

static int add_result(struct finding *f, const char *path)
{
    plumb_results *results;
    int rc = plumb_results_open(&results, path, NULL, f->err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < plumb_results_count(results) && rc >= 0; i++) {
        const plumb_result *r = plumb_results_get(results, i);
        /* A recording has the variant "run"; a benchmark has its name there. */
        bool run = !r->cohort.variant || strcmp(r->cohort.variant, "run") == 0;
        for (size_t k = 0; k < r->metric_count && rc >= 0; k++)
            rc = add_metric(f, r, &r->metrics[k], run ? "" : r->cohort.variant);
    }
    plumb_results_close(results);
    return rc;
}

int plumb_gate_find_baselines(struct plumb_gate_case *g, const char *history, plumb_error *err)
{
    struct finding f = {.g = g, .err = err};
    int rc = plumb_history_open(&f.history, history, NULL, err);
    if (rc < 0)
        return rc;
    f.source = plumb_gate_add(g, PLUMB_GATE_SIDE_HISTORY, "history");
    for (size_t i = 0; f.source && i < g->side[PLUMB_GATE_SIDE_NEW].count && rc >= 0; i++)
        if (!g->side[PLUMB_GATE_SIDE_NEW].sources[i].partial)
            rc = add_result(&f, g->side[PLUMB_GATE_SIDE_NEW].sources[i].path);
    plumb_history_close(f.history);
    if (rc >= 0 && g->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for baselines");
    return rc;
}
