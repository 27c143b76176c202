/* evaluate.c: applies rules to values. A rule makes one check for each key that it selects; every
 * way in which a check cannot be made is a check too, with its reason. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/gate/select.h"
#include "base/error.h"
#include "base/text/nearest.h"

/* The fixed limits on a machine that no limit of the rule is meant for. */
static const struct plumb_gate_limit builtin_time = {
    .text = "<= 120 s (built in)",
    .bound = {{.op = PLUMB_GATE_AT_MOST, .add = 120e9, .whole = true, .exact = 120000000000}},
    .bounds = 1};
static const struct plumb_gate_limit builtin_bytes = {
    .text = "<= 30000 MB (built in)",
    .bound = {{.op = PLUMB_GATE_AT_MOST, .add = 30e9, .whole = true, .exact = 30000000000}},
    .bounds = 1};

struct work {
    struct plumb_gate_case *g;
    const struct plumb_gate_rule *rule;
    const struct plumb_gate_key *key;
    struct plumb_gate_check *check;
    plumb_error *err;
};

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the checks of a gate");
}

static struct plumb_gate_check *add_check(struct plumb_gate_case *g,
                                          const struct plumb_gate_rule *rule)
{
    struct plumb_gate_check *grown =
        plumb_arena_grow(&g->arena, g->checks, &g->cap, g->count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    g->checks = grown;
    grown += g->count++;
    *grown = (struct plumb_gate_check){.rule = rule,
                                       .pipeline = "",
                                       .phase = "",
                                       .node = rule->node ? rule->node : "",
                                       .name = rule->count_name ? rule->count_name : "",
                                       .step = PLUMB_GATE_WHOLE_RUN,
                                       .verdict = PLUMB_GATE_INCONCLUSIVE,
                                       .old_value = NAN,
                                       .new_value = NAN,
                                       .change = NAN};
    return grown;
}

static int unknown(struct work *w, const char *why)
{
    w->check->verdict = PLUMB_GATE_INCONCLUSIVE;
    w->check->detail = why;
    return PLUMB_OK;
}

/* ---- Whole numbers --------------------------------------------------------------------------- */

/* The lowest and the highest value of the old results. */
struct range {
    int64_t low, high;
    size_t count;
    const char *wrong; /* why one of them is not known */
};

static void add_to_range(struct range *r, int64_t value)
{
    r->low = r->count == 0 || value < r->low ? value : r->low;
    r->high = r->count == 0 || value > r->high ? value : r->high;
    r->count++;
}

static enum plumb_gate_side old_side(const struct plumb_gate_rule *rule)
{
    return rule->old == PLUMB_GATE_OLD_NODE      ? PLUMB_GATE_SIDE_NEW
           : rule->old == PLUMB_GATE_OLD_HISTORY ? PLUMB_GATE_SIDE_HISTORY
                                                 : PLUMB_GATE_SIDE_OLD;
}

static const char *no_old(const struct plumb_gate_rule *rule)
{
    return rule->old == PLUMB_GATE_OLD_NODE ? "the node to compare with is not in the results"
           : rule->old == PLUMB_GATE_OLD_HISTORY
               ? "the history has no baseline yet: CALIBRATION_NEEDED"
               : "there is no old value to compare with";
}

static void old_range(struct range *out, const struct work *w)
{
    bool of_node = w->rule->old == PLUMB_GATE_OLD_NODE;
    enum plumb_gate_side side = old_side(w->rule);
    *out = (struct range){0, 0, 0, NULL};
    for (size_t i = 0; w->rule->compares && i < w->g->side[side].count; i++) {
        struct plumb_gate_sum sum;
        if (!plumb_gate_sum(&sum, &w->g->side[side].sources[i], w->rule, w->key,
                            of_node ? w->rule->old_node : NULL))
            continue;
        if (sum.wrong)
            out->wrong = sum.wrong;
        else
            add_to_range(out, sum.value);
    }
}

static bool all_meet(const struct work *w, const struct plumb_gate_sum *sum,
                     const struct range *old)
{
    const struct plumb_gate_limit *l = w->check->limit;
    for (size_t i = 0; i < l->bounds; i++)
        if (!plumb_gate_meets(&l->bound[i], sum->value, old->low, old->high, w->rule->floor,
                              w->rule->per_call ? sum->runs : 1))
            return false;
    return true;
}

/* One result. The check shows the first that fails, otherwise the last. */
static void check_source(struct work *w, const struct plumb_gate_source *source,
                         const struct range *old)
{
    struct plumb_gate_check *c = w->check;
    struct plumb_gate_sum sum;
    if (!plumb_gate_sum(&sum, source, w->rule, w->key, NULL)) {
        if (c->verdict == PLUMB_GATE_PASS && !source->partial)
            unknown(w, plumb_arena_printf(&w->g->arena, "it is not in '%s'", source->path));
        return;
    }
    if (sum.wrong || (w->rule->per_call && sum.runs == 0)) {
        if (c->verdict != PLUMB_GATE_REGRESSION)
            unknown(w, sum.wrong ? sum.wrong : "how often the node ran is not known");
        return;
    }
    if (c->verdict == PLUMB_GATE_REGRESSION)
        return;
    c->has_new = true;
    c->new_value = (double)sum.value;
    c->new_whole = sum.value;
    c->source = source->path;
    if (w->rule->per_call)
        c->detail =
            plumb_arena_printf(&w->g->arena, "in %llu %s of the node", (unsigned long long)sum.runs,
                               sum.runs == 1 ? "run" : "runs");
    if (!all_meet(w, &sum, old))
        c->verdict = PLUMB_GATE_REGRESSION;
}

static int check_whole(struct work *w)
{
    struct plumb_gate_check *c = w->check;
    struct range old;
    old_range(&old, w);
    if (w->rule->compares && old.count == 0)
        return unknown(w, old.wrong ? old.wrong : no_old(w->rule));
    if (old.count > 0) {
        c->has_old = true;
        c->old_value = (double)old.high;
        c->old_whole = old.high;
    }
    c->verdict = PLUMB_GATE_PASS;
    for (size_t i = 0; i < w->g->side[PLUMB_GATE_SIDE_NEW].count; i++)
        check_source(w, &w->g->side[PLUMB_GATE_SIDE_NEW].sources[i], &old);
    if (!c->has_new && c->verdict == PLUMB_GATE_PASS)
        unknown(w, "there is no new value");
    if (c->has_old && c->has_new && c->old_value != 0)
        c->change = (c->new_value - c->old_value) / fabs(c->old_value);
    return PLUMB_OK;
}

/* ---- Times ----------------------------------------------------------------------------------- */

struct samples {
    double *at;
    size_t count;
    double resolution; /* the coarsest */
    bool in_turn;
    const char *wrong;
};

/* The samples of all results of a side, one after the other. */
static int gather(struct samples *out, const struct work *w, enum plumb_gate_side side,
                  const char *node)
{
    size_t total = 0;
    *out = (struct samples){NULL, 0, 0, true, NULL};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < w->g->side[side].count; i++) {
            const struct plumb_gate_source *s = &w->g->side[side].sources[i];
            for (size_t k = 0; k < s->count; k++) {
                const struct plumb_gate_value *v = &s->values[k];
                if (!plumb_gate_is_of(v, w->rule, w->key, node))
                    continue;
                out->wrong = v->wrong ? v->wrong : out->wrong;
                out->in_turn &= v->in_turn;
                out->resolution = fmax(out->resolution, v->resolution);
                if (pass == 0)
                    total += v->count;
                else if (v->count > 0)
                    memcpy(out->at + out->count, v->samples, v->count * sizeof *v->samples);
                out->count += pass ? v->count : 0;
            }
        }
        if (pass == 0 && !(out->at = calloc(total + 1, sizeof *out->at)))
            return no_memory(w->err);
    }
    return PLUMB_OK;
}

