#include "isolate/in_situ.h"

#include <math.h>
#include <string.h>

static const struct plumb_timing_tree *place_of(const struct plumb_timing *t, const char *stage)
{
    const struct plumb_timing_tree *best = NULL;
    for (size_t i = 0; i < t->tree_count; i++) {
        const struct plumb_timing_node *node = &t->nodes[t->tree[i].node];
        if (node->stage && strcmp(node->name, stage) == 0 &&
            (!best || t->tree[i].total_ns > best->total_ns))
            best = &t->tree[i];
    }
    return best;
}

static bool is_below(const struct plumb_timing *t, size_t place, uint32_t stage)
{
    uint32_t at = t->tree[place].parent;
    while (at != PLUMB_TIMING_NONE && at > stage) /* parents come before children */
        at = t->tree[at].parent;
    return at == stage;
}

/* Time of the nodes directly in the stage that run in each step. */
static uint64_t time_in_steps(const struct plumb_timing *t, const struct plumb_timing_tree *stage,
                              uint64_t steps)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < t->tree_count; i++)
        if (t->tree[i].parent == (uint32_t)(stage - t->tree) && t->tree[i].count >= steps &&
            !t->tree[i].async)
            ns += t->tree[i].total_ns;
    return ns;
}

/* A loop's body can have several nodes that run once a step, and time outside of all nodes. */
static bool covers(const struct plumb_timing *t, const struct plumb_timing_tree *step,
                   const struct plumb_timing_tree *stage, uint64_t steps)
{
    return step->total_ns >= stage->total_ns / 2 &&
           step->total_ns / 9 >= time_in_steps(t, stage, steps) / 10;
}

/* The node that covers a step: it runs as often as there are steps inside the stage, and takes
 * nearly all of their time. Without one, a step is known as the average only. */
static const struct plumb_timing_tree *
step_of(const struct plumb_timing *t, const struct plumb_timing_tree *stage, uint64_t steps)
{
    const struct plumb_timing_tree *best = NULL;
    for (size_t i = 0; i < t->tree_count; i++)
        if (t->tree[i].count == steps && !t->tree[i].async &&
            (!best || t->tree[i].total_ns > best->total_ns) &&
            is_below(t, i, (uint32_t)(stage - t->tree)) && covers(t, &t->tree[i], stage, steps))
            best = &t->tree[i];
    return best;
}

static void fill_peak(struct plumb_in_situ *out, const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].memory.peak_rss > out->peak_bytes)
            out->peak_bytes = t->nodes[i].memory.peak_rss;
}

static void fill_step(struct plumb_in_situ *out, const struct plumb_timing *t,
                      const struct plumb_timing_tree *stage, const plumb_bench_result *r)
{
    uint64_t steps = stage->count * (uint64_t)r->loop_steps;
    const struct plumb_timing_tree *step = step_of(t, stage, steps);
    out->iterations = steps;
    if (step) {
        out->node = t->nodes[step->node].name;
        out->count = step->count;
        out->ms = t->nodes[step->node].host.median_ns / 1e6 * (double)r->steps;
    } else if (steps) {
        out->average = true;
        out->ms = (double)stage->total_ns / 1e6 / (double)steps * (double)r->steps;
    }
}

void plumb_in_situ_find(struct plumb_in_situ *out, const struct plumb_timing *t, const char *stage,
                        const plumb_bench_result *r)
{
    const struct plumb_timing_tree *place = place_of(t, stage);
    *out = (struct plumb_in_situ){.ms = NAN};
    fill_peak(out, t);
    if (!place)
        return;
    out->node = t->nodes[place->node].name;
    out->count = place->count;
    if (r->first_step >= 0 && r->loop_steps > 0)
        fill_step(out, t, place, r);
    else if (r->first_step < 0) {
        out->iterations = place->count;
        out->ms = t->nodes[place->node].host.median_ns / 1e6;
    }
}
