/* timing_fixture.h: models of timing reports for tests: the golden rows, and one with everything in
 * it, hostile names included. */
#ifndef TESTS_TIMING_FIXTURE_H
#define TESTS_TIMING_FIXTURE_H

#include <string.h>

#include "format/timing.h"

enum { FIXTURE_MS = 1000000 };

static inline void fixture_text(struct plumb_timing *t)
{
    t->plumb_version = "0.1.0";
    t->request_id = "run_20260102-030405";
    t->start_unix_ns = UINT64_C(1767323045000000000);
    t->end_unix_ns = UINT64_C(1767323046123456789);
    t->wall_clock_ns = 1123456789;
    t->program = "/usr/bin/prog";
    t->command = "prog --fast";
    t->pipeline = "prog";
    t->host = "box";
    t->cpu = "A CPU";
    t->kernel = "Linux 6.1";
    t->pid = 4711;
    t->cpus = 2;
    t->clock.source = "tsc";
    t->clock.tick_ns = 1 / 2.7;
    t->clock.resolution_ns = 10;
    t->clock.drift_ppm = 0.125;
    t->overhead.span_ns = 17.25;
    t->overhead.spans = 200;
    t->overhead.total_ns = 3450;
}

static inline struct plumb_timing_node *fixture_nodes(struct plumb_timing *t, size_t n)
{
    t->nodes = plumb_arena_alloc(&t->arena, n * sizeof *t->nodes);
    t->node_count = n;
    for (size_t i = 0; i < n; i++) {
        t->nodes[i].pipeline = "prog";
        t->nodes[i].phase = "inference";
        plumb_stats_init(&t->nodes[i].host.ns);
        plumb_stats_init(&t->nodes[i].device.ns);
    }
    return t->nodes;
}

/* The buckets, quantiles and sums that follow from the samples. Few distinct values, ascending. */
static inline void fixture_samples(struct plumb_timing *t, struct plumb_timing_channel *c,
                                   const uint64_t *values, const uint64_t *times, size_t n)
{
    c->buckets = plumb_arena_alloc(&t->arena, n * sizeof *c->buckets);
    c->bucket_count = n;
    for (size_t i = 0; i < n; i++) {
        c->buckets[i].value = (double)values[i];
        c->buckets[i].count = times[i];
        for (uint64_t k = 0; k < times[i]; k++)
            plumb_stats_add(&c->ns, values[i], t->start_unix_ns + i);
    }
    c->median_ns = plumb_stats_median(&c->ns, c->buckets, n);
    c->p50_ns = plumb_stats_quantile(&c->ns, c->buckets, n, 0.50);
    c->p90_ns = plumb_stats_quantile(&c->ns, c->buckets, n, 0.90);
    c->p95_ns = plumb_stats_quantile(&c->ns, c->buckets, n, 0.95);
    c->p99_ns = plumb_stats_quantile(&c->ns, c->buckets, n, 0.99);
}

static inline void fixture_outermost(struct plumb_timing_node *node)
{
    node->self_ns = node->outermost_ns = node->host.ns.total;
    node->outermost_count = node->host.ns.count;
    node->threads = 1;
}

/* A row of 100 runs of which only the figures are known. */
static inline void fixture_golden_row(struct plumb_timing *t, struct plumb_timing_node *node,
                                      const char *name, const uint64_t *ms_x10)
{
    struct plumb_stats *s = &node->host.ns;
    node->name = name;
    s->count = 100;
    s->total = 10 * ms_x10[0] * FIXTURE_MS;
    s->sq_lo = (ms_x10[0] * ms_x10[0] + ms_x10[2] * ms_x10[2]) * FIXTURE_MS * FIXTURE_MS;
    s->min = ms_x10[3] * FIXTURE_MS / 10;
    s->max = ms_x10[4] * FIXTURE_MS / 10;
    s->last = s->max;
    s->last_at = t->end_unix_ns;
    node->host.median_ns = (double)(ms_x10[1] * FIXTURE_MS / 10);
    node->host.p50_ns = node->host.p90_ns = node->host.p95_ns = node->host.p99_ns =
        node->host.median_ns;
    node->host.buckets = plumb_arena_alloc(&t->arena, sizeof *node->host.buckets);
    node->host.buckets[0] = (struct plumb_bucket){node->host.median_ns, 100};
    node->host.bucket_count = 1;
    fixture_outermost(node);
}

