/* read_gate_history.c: what gates take from the history and from its readers: baselines as the old
 * side of rules with "old = history", and the figures of results that only the history reads.
 *
 * The results are read once more, as the history reads them: their identity decides which records
 * they are compared with. A baseline is looked up for each rule and each place that it selects, and
 * is a value for that rule alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/read_figures.h"
#include "api/read_gate.h"
#include "api/read_history.h"
#include "base/error.h"
#include "base/strings/strings.h"
#include <plumb/read/history.h>

static bool is(const struct plumb_gate_metric *metric, const char *name)
{
    return strcmp(metric->name, name) == 0;
}

/* ---- Results as the history reads them ------------------------------------------------------- */

struct result {
    const plumb_result *r;
    const char *place; /* node of its figures; "": a recording */
    bool benchmark;    /* of google/benchmark */
    bool read;         /* `baselines` is */
    struct plumb_baseline_set baselines;
};

/* The results of one file: of each place the newest. */
struct results {
    plumb_results *all;
    struct result *at;
    size_t count;
};

static void close_results(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->at[i].read)
            plumb_result_list_fini(&results->at[i].baselines.records);
    free(results->at);
    plumb_results_close(results->all);
    *results = (struct results){NULL, NULL, 0};
}

static struct result result_of(const plumb_result *r, struct plumb_arena *arena)
{
    const plumb_cohort *c = &r->cohort;
    const char *workload = c->workload ? c->workload : "", *variant = c->variant ? c->variant : "";
    struct result out = {.r = r, .place = "", .benchmark = plumb_result_find(r, "real_time")};
    if (out.benchmark)
        out.place = variant;
    else if (strcmp(variant, "default") == 0)
        out.place = workload;
    else if (strcmp(variant, "run") != 0)
        out.place = plumb_arena_printf(arena, "%s %s", workload, variant);
    return out;
}

static int open_results(struct results *out, struct plumb_arena *arena, const char *path,
                        const char *recipe, plumb_error *err)
{
    plumb_results_options options = plumb_results_options_default();
    struct plumb_strings seen = {.at = NULL};
    size_t n;
    *out = (struct results){NULL, NULL, 0};
    options.recipe = recipe;
    int rc = plumb_results_open(&out->all, path, &options, err);
    if (rc < 0)
        return rc;
    n = plumb_results_count(out->all);
    if (!(out->at = calloc(n + 1, sizeof *out->at)))
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the results of '%s'", path);
    for (size_t i = n; i > 0 && rc == PLUMB_OK; i--) { /* the newest come last */
        struct result found = result_of(plumb_results_get(out->all, i - 1), arena);
        uint32_t known = seen.count;
        uint32_t number = found.place ? plumb_strings_put_key(&seen, &found.place, 1) : 0;
        if (seen.text.failed)
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the results of '%s'", path);
        if (number == 0 || number < known)
            continue;
        out->at[out->count++] = found;
    }
    plumb_strings_fini(&seen);
    for (size_t i = 0; i < out->count / 2; i++) { /* as they stand in the file again */
        struct result last = out->at[out->count - 1 - i];
        out->at[out->count - 1 - i] = out->at[i];
        out->at[i] = last;
    }
    if (rc < 0)
        close_results(out);
    return rc;
}

/* ---- Baselines ------------------------------------------------------------------------------- */

