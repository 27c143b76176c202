/* read_gate.c: gates of the public interface: reads the rules and the results, which the analysis
 * then compares. Any thread, one gate at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/gate/crossover.h"
#include "analyze/gate/gate.h"
#include "api/read_gate.h"
#include "api/read_report.h"
#include "base/buf.h"
#include "base/error.h"
#include "read/json/fields.h"
#include "read/json/scan.h"
#include "report/gate/take.h"
#include "report/gate/view.h"
#include <plumb/read/gate.h>

struct plumb_gate_report {
    struct plumb_gate_rules rules;
    struct plumb_gate_case gate;
    struct plumb_gate_fact *facts;
    size_t fact_count, fact_cap;
    const char *history, *recipe;
    size_t given_of[PLUMB_GATE_SIDES]; /* index plus 1 of the source of measured values */
    uint64_t decided_ns;               /* Unix time; 0: not decided */
    char host[256];
};

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for a gate");
}

/* ---- Rules ----------------------------------------------------------------------------------- */

int plumb_gate_open_text(plumb_gate_report **out, const char *text, size_t size, const char *name,
                         plumb_error *err)
{
    plumb_gate_report *r = calloc(1, sizeof *r);
    int rc = r ? plumb_gate_rules_parse(&r->rules, text, size, name, err) : no_memory(err);
    if (rc < 0) {
        free(r);
        return rc;
    }
    plumb_gate_init(&r->gate, &r->rules);
    if (gethostname(r->host, sizeof r->host - 1) < 0)
        r->host[0] = '\0';
    *out = r;
    return PLUMB_OK;
}

int plumb_gate_open(plumb_gate_report **out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_read_file(&text, path, err);
    if (rc >= 0)
        rc = plumb_gate_open_text(out, text.data ? text.data : "", text.len, path, err);
    plumb_buf_fini(&text);
    return rc;
}

void plumb_gate_close(plumb_gate_report *gate)
{
    if (!gate)
        return;
    plumb_gate_fini(&gate->gate);
    plumb_gate_rules_fini(&gate->rules);
    free(gate);
}

int plumb_gate_only(plumb_gate_report *gate, const char *name, plumb_error *err)
{
    struct plumb_gate_rules *rules = &gate->rules;
    struct plumb_buf names = {0};
    int rc;
    for (size_t i = 0; i < rules->count; i++)
        if (strcmp(rules->rules[i].name, name) == 0) {
            rules->rules[0] = rules->rules[i];
            rules->count = 1;
            return PLUMB_OK;
        }
    for (size_t i = 0; i < rules->count; i++)
        plumb_buf_printf(&names, "%s'%s'", i ? ", " : "", rules->rules[i].name);
    rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND, "%s has no rule '%s'; it has %s", rules->path, name,
                    names.data ? names.data : "");
    plumb_buf_fini(&names);
    return rc;
}

int plumb_gate_rule_get(plumb_gate_rule_info *out, const plumb_gate_report *gate, size_t i)
{
    const struct plumb_gate_rule *rule;
    size_t size = out->size;
    if (i >= gate->rules.count)
        return 0;
    rule = &gate->rules.rules[i];
    plumb_gate_rule_info info = {.size = size,
                                 .name = rule->name,
                                 .metric = rule->metric->name,
                                 .node = rule->node,
                                 .command = rule->command,
                                 .line = rule->line,
                                 .rounds = rule->rounds,
                                 .is_time = rule->metric->quantity == PLUMB_GATE_TIME,
                                 .compares = rule->compares,
                                 .history = rule->compares && rule->old == PLUMB_GATE_OLD_HISTORY};
    memcpy(out, &info, size < sizeof info ? size : sizeof info);
    return 1;
}

int plumb_gate_metrics(char **out, plumb_error *err)
{
    struct plumb_buf text = {0};
    const struct plumb_gate_metric *m;
    for (size_t i = 0; (m = plumb_gate_metric(i)); i++)
        plumb_buf_printf(&text, "%s%-17s %s", i ? "\n" : "", m->name, m->help);
    if (text.failed) {
        plumb_buf_fini(&text);
        return no_memory(err);
    }
    *out = text.data;
    return PLUMB_OK;
}

/* ---- Results --------------------------------------------------------------------------------- */

static int check_open(const plumb_gate_report *gate, uint32_t side, plumb_error *err)
{
    if (gate->decided_ns)
        return plumb_fail(err, PLUMB_ERR_STATE, "the gate is decided already");
    if (side > PLUMB_GATE_RESULT_NEW)
        return plumb_fail(err, PLUMB_ERR_ARG, "a result is old (0) or new (1), not %u", side);
    return PLUMB_OK;
}

