/* trace_ends.h: what ended in a run, by its statistics, and what its trace has of it. Include
 * record_trace.h before. */
#ifndef TESTS_TRACE_ENDS_H
#define TESTS_TRACE_ENDS_H

#include "model/timing.h"

/* Spans of one name: with both ends; with an end made up for one that was lost; without one. */
struct trace_tally {
    uint64_t whole, cut, open;
};

static inline struct trace_tally trace_tally_of(const struct trace_read *t, const char *name)
{
    struct trace_tally n = {0, 0, 0};
    for (size_t i = 0; i < t->count; i++) {
        const struct trace_slice *s = &t->slices[i];
        if (s->kind != TRACE_SLICE || strcmp(s->name, name) != 0)
            continue;
        if (s->end == UINT64_MAX)
            n.open++;
        else if (strstr(s->last, "cut=true"))
            n.cut++;
        else
            n.whole++;
    }
    return n;
}

/* Runs of `name` in all phases that have ended, and those of them that the trace lacks. */
static inline uint64_t trace_ended_of(const struct plumb_timing *t, const char *name,
                                      uint64_t *untraced)
{
    uint64_t n = 0;
    *untraced = 0;
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *node = &t->nodes[i];
        if (strcmp(node->name, name) != 0)
            continue;
        n += node->host.ns.count + node->failures + node->abandoned + node->unbalanced;
        *untraced += node->untraced;
    }
    return n;
}

#endif