struct finding {
    struct plumb_gate_case *g;
    size_t source; /* of the side of the history */
    const struct plumb_gate_rule *rule;
    plumb_history *history;
    const char *recipe; /* of the results; NULL: as they have it */
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

/* Returns how many of the gate's own units one of `unit` has; 0: it is of another kind. */
static double factor_of(const struct plumb_gate_metric *metric, const char *unit)
{
    switch (metric->quantity) {
    case PLUMB_GATE_TIME:
        return unit_ns(unit);
    case PLUMB_GATE_BYTES:
        return strcmp(unit, "bytes") == 0                            ? 1
               : strcmp(unit, "MB") == 0 || strcmp(unit, "MiB") == 0 ? 1048576
                                                                     : 0;
    case PLUMB_GATE_COUNT:
    case PLUMB_GATE_SIGNED:
        return strcmp(unit, "count") == 0;
    default:
        return 1;
    }
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

/* The name of the rule's figure in the history; NULL: the result has none of that metric. */
static void put_name(struct plumb_buf *out, const struct finding *f, const struct result *result,
                     const struct plumb_gate_key *key)
{
    const struct plumb_gate_metric *m = f->rule->metric;
    if (is(m, "figure"))
        plumb_buf_str(out, key->name);
    else if (!result->benchmark)
        plumb_history_figure_name(out, m, key);
    else
        plumb_buf_str(out, is(m, "time")       ? "real_time"
                           : is(m, "peak_rss") ? "peak_memory"
                                               : m->name);
}

static void get(plumb_baseline *b, const struct result *result, const char *name)
{
    *b = (plumb_baseline){.size = sizeof *b};
    plumb_baseline_set_get(b, &result->baselines, name, 0);
}

/* A node that ran and has no figure of a kind that was counted in the run has a count of 0. */
static bool is_zero(const struct finding *f, const struct result *result,
                    const struct plumb_gate_key *key)
{
    struct plumb_gate_key run = {"", "", "", "", PLUMB_GATE_WHOLE_RUN, true}, node = *key;
    struct plumb_buf kind = {0}, runs = {0};
    plumb_baseline b;
    bool zero;
    if (!(f->rule->metric->takes & PLUMB_GATE_PER) || key->of_run)
        return false;
    node.name = "";
    plumb_history_figure_name(&kind, f->rule->metric, &run);
    plumb_history_figure_name(&runs, plumb_gate_metric_find("runs"), &node);
    get(&b, result, kind.data ? kind.data : "");
    zero = b.count > 0;
    get(&b, result, runs.data ? runs.data : "");
    zero = zero && b.count > 0;
    plumb_buf_fini(&kind);
    plumb_buf_fini(&runs);
    return zero;
}

static void put_baseline(struct finding *f, const struct plumb_gate_key *key,
                         const plumb_baseline *b, bool zero)
{
    const struct plumb_gate_metric *metric = f->rule->metric;
    double factor = b->count > 0 ? factor_of(metric, b->unit) : 1, median;
    struct plumb_gate_value *v =
        plumb_gate_put(f->g, &f->g->side[PLUMB_GATE_SIDE_HISTORY].sources[f->source], metric->name);
    if (!v)
        return; /* no memory, which the arena says */
    v->rule = f->rule;
    v->pipeline = key->pipeline;
    v->phase = key->phase;
    v->node = key->node;
    v->name = key->name;
    v->of_run = key->of_run;
    if (zero)
        return;
    v->wrong = factor > 0 ? obstacle(b) : "the history has a figure of this name in another unit";
    if (v->wrong)
        return;
    median = floor(b->median * factor + 0.5); /* of two middle ones, the number between them */
    if (plumb_gate_is_whole(metric) && fabs(median) > 0x1p53)
        v->wrong = "the history keeps numbers of up to 2^53 exactly, and its value is beyond";
    else if (plumb_gate_is_whole(metric))
        v->exact = (int64_t)median;
    if (v->wrong)
        return;
    for (uint32_t i = 0; i < b->count; i++)
        plumb_gate_sample(f->g, v, b->values[i] * factor);
}

static int find_one(struct finding *f, struct result *result, const struct plumb_gate_key *key)
{
    const plumb_result *r = result->r;
    struct plumb_buf name = {0};
    plumb_baseline b;
    int rc = PLUMB_OK;
    if (!result->read) /* without the result itself, which may be in the history already */
        rc = plumb_baseline_set_read(&result->baselines, f->history->store, &r->cohort,
                                     r->time_ns > 0 ? r->time_ns - 1 : 0, f->err);
    result->read = true;
    if (rc < 0)
        return rc;
    put_name(&name, f, result, key);
    get(&b, result, name.data ? name.data : "");
    put_baseline(f, key, &b,
                 b.state == PLUMB_BASELINE_FOUND && b.count == 0 && is_zero(f, result, key));
    f->g->arena.failed |= name.failed;
    plumb_buf_fini(&name);
    return PLUMB_OK;
}

/* The baselines of one rule for the results of one file. */
static int find_of_rule(struct finding *f, const struct plumb_gate_keys *keys,
                        struct results *results)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < keys->count && rc >= 0; i++)
        for (size_t k = 0; k < results->count && rc >= 0; k++) {
            const struct plumb_gate_key *key = &keys->at[i];
            const char *place = results->at[k].place;
            if (key->of_run || !*place || strcmp(place, key->node) == 0)
                rc = find_one(f, &results->at[k], key);
        }
    return rc;
}