static enum plumb_gate_side side_of(uint32_t side)
{
    return side == PLUMB_GATE_RESULT_OLD ? PLUMB_GATE_SIDE_OLD : PLUMB_GATE_SIDE_NEW;
}

static int add_json(plumb_gate_report *gate, uint32_t side, const struct plumb_buf *text,
                    const char *path, plumb_error *err)
{
    struct plumb_json_tree tree;
    int rc = plumb_json_tree_read(&tree, text->data ? text->data : "", text->len, PLUMB_JSON_NAN,
                                  path, err);
    if (rc < 0)
        return rc;
    rc = plumb_gate_take_json(&gate->gate, side_of(side), tree.root, path, err);
    plumb_json_tree_fini(&tree);
    return rc;
}

static int add_run(plumb_gate_report *gate, uint32_t side, const char *path, plumb_error *err)
{
    plumb_report *report;
    int rc = plumb_report_open(&report, path, err);
    if (rc < 0)
        return rc;
    const struct plumb_load *load = plumb_report_loaded(report);
    if (load->state == PLUMB_LOAD_LIVE)
        rc = plumb_fail(err, PLUMB_ERR_STATE, "'%s' still records: a gate waits for its end",
                        path ? path : "latest");
    else
        rc = plumb_gate_take_run(&gate->gate, side_of(side), &load->timing,
                                 plumb_report_path(report), err);
    plumb_report_close(report);
    return rc;
}

/* A timing.json is a recording too: it says what it is. */
static bool is_timing(const struct plumb_buf *text)
{
    static const char mark[] = "\"" PLUMB_TIMING_FORMAT "\"";
    size_t n = text->len < 400 ? text->len : 400;
    return text->data && memmem(text->data, n, mark, sizeof mark - 1);
}

static int add_result(plumb_gate_report *gate, uint32_t side, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    struct stat st;
    int rc;
    if (!path || stat(path, &st) < 0 || S_ISDIR(st.st_mode))
        return add_run(gate, side, path, err);
    rc = plumb_read_file(&text, path, err);
    if (rc >= 0)
        rc = is_timing(&text) ? add_run(gate, side, path, err)
                              : add_json(gate, side, &text, path, err);
    plumb_buf_fini(&text);
    return rc;
}

static bool is_same_file(const struct stat *a, const char *path)
{
    struct stat b;
    return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* One result given twice, as by a list of all runs and the link `latest`, does not count as a
 * repeat: it would make any difference look certain. `first` is the new result's source. */
static int check_twice(const plumb_gate_report *gate, uint32_t side, size_t first, plumb_error *err)
{
    const struct plumb_gate_source *sources = gate->gate.side[side_of(side)].sources;
    struct stat st;
    if (first >= gate->gate.side[side_of(side)].count || stat(sources[first].path, &st) < 0)
        return PLUMB_OK;
    for (size_t i = 0; i < first; i++)
        if (is_same_file(&st, sources[i].path))
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "'%s' and '%s' are the same result: a repeat is a result of its own",
                              sources[i].path, sources[first].path);
    return PLUMB_OK;
}

static bool wants_figures(const plumb_gate_report *gate)
{
    for (size_t i = 0; i < gate->rules.count; i++)
        if (strcmp(gate->rules.rules[i].metric->name, "figure") == 0)
            return true;
    return false;
}

int plumb_gate_add_result(plumb_gate_report *gate, uint32_t side, const char *path,
                          plumb_error *err)
{
    plumb_error why = {0, ""};
    int rc = check_open(gate, side, err);
    if (rc < 0)
        return rc;
    size_t before = gate->gate.side[side_of(side)].count;
    rc = add_result(gate, side, path, err);
    if (wants_figures(gate) && rc != PLUMB_ERR_MEMORY) {
        if (rc >= 0 && !path) /* the newest recording */
            path = gate->gate.side[side_of(side)].sources[before].path;
        /* Some results are read by the history alone, and some by the gate alone. */
        if (path && plumb_gate_take_figures(&gate->gate, side_of(side), before, path, &why) >= 0)
            rc = PLUMB_OK;
    }
    return rc < 0 ? rc : check_twice(gate, side, before, err);
}