/* node_a: 100 runs, mean 10, median 9.5, std 2, 5..20 ms; node_b: mean 5, 4.8, 1, 3..8; skip 3. */
static inline void fixture_golden(struct plumb_timing *t)
{
    /* mean, median, std, min, max in 0.1 ms */
    static const uint64_t a[] = {100, 95, 20, 50, 200};
    static const uint64_t b[] = {50, 48, 10, 30, 80};
    plumb_timing_init(t);
    fixture_text(t);
    t->skip_first_n = 3;
    struct plumb_timing_node *nodes = fixture_nodes(t, 2);
    fixture_golden_row(t, &nodes[1], "node_a", a);
    fixture_golden_row(t, &nodes[0], "node_b", b);
}

/* frame > decode, an async node, failures, two phases, two pipelines, a device channel, counts,
 * open spans, drops, notes, names of every unpleasant kind. */
static inline void fixture_rich(struct plumb_timing *t)
{
    static const uint64_t frame[] = {10 * FIXTURE_MS, 30 * FIXTURE_MS};
    static const uint64_t decode[] = {2 * FIXTURE_MS, 3 * FIXTURE_MS};
    static const uint64_t many[] = {1, 6};
    static const uint64_t once[] = {1, 1};
    static struct plumb_timing_pair env[] = {{"PLUMB", "1"}, {"PLUMB_DIR", "\xff/x"}};
    static const char *notes[] = {"2 spans were open"};
    static char long_name[301];
    memset(long_name, 'n', sizeof long_name - 1);
    plumb_timing_init(t);
    fixture_text(t);
    t->recovered = true;
    t->rank = 3;
    t->world_size = 8;
    t->rank_source = "RANK";
    struct plumb_timing_node *n = fixture_nodes(t, 8);
    n[0].name = "frame";
    fixture_samples(t, &n[0].host, frame, many, 2);
    fixture_outermost(&n[0]);
    n[1].name = "decode";
    fixture_samples(t, &n[1].host, decode, many, 2);
    fixture_samples(t, &n[1].device, decode, once, 2);
    n[1].self_ns = n[1].host.ns.total;
    n[0].self_ns -= n[1].self_ns;
    n[1].failures = 2;
    n[1].skipped = 5;
    n[1].last_failure = "bad \"frame\"\n";
    n[1].median_estimator = PLUMB_MEDIAN_P2;
    n[1].host.median_ns = 2.0000001e6 / 3;
    n[2].name = "frame";
    n[2].phase = "val";
    fixture_samples(t, &n[2].host, frame, once, 2);
    fixture_outermost(&n[2]);
    n[3].name = "frame";
    n[3].pipeline = "audio";
    fixture_samples(t, &n[3].host, decode, once, 2);
    fixture_outermost(&n[3]);
    n[4].name = "bad\xff\xfe name";
    n[5].name = "bad\\xff\\xfe name";
    n[6].name = "";
    n[7].name = long_name;
    n[1].sites = plumb_arena_alloc(&t->arena, sizeof *n[1].sites);
    n[1].sites[0] = (struct plumb_timing_site){"../x\x01.c", 12};
    n[1].site_count = 1;
    t->tree = plumb_arena_alloc(&t->arena, 3 * sizeof *t->tree);
    t->tree_count = 3;
    t->tree[0] = (struct plumb_timing_tree){PLUMB_TIMING_NONE, 0,    7, n[0].host.ns.total,
                                            n[0].self_ns,      false};
    t->tree[1] = (struct plumb_timing_tree){0, 1, 7, n[1].host.ns.total, n[1].self_ns, false};
    t->tree[2] = (struct plumb_timing_tree){PLUMB_TIMING_NONE, 3, 2, 5 * FIXTURE_MS, 0, true};
    t->counts = plumb_arena_alloc(&t->arena, sizeof *t->counts);
    t->counts[0] = (struct plumb_timing_count){"prog", "bytes\x7f\xc3", INT64_MIN, UINT64_MAX};
    t->count_count = 1;
    t->open = plumb_arena_alloc(&t->arena, 2 * sizeof *t->open);
    t->open[0] = (struct plumb_timing_open){"frame", "inference", 99, 0, 5 * FIXTURE_MS};
    t->open[1] = (struct plumb_timing_open){"decode", "inference", 99, 1, FIXTURE_MS};
    t->open_count = 2;
    t->drops.other_nodes = 12;
    t->env = env;
    t->env_count = 2;
    t->notes = notes;
    t->note_count = 1;
}

#endif