static int find_of_file(struct finding *f, const char *path)
{
    struct results results;
    int rc = open_results(&results, &f->g->arena, path, f->recipe, f->err);
    if (rc < 0)
        return rc;
    if (!plumb_gate_add(f->g, PLUMB_GATE_SIDE_HISTORY, "history"))
        rc = plumb_fail(f->err, PLUMB_ERR_MEMORY, "no memory for baselines");
    f->source = f->g->side[PLUMB_GATE_SIDE_HISTORY].count - 1;
    for (size_t i = 0; i < f->g->rules->count && rc >= 0; i++) {
        struct plumb_gate_keys keys;
        f->rule = &f->g->rules->rules[i];
        if (!f->rule->compares || f->rule->old != PLUMB_GATE_OLD_HISTORY)
            continue;
        if ((rc = plumb_gate_select(&keys, f->g, f->rule, f->err)) >= 0)
            rc = find_of_rule(f, &keys, &results);
    }
    close_results(&results);
    return rc;
}

int plumb_gate_find_baselines(struct plumb_gate_case *g, const char *history, const char *recipe,
                              plumb_error *err)
{
    struct finding f = {.g = g, .recipe = recipe, .err = err};
    plumb_error why = {0, ""};
    int rc = plumb_history_open(&f.history, history, NULL, &why);
    if (rc == PLUMB_ERR_NOT_FOUND) /* a first run */
        return PLUMB_OK;
    if (rc < 0)
        return plumb_fail(err, rc, "%s", why.message);
    for (size_t i = 0; i < g->side[PLUMB_GATE_SIDE_NEW].count && rc >= 0; i++)
        if (!g->side[PLUMB_GATE_SIDE_NEW].sources[i].partial)
            rc = find_of_file(&f, g->side[PLUMB_GATE_SIDE_NEW].sources[i].path);
    plumb_history_close(f.history);
    if (rc >= 0 && g->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for baselines");
    return rc;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static void put_figures(struct plumb_gate_case *g, struct plumb_gate_source *source,
                        const struct result *result)
{
    for (size_t i = 0; i < result->r->metric_count; i++) {
        const plumb_metric *m = &result->r->metrics[i];
        struct plumb_gate_value *v = plumb_gate_put(g, source, "figure");
        if (!v)
            return;
        v->node = plumb_arena_strdup(&g->arena, result->place);
        v->name = plumb_arena_strdup(&g->arena, m->name);
        v->wrong = m->value == m->value ? NULL : "the result has no value of it";
        plumb_gate_sample(g, v, m->value);
    }
}

int plumb_gate_take_figures(struct plumb_gate_case *g, enum plumb_gate_side side, size_t source,
                            const char *path, plumb_error *err)
{
    struct results results;
    int rc = open_results(&results, &g->arena, path, NULL, err);
    if (rc < 0)
        return rc;
    if (source == g->side[side].count) {
        struct plumb_gate_source *own = plumb_gate_add(g, side, path);
        const char *device = results.count > 0 ? results.at[0].r->device : NULL;
        if (own)
            own->machine = device ? plumb_arena_strdup(&g->arena, device) : "";
    }
    for (size_t i = 0; i < results.count && source < g->side[side].count; i++)
        put_figures(g, &g->side[side].sources[source], &results.at[i]);
    close_results(&results);
    return g->arena.failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for '%s'", path)
                           : PLUMB_OK;
}