/* The source of what the caller measured on a side. */
static struct plumb_gate_source *given(plumb_gate_report *gate, enum plumb_gate_side side)
{
    size_t *at = &gate->given_of[side];
    if (*at == 0) {
        struct plumb_gate_source *s = plumb_gate_add(&gate->gate, side, "measured");
        if (!s)
            return NULL;
        s->machine = gate->host;
        s->partial = true;
        *at = gate->gate.side[side].count;
    }
    return &gate->gate.side[side].sources[*at - 1];
}

static struct plumb_gate_value *put_given(plumb_gate_report *gate, enum plumb_gate_side side,
                                          const char *metric)
{
    struct plumb_gate_source *s = given(gate, side);
    return s ? plumb_gate_put(&gate->gate, s, metric) : NULL;
}

int plumb_gate_add_times(plumb_gate_report *gate, uint32_t side, const char *metric,
                         const char *node, const double *ns, size_t n, double resolution,
                         uint32_t in_turn, plumb_error *err)
{
    const struct plumb_gate_metric *m = plumb_gate_metric_find(metric);
    struct plumb_gate_value *v;
    int rc = check_open(gate, side, err);
    if (rc < 0)
        return rc;
    if (!m || m->quantity != PLUMB_GATE_TIME)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%s' is not a time", metric);
    v = put_given(gate, side_of(side), metric);
    if (!v)
        return no_memory(err);
    v->node = plumb_arena_strdup(&gate->gate.arena, node ? node : "");
    v->of_run = !node;
    v->in_turn = in_turn;
    v->resolution = resolution;
    for (size_t i = 0; i < n; i++)
        plumb_gate_sample(&gate->gate, v, ns[i]);
    return gate->gate.arena.failed ? no_memory(err) : PLUMB_OK;
}

int plumb_gate_add_count(plumb_gate_report *gate, const char *metric, const char *name,
                         int64_t value, const char *unknown, plumb_error *err)
{
    const struct plumb_gate_metric *m = plumb_gate_metric_find(metric);
    struct plumb_gate_value *v;
    int rc = check_open(gate, PLUMB_GATE_RESULT_NEW, err);
    if (rc < 0)
        return rc;
    if (!m || m->quantity == PLUMB_GATE_TIME)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%s' is not a count", metric);
    v = put_given(gate, PLUMB_GATE_SIDE_NEW, metric);
    if (!v)
        return no_memory(err);
    v->name = plumb_arena_strdup(&gate->gate.arena, name ? name : "");
    v->of_run = true;
    v->exact = value;
    v->wrong = plumb_arena_strdup(&gate->gate.arena, unknown);
    return gate->gate.arena.failed ? no_memory(err) : PLUMB_OK;
}

int plumb_gate_in_turn(plumb_gate_report *gate, plumb_error *err)
{
    size_t count[2];
    for (uint32_t side = 0; side < 2; side++)
        count[side] = gate->gate.side[side].count - (gate->given_of[side] > 0);
    if (count[0] != count[1])
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "%zu old results and %zu new ones were not measured in turn", count[0],
                          count[1]);
    for (uint32_t side = 0; side < 2; side++)
        for (size_t i = 0; i < gate->gate.side[side].count; i++) {
            struct plumb_gate_source *s = &gate->gate.side[side].sources[i];
            for (size_t k = 0; k < s->count; k++)
                s->values[k].in_turn = true;
        }
    return PLUMB_OK;
}

/* ---- Sweeps and pairs ------------------------------------------------------------------------ */

int plumb_gate_crossover(plumb_gate_crossover_result *out, const plumb_gate_point *points, size_t n,
                         plumb_error *err)
{
    struct plumb_gate_size *own = calloc(n + 1, sizeof *own);
    struct plumb_gate_crossing found;
    size_t size = out->size;
    int rc = own ? PLUMB_OK : no_memory(err);
    for (size_t i = 0; own && i < n; i++)
        own[i] = (struct plumb_gate_size){points[i].size, points[i].a, points[i].b, points[i].count,
                                          points[i].resolution};
    if (own)
        rc = plumb_gate_find_crossover(&found, own, n, err);
    free(own);
    if (rc < 0)
        return rc;
    plumb_gate_crossover_result result = {size, found.threshold, found.estimate, found.from,
                                          found.to};
    memcpy(out, &result, size < sizeof result ? size : sizeof result);
    return PLUMB_OK;
}

