/* select.c: see select.h. Without `node` a rule means the whole run: a value of the run where there
 * is one, otherwise all its rows together. */
#include "analyze/gate/select.h"

#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/text/glob.h"

/* Values of a crossover are of one element type each, and cannot be added up. */
static bool is_by_name(const struct plumb_gate_rule *rule)
{
    return rule->count_name || rule->metric->takes == PLUMB_GATE_NAME;
}

static bool is_of_command(const struct plumb_gate_value *v, const struct plumb_gate_rule *rule)
{
    return !rule->command || strcmp(rule->command, v->name) == 0;
}

/* A name that has characters of patterns matches itself too. */
static bool matches(const char *pattern, const char *text)
{
    return !pattern || strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

bool plumb_gate_is_peak(const struct plumb_gate_metric *m)
{
    return strncmp(m->name, "peak_", 5) == 0;
}

static bool step_is_meant(const struct plumb_gate_rule *rule, int64_t step)
{
    return rule->step_text ? step >= 0 && plumb_step_list_has(&rule->steps, step)
                           : step == PLUMB_GATE_WHOLE_RUN;
}

static bool is_selected(const struct plumb_gate_value *v, const struct plumb_gate_rule *rule)
{
    if (v->metric != rule->metric || !step_is_meant(rule, v->step) ||
        !matches(rule->count_name, v->name) || !is_of_command(v, rule))
        return false;
    return !rule->node ||
           (!v->of_run && matches(rule->node, v->node) && matches(rule->phase, v->phase));
}

static struct plumb_gate_key key_of(const struct plumb_gate_value *v,
                                    const struct plumb_gate_rule *rule)
{
    if (!rule->node)
        return (struct plumb_gate_key){
            "", "", "", is_by_name(rule) ? v->name : "", PLUMB_GATE_WHOLE_RUN, true};
    return (struct plumb_gate_key){v->pipeline, v->phase, v->node, rule->count_name ? v->name : "",
                                   v->step,     false};
}

static bool is_equal(const struct plumb_gate_key *a, const struct plumb_gate_key *b)
{
    return a->of_run == b->of_run && a->step == b->step && strcmp(a->node, b->node) == 0 &&
           strcmp(a->phase, b->phase) == 0 && strcmp(a->pipeline, b->pipeline) == 0 &&
           strcmp(a->name, b->name) == 0;
}

static int add_key(struct plumb_gate_keys *out, struct plumb_gate_case *g,
                   struct plumb_gate_key key, plumb_error *err)
{
    struct plumb_gate_key *grown;
    for (size_t i = 0; i < out->count; i++)
        if (is_equal(&out->at[i], &key))
            return PLUMB_OK;
    grown = plumb_arena_grow(&g->arena, out->at, &out->cap, out->count + 1, sizeof *grown);
    if (!grown)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the values of a gate");
    out->at = grown;
    out->at[out->count++] = key;
    return PLUMB_OK;
}

/* A count whose kind the result has. */
static bool has_kind(const struct plumb_gate_source *s, const struct plumb_gate_metric *m)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->values[i].metric == m)
            return true;
    return false;
}

static bool is_count(const struct plumb_gate_rule *rule)
{
    return rule->metric->takes & PLUMB_GATE_PER;
}

static bool is_pattern(const char *text)
{
    return text && strpbrk(text, "*?[\\");
}

/* Libraries are left out: a list may name the file, and a row has the SONAME. */
static const char *function_of(const char *name, size_t n)
{
    const char *colon = memchr(name, ':', n);
    return colon ? colon + 1 : name;
}

bool plumb_gate_was_counted(const struct plumb_gate_source *s, const struct plumb_gate_rule *rule)
{
    const char *name = rule->count_name, *item = s->calls;
    if (!item || !name || is_pattern(name) || strcmp(rule->metric->name, "calls") != 0)
        return true;
    for (size_t n; *item; item += n + (item[n] == ',')) {
        n = strcspn(item, ",");
        const char *pattern = function_of(item, n);
        if (plumb_glob_matches(pattern, (size_t)(item + n - pattern),
                               function_of(name, strlen(name))))
            return true;
    }
    return false;
}

/* A node that ran and has no row of a kind that was counted: its count is 0. */
static bool ran_without(const struct plumb_gate_value *v, const struct plumb_gate_source *s,
                        const struct plumb_gate_rule *rule)
{
    return is_count(rule) && rule->node && !rule->step_text && !is_pattern(rule->count_name) &&
           strcmp(v->metric->name, "runs") == 0 && matches(rule->node, v->node) &&
           matches(rule->phase, v->phase) && has_kind(s, rule->metric) &&
           plumb_gate_was_counted(s, rule);
}

