/* gate.c: the container of a gate: rules, results, checks. */
#include "analyze/gate/gate.h"

void plumb_gate_init(struct plumb_gate_case *g, const struct plumb_gate_rules *rules)
{
    *g = (struct plumb_gate_case){.rules = rules};
}

void plumb_gate_fini(struct plumb_gate_case *g)
{
    plumb_arena_fini(&g->arena);
    *g = (struct plumb_gate_case){.rules = NULL};
}

struct plumb_gate_source *plumb_gate_add(struct plumb_gate_case *g, enum plumb_gate_side side,
                                         const char *path)
{
    struct plumb_gate_source *grown =
        plumb_arena_grow(&g->arena, g->side[side].sources, &g->side[side].cap,
                         g->side[side].count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    g->side[side].sources = grown;
    grown += g->side[side].count;
    *grown = (struct plumb_gate_source){.path = plumb_arena_strdup(&g->arena, path), .machine = ""};
    if (!grown->path)
        return NULL;
    g->side[side].count++;
    return grown;
}

struct plumb_gate_value *plumb_gate_put(struct plumb_gate_case *g, struct plumb_gate_source *source,
                                        const char *metric)
{
    const struct plumb_gate_metric *m = plumb_gate_metric_find(metric);
    struct plumb_gate_value *grown =
        plumb_arena_grow(&g->arena, source->values, &source->cap, source->count + 1, sizeof *grown);
    if (!grown || !m)
        return NULL;
    source->values = grown;
    grown += source->count++;
    *grown = (struct plumb_gate_value){.metric = m,
                                       .pipeline = "",
                                       .phase = "",
                                       .node = "",
                                       .name = "",
                                       .step = PLUMB_GATE_WHOLE_RUN};
    return grown;
}

void plumb_gate_sample(struct plumb_gate_case *g, struct plumb_gate_value *value, double ns)
{
    if ((value->count & (value->count - 1)) == 0) { /* a power of two: it is full */
        size_t cap = value->count;
        double *grown = plumb_arena_grow(&g->arena, value->samples, &cap,
                                         value->count ? 2 * value->count : 1, sizeof *grown);
        if (!grown)
            return;
        value->samples = grown;
    }
    value->samples[value->count++] = ns;
}

enum plumb_gate_verdict plumb_gate_verdict(const struct plumb_gate_case *g)
{
    if (g->verdicts[PLUMB_GATE_REGRESSION] > 0)
        return PLUMB_GATE_REGRESSION;
    if (g->verdicts[PLUMB_GATE_INCONCLUSIVE] > 0 || g->verdicts[PLUMB_GATE_PASS] == 0)
        return PLUMB_GATE_INCONCLUSIVE;
    return PLUMB_GATE_PASS;
}

const char *plumb_gate_verdict_name(enum plumb_gate_verdict verdict)
{
    static const char *const names[] = {"pass", "skipped", "inconclusive", "regression"};
    return names[verdict];
}
