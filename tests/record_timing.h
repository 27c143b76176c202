/* record_timing.h: record.h for tests that read what a run has left in its timing.json. They link
 * every internal symbol. */
#ifndef TESTS_RECORD_TIMING_H
#define TESTS_RECORD_TIMING_H

#include "read/run/timing.h"
#include "record.h"

/* Ends the run and reads its timing.json; the caller ends `t` with plumb_timing_fini(). */
static inline void record_finish(struct plumb_timing *t)
{
    char dir[1024], path[1100];
    plumb_error err = {0, ""};
    assert_int_equal(plumb_run_dir(dir, sizeof dir, &err), PLUMB_OK);
    record_stop();
    snprintf(path, sizeof path, "%s/timing.json", dir);
    if (plumb_timing_read(t, path, &err) < 0)
        fail_msg("%s", err.message);
}

/* Fails the test when there is no such node; `phase` NULL: any, and there is only one. */
static inline const struct plumb_timing_node *timing_node(const struct plumb_timing *t,
                                                          const char *phase, const char *name)
{
    const struct plumb_timing_node *found = NULL;
    for (size_t i = 0; i < t->node_count; i++) {
        if (strcmp(t->nodes[i].name, name) != 0 || (phase && strcmp(t->nodes[i].phase, phase) != 0))
            continue;
        assert_null(found);
        found = &t->nodes[i];
    }
    if (!found)
        fail_msg("timing.json has no node '%s'", name);
    return found;
}

/* The place of the call tree that `path` ("frame/decode/block") leads to; NULL: none. */
static inline const struct plumb_timing_tree *timing_place(const struct plumb_timing *t,
                                                           const char *path)
{
    uint32_t at = PLUMB_TIMING_NONE;
    while (*path) {
        size_t n = strcspn(path, "/");
        uint32_t found = PLUMB_TIMING_NONE;
        for (uint32_t i = 0; i < t->tree_count; i++) {
            const char *name = t->nodes[t->tree[i].node].name;
            if (t->tree[i].parent == at && strlen(name) == n && memcmp(name, path, n) == 0)
                found = i;
        }
        if (found == PLUMB_TIMING_NONE)
            return NULL;
        at = found;
        path += n + (path[n] == '/');
    }
    return &t->tree[at];
}

static inline uint64_t timing_place_count(const struct plumb_timing *t, const char *path)
{
    const struct plumb_timing_tree *place = timing_place(t, path);
    if (!place)
        fail_msg("the call tree has no place '%s'", path);
    return place->count;
}

/* Checks the invariants of a call tree: the time of a place is its own and that of its children,
 * and no time is counted twice or left out. Exact when every span was a sample. */
static inline void timing_check_tree(const struct plumb_timing *t)
{
    uint64_t self = 0, outermost = 0, rows_self = 0, rows_outermost = 0;
    for (size_t i = 0; i < t->tree_count; i++) {
        uint64_t inside = 0;
        if (t->tree[i].async)
            continue;
        for (size_t c = 0; c < t->tree_count; c++)
            inside += t->tree[c].parent == i ? t->tree[c].total_ns : 0;
        assert_int_equal(t->tree[i].total_ns, t->tree[i].self_ns + inside);
        self += t->tree[i].self_ns;
        outermost += t->tree[i].parent == PLUMB_TIMING_NONE ? t->tree[i].total_ns : 0;
    }
    assert_int_equal(self, outermost);
    for (size_t i = 0; i < t->node_count; i++) {
        rows_self += t->nodes[i].self_ns;
        rows_outermost += t->nodes[i].outermost_ns;
    }
    assert_int_equal(rows_outermost, outermost);
    /* Each row is rounded once, and so is each place. */
    assert_true(rows_self <= self + t->tree_count && self <= rows_self + t->tree_count);
}

/* Checks the invariants of every node of a report: its histogram has as many samples as the node
 * counts, in order. */
static inline void timing_check_nodes(const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_channel *c = &t->nodes[i].host;
        uint64_t mass = 0;
        for (size_t b = 0; b < c->bucket_count; b++) {
            assert_true(b == 0 || c->buckets[b - 1].value < c->buckets[b].value);
            mass += c->buckets[b].count;
        }
        assert_int_equal(mass, c->ns.count);
        if (!c->ns.count)
            continue;
        assert_true((double)c->ns.min <= c->p50_ns && c->p50_ns <= c->p95_ns);
        assert_true(c->p95_ns <= c->p99_ns && c->p99_ns <= (double)c->ns.max);
        assert_in_range(c->ns.total / c->ns.count, c->ns.min, c->ns.max);
        assert_in_range(c->ns.last, c->ns.min, c->ns.max);
    }
}

#endif