static int select_source(struct plumb_gate_keys *out, struct plumb_gate_case *g,
                         const struct plumb_gate_rule *rule, const struct plumb_gate_source *s,
                         plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < s->count && rc == PLUMB_OK; i++) {
        const struct plumb_gate_value *v = &s->values[i];
        if (is_selected(v, rule)) {
            rc = add_key(out, g, key_of(v, rule), err);
        } else if (ran_without(v, s, rule)) {
            struct plumb_gate_key key = key_of(v, rule);
            key.name = rule->count_name ? rule->count_name : "";
            rc = add_key(out, g, key, err);
        }
    }
    return rc;
}

int plumb_gate_select(struct plumb_gate_keys *out, struct plumb_gate_case *g,
                      const struct plumb_gate_rule *rule, plumb_error *err)
{
    *out = (struct plumb_gate_keys){NULL, 0, 0};
    for (int side = PLUMB_GATE_SIDE_NEW; side >= PLUMB_GATE_SIDE_OLD; side--) {
        if (side == PLUMB_GATE_SIDE_OLD && (!rule->compares || rule->old != PLUMB_GATE_OLD_GIVEN))
            break;
        for (size_t i = 0; i < g->side[side].count; i++) {
            int rc = select_source(out, g, rule, &g->side[side].sources[i], err);
            if (rc < 0)
                return rc;
        }
    }
    return PLUMB_OK;
}

bool plumb_gate_is_of(const struct plumb_gate_value *v, const struct plumb_gate_rule *rule,
                      const struct plumb_gate_key *key, const char *node)
{
    if (v->metric != rule->metric || v->step != key->step || !is_of_command(v, rule) ||
        (v->rule && v->rule != rule))
        return false;
    if (is_by_name(rule) && strcmp(v->name, key->name) != 0)
        return false;
    if (key->of_run)
        return true;
    return !v->of_run && strcmp(v->pipeline, key->pipeline) == 0 &&
           strcmp(v->phase, key->phase) == 0 &&
           (node ? matches(node, v->node) : strcmp(v->node, key->node) == 0);
}

/* Where a run has a value of its own, its nodes are parts of that. */
static bool has_run_value(const struct plumb_gate_source *s, const struct plumb_gate_rule *rule)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->values[i].metric == rule->metric && s->values[i].of_run &&
            (!s->values[i].rule || s->values[i].rule == rule))
            return true;
    return false;
}

static uint64_t runs_of(const struct plumb_gate_source *s, const struct plumb_gate_key *key,
                        const char *node, bool *ran)
{
    uint64_t runs = 0;
    *ran = key->of_run;
    for (size_t i = 0; i < s->count; i++) {
        const struct plumb_gate_value *v = &s->values[i];
        if (strcmp(v->metric->name, "runs") != 0 || strcmp(v->phase, key->phase) != 0 ||
            strcmp(v->pipeline, key->pipeline) != 0 ||
            !(node ? matches(node, v->node) : strcmp(v->node, key->node) == 0))
            continue;
        runs += v->exact > 0 ? (uint64_t)v->exact : 0;
        *ran = true;
    }
    return runs;
}

static void add_value(struct plumb_gate_sum *sum, const struct plumb_gate_value *v)
{
    if (v->wrong)
        sum->wrong = v->wrong;
    else if (plumb_gate_is_peak(v->metric))
        sum->value = v->exact > sum->value ? v->exact : sum->value;
    else if (__builtin_add_overflow(sum->value, v->exact, &sum->value))
        sum->wrong = "the counts add up to more than a 64-bit number";
    if (v->runs > sum->runs)
        sum->runs = v->runs;
}

bool plumb_gate_sum(struct plumb_gate_sum *out, const struct plumb_gate_source *source,
                    const struct plumb_gate_rule *rule, const struct plumb_gate_key *key,
                    const char *node)
{
    bool of_run = key->of_run && has_run_value(source, rule);
    bool found = false, ran;
    *out = (struct plumb_gate_sum){.runs = runs_of(source, key, node, &ran)};
    for (size_t i = 0; i < source->count; i++) {
        const struct plumb_gate_value *v = &source->values[i];
        if (!plumb_gate_is_of(v, rule, key, node) || (of_run && !v->of_run))
            continue;
        add_value(out, v);
        found = true;
    }
    return found || (ran && is_count(rule) && !rule->step_text && has_kind(source, rule->metric));
}