static enum plumb_gate_verdict verdict_of(enum plumb_gate_answer answer)
{
    return answer == PLUMB_GATE_MEETS   ? PLUMB_GATE_PASS
           : answer == PLUMB_GATE_FAILS ? PLUMB_GATE_REGRESSION
                                        : PLUMB_GATE_INCONCLUSIVE;
}

static int judge(struct work *w, const struct samples *old, const struct samples *fresh)
{
    struct plumb_gate_check *c = w->check;
    bool history = w->rule->old == PLUMB_GATE_OLD_HISTORY;
    bool figures = w->rule->metric->quantity == PLUMB_GATE_SIZE;
    /* The records of a baseline come from results of the same kind. */
    const struct plumb_gate_times before = {old->at, old->count,
                                            history ? fresh->resolution : old->resolution};
    const struct plumb_gate_times after = {fresh->at, fresh->count, fresh->resolution};
    c->verdict = PLUMB_GATE_PASS;
    for (size_t i = 0; i < c->limit->bounds; i++) {
        struct plumb_gate_judgement j;
        const struct plumb_gate_bound *b = &c->limit->bound[i];
        int rc = figures && !(b->of_old > 0) ? plumb_gate_judge_figures(&j, &after, b, w->err)
                 : history && b->of_old > 0
                     ? plumb_gate_judge_baseline(&j, &before, &after, b, w->rule->floor, w->err)
                     : plumb_gate_judge(&j, &before, &after, old->in_turn && fresh->in_turn, b,
                                        w->rule->floor, w->err);
        if (rc < 0)
            return rc;
        if (i > 0 && verdict_of(j.answer) <= c->verdict)
            continue;
        c->verdict = verdict_of(j.answer);
        c->judged = j;
        c->detail = j.why;
    }
    c->timed = true;
    c->new_value = c->judged.new_median;
    c->has_new = !isnan(c->new_value);
    c->old_value = c->judged.old_median;
    c->has_old = !isnan(c->old_value);
    if (c->has_old && c->has_new)
        c->change = c->judged.ratio - 1;
    return PLUMB_OK;
}