/* The threshold lies between two sizes: both are samples, so a limit between them cannot tell. */
int plumb_gate_add_crossover(plumb_gate_report *gate, const char *name,
                             const plumb_gate_crossover_result *crossover, plumb_error *err)
{
    struct plumb_gate_value *v;
    int rc = check_open(gate, PLUMB_GATE_RESULT_NEW, err);
    if (rc < 0)
        return rc;
    v = put_given(gate, PLUMB_GATE_SIDE_NEW, "crossover");
    if (!v)
        return no_memory(err);
    v->name = plumb_arena_strdup(&gate->gate.arena, name ? name : "");
    v->of_run = true;
    if (crossover->to == 0)
        v->wrong = crossover->threshold ? "B is not faster for certain at the largest size"
                                        : "B is not faster at the largest size";
    plumb_gate_sample(&gate->gate, v, (double)crossover->from);
    plumb_gate_sample(&gate->gate, v, (double)crossover->to);
    return gate->gate.arena.failed ? no_memory(err) : PLUMB_OK;
}

int plumb_gate_pair(plumb_gate_pair_result *out, const plumb_gate_point *point, plumb_error *err)
{
    const struct plumb_gate_bound faster = {.op = PLUMB_GATE_BELOW, .of_old = 1};
    const struct plumb_gate_times a = {point->a, point->count, point->resolution};
    const struct plumb_gate_times b = {point->b, point->count, point->resolution};
    struct plumb_gate_judgement j;
    size_t size = out->size;
    int rc = plumb_gate_judge(&j, &a, &b, true, &faster, 0, err);
    if (rc < 0)
        return rc;
    plumb_gate_pair_result result = {.size = size,
                                     .a_ns = j.old_median,
                                     .b_ns = j.new_median,
                                     .ratio = j.ratio,
                                     .low = j.low,
                                     .high = j.high,
                                     .noise = j.noise,
                                     .faster = j.answer == PLUMB_GATE_MEETS   ? 1
                                               : j.answer == PLUMB_GATE_FAILS ? -1
                                                                              : 0};
    memcpy(out, &result, size < sizeof result ? size : sizeof result);
    return PLUMB_OK;
}

