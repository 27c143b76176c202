/* Runs for tests of comparisons: nodes with figures that can be counted out by hand. */
#ifndef PLUMB_TESTS_COMPARE_FIXTURE_H
#define PLUMB_TESTS_COMPARE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "timing_fixture.h"

struct compare_node {
    const char *name;
    uint64_t us; /* each run of it */
    uint64_t count;
};

/* A run whose nodes are outermost and take the same time each time; `wall` is ten times that. */
static inline void make_run(struct plumb_timing *t, uint64_t start,
                            const struct compare_node *nodes, size_t n)
{
    plumb_timing_init(t);
    fixture_text(t);
    t->start_unix_ns += start;
    t->wall_clock_ns = 0;
    struct plumb_timing_node *out = fixture_nodes(t, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = nodes[i].us * 1000;
        out[i].name = nodes[i].name;
        fixture_samples(t, &out[i].host, &ns, &nodes[i].count, 1);
        fixture_outermost(&out[i]);
        t->wall_clock_ns += 10 * out[i].host.ns.total;
    }
}

static inline void start(struct plumb_compare *c, plumb_compare_options o, size_t a, size_t b)
{
    plumb_error err = {0, ""};
    if (plumb_compare_init(c, &o, a, b, &err) < 0)
        fail_msg("%s", err.message);
}

static inline int add(struct plumb_compare *c, struct plumb_timing *t, plumb_error *err)
{
    char path[32];
    snprintf(path, sizeof path, "run %zu", c->added);
    int rc = plumb_compare_add(c, t, false, path, NULL, err);
    plumb_timing_fini(t);
    return rc;
}

static inline void add_sound(struct plumb_compare *c, struct plumb_timing *t)
{
    plumb_error err = {0, ""};
    if (add(c, t, &err) < 0)
        fail_msg("%s", err.message);
}

static inline void finish(struct plumb_compare *c)
{
    plumb_error err = {0, ""};
    if (plumb_compare_finish(c, &err) < 0)
        fail_msg("%s", err.message);
}

/* One run a side. */
static inline void compare_two(struct plumb_compare *c, plumb_compare_options o,
                               const struct compare_node *a, size_t na,
                               const struct compare_node *b, size_t nb)
{
    struct plumb_timing t;
    start(c, o, 1, 1);
    make_run(&t, 1, a, na);
    add_sound(c, &t);
    make_run(&t, 2, b, nb);
    add_sound(c, &t);
    finish(c);
}

static inline const struct plumb_compare_line *node_of(const struct plumb_compare *c,
                                                       const char *name)
{
    for (size_t i = 0; i < c->nodes.count; i++)
        if (strcmp(c->nodes.lines[i].name, name) == 0)
            return &c->nodes.lines[i];
    fail_msg("no node '%s'", name);
    return NULL;
}

static inline const struct plumb_compare_line *sum_of(const struct plumb_compare *c,
                                                      enum plumb_compare_kind kind)
{
    for (size_t i = 0; i < c->sums.count; i++)
        if (c->sums.lines[i].kind == kind)
            return &c->sums.lines[i];
    fail_msg("no sum of kind %d", (int)kind);
    return NULL;
}

#endif