static int check_times(struct work *w)
{
    bool of_node = w->rule->old == PLUMB_GATE_OLD_NODE;
    struct samples old = {NULL, 0, 0, false, NULL}, fresh;
    int rc = gather(&fresh, w, PLUMB_GATE_SIDE_NEW, NULL);
    if (rc == PLUMB_OK && w->rule->compares)
        rc = gather(&old, w, old_side(w->rule), of_node ? w->rule->old_node : NULL);
    if (rc == PLUMB_OK) {
        if (fresh.wrong || old.wrong)
            unknown(w, fresh.wrong ? fresh.wrong : old.wrong);
        else if (fresh.count == 0)
            unknown(w, "there is no new value");
        else if (w->rule->compares && old.count == 0)
            unknown(w, no_old(w->rule));
        else
            rc = judge(w, &old, &fresh);
    }
    free(old.at);
    free(fresh.at);
    return rc;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static const char *machine_of(const struct plumb_gate_case *g)
{
    for (size_t i = 0; i < g->side[PLUMB_GATE_SIDE_NEW].count; i++)
        if (g->side[PLUMB_GATE_SIDE_NEW].sources[i].machine[0])
            return g->side[PLUMB_GATE_SIDE_NEW].sources[i].machine;
    return "";
}

/* FastVideo's gate has limits of its own for machines that its file does not list. */
static const struct plumb_gate_limit *builtin_limit(const struct plumb_gate_rule *rule)
{
    if (rule->compares)
        return NULL;
    if (strcmp(rule->metric->name, "wall_clock") == 0)
        return &builtin_time;
    return strncmp(rule->metric->name, "peak_r", 6) == 0 ||
                   strcmp(rule->metric->name, "peak_allocated") == 0
               ? &builtin_bytes
               : NULL;
}

static int check_key(struct work *w)
{
    struct plumb_gate_check *c = w->check;
    c->limit = plumb_gate_limit_for(w->rule, machine_of(w->g));
    c->pipeline = w->key->pipeline;
    c->phase = w->key->phase;
    c->node = w->key->node;
    c->name = w->key->name;
    c->step = w->key->step;
    if (c->limit && c->limit->none) {
        c->verdict = PLUMB_GATE_SKIPPED;
        c->detail = "the rule has no limit for this machine: none";
        return PLUMB_OK;
    }
    if (!c->limit) {
        const char *before = "no limit of the rule is meant for this machine";
        c->limit = builtin_limit(w->rule);
        if (!c->limit)
            return unknown(w, before);
        int rc = plumb_gate_is_whole(w->rule->metric) ? check_whole(w) : check_times(w);
        if (!c->detail)
            c->detail = "no limit of the rule is meant for this machine: the built-in one holds";
        return rc;
    }
    return plumb_gate_is_whole(w->rule->metric) ? check_whole(w) : check_times(w);
}

/* Nothing matches: says what there is, because a misspelt node would otherwise be hard to see. */
static void explain_nothing(struct plumb_gate_case *g, struct plumb_gate_check *c)
{
    const struct plumb_gate_rule *rule = c->rule;
    struct plumb_nearest n = plumb_nearest_start(rule->node ? rule->node : "");
    bool metric = false, counted = true;
    c->limit = plumb_gate_limit_for(rule, machine_of(g));
    for (size_t i = 0; i < g->side[PLUMB_GATE_SIDE_NEW].count; i++) {
        const struct plumb_gate_source *s = &g->side[PLUMB_GATE_SIDE_NEW].sources[i];
        counted &= plumb_gate_was_counted(s, rule);
        for (size_t k = 0; k < s->count; k++) {
            metric |= s->values[k].metric == rule->metric;
            if (rule->node)
                plumb_nearest_offer(&n, s->values[k].node);
        }
    }
    c->verdict =
        rule->missing == PLUMB_GATE_MISSING_SKIP ? PLUMB_GATE_SKIPPED : PLUMB_GATE_INCONCLUSIVE;
    if (!metric)
        c->detail = plumb_arena_printf(&g->arena, "the results have no '%s'", rule->metric->name);
    else if (!counted)
        c->detail = plumb_arena_printf(
            &g->arena, "'plumb record --count' was not asked to count '%s'", rule->count_name);
    else if (n.best && strcmp(n.best, rule->node) != 0)
        c->detail =
            plumb_arena_printf(&g->arena, "nothing in the results matches; there is '%s'", n.best);
    else
        c->detail = "nothing in the results matches";
}

static int evaluate_rule(struct plumb_gate_case *g, const struct plumb_gate_rule *rule,
                         plumb_error *err)
{
    struct plumb_gate_keys keys;
    int rc = plumb_gate_select(&keys, g, rule, err);
    if (rc < 0)
        return rc;
    if (keys.count == 0) {
        struct plumb_gate_check *c = add_check(g, rule);
        if (!c)
            return no_memory(err);
        explain_nothing(g, c);
    }
    for (size_t i = 0; i < keys.count && rc == PLUMB_OK; i++) {
        struct work w = {g, rule, &keys.at[i], add_check(g, rule), err};
        rc = w.check ? check_key(&w) : no_memory(err);
    }
    return rc;
}

int plumb_gate_evaluate(struct plumb_gate_case *g, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < g->rules->count && rc == PLUMB_OK; i++)
        rc = evaluate_rule(g, &g->rules->rules[i], err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < g->count; i++)
        g->verdicts[g->checks[i].verdict]++;
    return g->arena.failed ? no_memory(err) : PLUMB_OK;
}