int plumb_gate_read_time(double *ns, double *resolution, const char *run, const char *node,
                         plumb_error *err)
{
    plumb_report *report;
    int rc = plumb_report_open(&report, run, err);
    if (rc < 0)
        return rc;
    const struct plumb_timing *t = &plumb_report_loaded(report)->timing;
    for (size_t i = 0; i < t->node_count && rc == 0; i++)
        if (strcmp(t->nodes[i].name, node) == 0 && t->nodes[i].host.ns.count > 0) {
            *ns = t->nodes[i].host.median_ns;
            *resolution = plumb_stats_resolution(&t->nodes[i].host.ns);
            rc = 1;
        }
    plumb_report_close(report);
    return rc;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

int plumb_gate_add_fact(plumb_gate_report *gate, const char *key, const char *value,
                        plumb_error *err)
{
    for (size_t i = 0; i < gate->fact_count; i++)
        if (strcmp(gate->facts[i].key, key) == 0)
            return plumb_fail(err, PLUMB_ERR_ARG, "the fact '%s' is given twice", key);
    struct plumb_gate_fact *grown = plumb_arena_grow(
        &gate->gate.arena, gate->facts, &gate->fact_cap, gate->fact_count + 1, sizeof *grown);
    if (!grown)
        return no_memory(err);
    gate->facts = grown;
    grown[gate->fact_count].key = plumb_arena_strdup(&gate->gate.arena, key);
    grown[gate->fact_count].value = plumb_arena_strdup(&gate->gate.arena, value);
    gate->fact_count++;
    return gate->gate.arena.failed ? no_memory(err) : PLUMB_OK;
}

static int add_named(plumb_gate_report *gate, const char *key, const struct plumb_json_value *v,
                     plumb_error *err)
{
    char number[40];
    if (plumb_json_text(v))
        return plumb_gate_add_fact(gate, key, plumb_json_text(v), err);
    if (!plumb_json_is_number(v))
        return plumb_gate_add_fact(gate, key, "none", err);
    snprintf(number, sizeof number, "%g", plumb_json_as_real(v));
    return plumb_gate_add_fact(gate, key, number, err);
}

static int add_divergence(plumb_gate_report *gate, const struct plumb_json_value *root,
                          const char *path, plumb_error *err)
{
    const struct plumb_json_value *culprit = plumb_json_get(root, "culprit");
    const struct plumb_json_value *record = plumb_json_get(culprit, "a");
    static const char *const sides[] = {"a", "b"};
    char key[16];
    int rc = PLUMB_OK;
    if (!culprit || !plumb_json_get(root, "held_to"))
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not JSON of plumb diverge", path);
    for (int i = 0; i < 2 && rc == PLUMB_OK; i++) {
        snprintf(key, sizeof key, "trace %s", sides[i]);
        rc = add_named(gate, key, plumb_json_get(plumb_json_get(root, sides[i]), "name"), err);
    }
    if (rc == PLUMB_OK)
        rc = add_named(gate, "held to", plumb_json_get(root, "held_to"), err);
    if (rc == PLUMB_OK)
        rc = add_named(gate, "first divergent key", plumb_json_get(record, "module"), err);
    if (rc == PLUMB_OK)
        rc = add_named(gate, "drift", plumb_json_get(culprit, "relative"), err);
    return rc;
}

int plumb_gate_add_divergence(plumb_gate_report *gate, const char *path, plumb_error *err)
{
    struct plumb_json_tree tree;
    struct plumb_buf text = {0};
    int rc = plumb_read_file(&text, path, err);
    if (rc >= 0)
        rc = plumb_json_tree_read(&tree, text.data ? text.data : "", text.len, PLUMB_JSON_NAN, path,
                                  err);
    plumb_buf_fini(&text);
    if (rc < 0)
        return rc;
    rc = add_divergence(gate, tree.root, path, err);
    plumb_json_tree_fini(&tree);
    return rc;
}

/* ---- The decision ---------------------------------------------------------------------------- */

int plumb_gate_use_history(plumb_gate_report *gate, const char *path, plumb_error *err)
{
    gate->history = plumb_arena_strdup(&gate->gate.arena, path);
    return path && !gate->history ? no_memory(err) : PLUMB_OK;
}

int plumb_gate_use_recipe(plumb_gate_report *gate, const char *recipe, plumb_error *err)
{
    gate->recipe = plumb_arena_strdup(&gate->gate.arena, recipe);
    return recipe && !gate->recipe ? no_memory(err) : PLUMB_OK;
}

static uint32_t status_of(enum plumb_gate_verdict verdict)
{
    return verdict == PLUMB_GATE_REGRESSION     ? PLUMB_GATE_STATUS_REGRESSION
           : verdict == PLUMB_GATE_INCONCLUSIVE ? PLUMB_GATE_STATUS_INCONCLUSIVE
                                                : PLUMB_GATE_STATUS_PASS;
}

/* A first run has no history: a rule that needs one then says so. */
static int find_baselines(plumb_gate_report *gate, plumb_error *err)
{
    bool needed = false;
    for (size_t i = 0; i < gate->rules.count; i++)
        needed |=
            gate->rules.rules[i].compares && gate->rules.rules[i].old == PLUMB_GATE_OLD_HISTORY;
    return needed ? plumb_gate_find_baselines(&gate->gate, gate->history, gate->recipe, err)
                  : PLUMB_OK;
}

int plumb_gate_decide(plumb_gate_result *out, plumb_gate_report *gate, plumb_error *err)
{
    struct timespec now;
    size_t size = out->size;
    int rc = check_open(gate, PLUMB_GATE_RESULT_NEW, err);
    if (rc < 0 || (rc = find_baselines(gate, err)) < 0 ||
        (rc = plumb_gate_evaluate(&gate->gate, err)) < 0)
        return rc;
    clock_gettime(CLOCK_REALTIME, &now);
    gate->decided_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    const size_t *n = gate->gate.verdicts;
    plumb_gate_result result = {.size = size,
                                .status = status_of(plumb_gate_verdict(&gate->gate)),
                                .checks = gate->gate.count,
                                .passed = n[PLUMB_GATE_PASS],
                                .skipped = n[PLUMB_GATE_SKIPPED],
                                .inconclusive = n[PLUMB_GATE_INCONCLUSIVE],
                                .regressions = n[PLUMB_GATE_REGRESSION]};
    memcpy(out, &result, size < sizeof result ? size : sizeof result);
    return PLUMB_OK;
}

int plumb_gate_show(char **out, const plumb_gate_report *gate, const char *format, plumb_error *err)
{
    struct plumb_gate_sheet sheet = {&gate->gate, gate->facts, gate->fact_count, gate->decided_ns,
                                     gate->host};
    struct plumb_buf text = {0};
    int rc;
    if (!gate->decided_ns)
        return plumb_fail(err, PLUMB_ERR_STATE, "the gate is not decided yet");
    rc = plumb_gate_render(&text, &sheet, format ? format : "text", err);
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}
