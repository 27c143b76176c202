/* timing_fixture.h: models of timing reports for tests: the golden rows; one with everything in it
 * that nodes can have, hostile names included; and the same with memory and requests. */
#ifndef TESTS_TIMING_FIXTURE_H
#define TESTS_TIMING_FIXTURE_H

#include <string.h>

#include "model/timing.h"
#include <plumb/summary.h>

enum { FIXTURE_MS = 1000000, FIXTURE_MIB = 1 << 20 };

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
    t->overhead.work_span_ns = 42.5;
    t->overhead.spans = 200;
    t->overhead.total_ns = 8500;
    t->overhead.threads_ns = 1500000;
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
static inline void fixture_runtime(struct plumb_timing *t)
{
    t->runtime.libc = "glibc 2.36";
    t->runtime.compiler = "gcc 12.2.0";
    t->runtime.nvidia_driver = "550.54.14";
    t->runtime.git_commit = "0123456789abcdef0123456789abcdef01234567";
    t->runtime.framework = "pytorch";
    t->runtime.framework_version = "2.4.0";
    t->runtime.gpus = plumb_arena_alloc(&t->arena, 2 * sizeof *t->runtime.gpus);
    t->runtime.gpus[0] = "NVIDIA H200";
    t->runtime.gpus[1] = "A \"GPU\"";
    t->runtime.gpu_count = 2;
}

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
    fixture_runtime(t);
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
    t->open[0] = (struct plumb_timing_open){"frame", "inference", 99, 0, 5 * FIXTURE_MS, "prog"};
    t->open[1] = (struct plumb_timing_open){"decode", "inference", 99, 1, FIXTURE_MS, NULL};
    t->open_count = 2;
    t->drops.other_nodes = 12;
    t->env = env;
    t->env_count = 2;
    t->notes = notes;
    t->note_count = 1;
}

/* ---- Memory and requests --------------------------------------------------------------------- */

/* Bytes from MiB. */
static inline struct plumb_timing_use fixture_use(uint32_t pool, uint64_t allocated,
                                                  uint64_t reserved, uint64_t peak_allocated,
                                                  uint64_t peak_reserved)
{
    return (struct plumb_timing_use){pool, allocated * FIXTURE_MIB, reserved * FIXTURE_MIB,
                                     peak_allocated * FIXTURE_MIB, peak_reserved * FIXTURE_MIB};
}

static inline void fixture_memory(struct plumb_timing *t, struct plumb_timing_memory *m,
                                  uint64_t rss_mib, uint64_t peak_mib, int64_t growth_mib,
                                  const struct plumb_timing_use *uses, size_t n)
{
    m->samples = 1;
    m->rss = rss_mib * FIXTURE_MIB;
    m->peak_rss = peak_mib * FIXTURE_MIB;
    m->growth = growth_mib * FIXTURE_MIB;
    m->reset_peak = 1;
    m->uses = plumb_arena_alloc(&t->arena, (n ? n : 1) * sizeof *m->uses);
    for (size_t i = 0; i < n; i++)
        m->uses[i] = uses[i];
    m->use_count = n;
}

/* cuda:0 has 8192 MiB and two pools, "caching" and "graphs"; the heap is watched by size. */
static inline void fixture_pools(struct plumb_timing *t)
{
    static struct plumb_timing_owner owners[] = {
        {"prog", "inference", "frame", 4, 400 * FIXTURE_MIB, 3, 300 * FIXTURE_MIB,
         200 * FIXTURE_MIB},
        {"prog", "inference", "bad\xff name", 2, 100 * FIXTURE_MIB, 2, 100 * FIXTURE_MIB,
         100 * FIXTURE_MIB},
        {"", "", "", 1, FIXTURE_MIB, 1, FIXTURE_MIB, 0},
    };
    static struct plumb_timing_block leaks[] = {{0, UINT64_MAX - 4095, 100 * FIXTURE_MIB},
                                                {PLUMB_TIMING_NONE, 64, 1}};
    t->memory.pools = plumb_arena_alloc(&t->arena, 3 * sizeof *t->memory.pools);
    t->memory.pool_count = 3;
    t->memory.pools[0] = (struct plumb_timing_pool){
        .device = "cuda:0",
        .pool = "caching",
        .total = UINT64_C(8192) * FIXTURE_MIB,
        .allocated = 100 * FIXTURE_MIB,
        .reserved = 128 * FIXTURE_MIB,
        .peak_allocated = 300 * FIXTURE_MIB,
        .peak_reserved = 512 * FIXTURE_MIB,
        .peak_at_ns = 250 * FIXTURE_MS,
        .allocated_at_reserved = 256 * FIXTURE_MIB,
        .allocs = 7,
        .alloc_bytes = 501 * FIXTURE_MIB,
        .frees = 6,
        .free_bytes = 401 * FIXTURE_MIB,
        .unknown_frees = 1,
        .untracked = 2,
        .free_bytes_reserved = 28 * FIXTURE_MIB,
        .largest_free = 21 * FIXTURE_MIB,
        .owners = owners,
        .owner_count = 3,
        .leaks = leaks,
        .leak_count = 2,
        .leaked_blocks = 2,
        .leaked_bytes = 100 * FIXTURE_MIB,
    };
    t->memory.pools[1] = (struct plumb_timing_pool){
        .device = "cuda:0",
        .pool = "graphs",
        .total = UINT64_C(8192) * FIXTURE_MIB,
        .reserved = 16 * FIXTURE_MIB,
        .peak_allocated = 20 * FIXTURE_MIB,
        .peak_reserved = 32 * FIXTURE_MIB,
    };
    t->memory.pools[2] = (struct plumb_timing_pool){
        .device = "host", .pool = "malloc", .allocated = UINT64_MAX, .by_size = true};
}

/* Three requests: one too old to have kept its stages, one that failed, and one that is open:
 * frame 2 x 20 ms, of which 10 in decode, and frame of phase val, 20 ms. */
static inline void fixture_requests(struct plumb_timing *t)
{
    static struct plumb_timing_pair metadata[] = {
        {"prompt", "a \"cat\"\n"}, {"pid", "none of yours"}, {"seed", "1"}, {"seed", "2"}};
    static struct plumb_timing_stage_run runs[] = {
        {0, 99, 0, PLUMB_TIMING_NONE, 1 * FIXTURE_MS, 20 * FIXTURE_MS, false, 0, 0, 5,
         PLUMB_TIMING_NONE, NULL},
        {1, 99, 1, 1, 30 * FIXTURE_MS, 2 * FIXTURE_MS, true, 0, 0, 6, 0, "no \"luck\""},
        {0, 99, 0, 2, 500 * FIXTURE_MS, 20 * FIXTURE_MS, false, 200 * FIXTURE_MIB,
         300 * FIXTURE_MIB, 7, PLUMB_TIMING_NONE, NULL},
    };
    const struct plumb_timing_use frame[] = {fixture_use(0, 90, 100, 300, 400),
                                             fixture_use(1, 10, 16, 20, 32)};
    const struct plumb_timing_use val[] = {fixture_use(0, 80, 100, 310, 390),
                                           fixture_use(2, 7, 0, 9, 0)};
    struct plumb_timing_request *r = plumb_arena_alloc(&t->arena, 3 * sizeof *r);
    struct plumb_timing_request_stage *s = plumb_arena_alloc(&t->arena, 3 * sizeof *s);
    r[0] = (struct plumb_timing_request){.id = "req_20260102_030405_000001",
                                         .state = PLUMB_TIMING_REQUEST_ENDED,
                                         .tid = 99,
                                         .number = 10,
                                         .begin_unix_ns = t->start_unix_ns + FIXTURE_MS,
                                         .wall_ns = 25 * FIXTURE_MS,
                                         .records = 1,
                                         .stages_ns = 20 * FIXTURE_MS};
    r[1] = r[0];
    r[1].number = 11;
    r[1].id = "bad\xff id";
    r[1].state = PLUMB_TIMING_REQUEST_FAILED;
    r[1].why = "out of \"luck\"";
    r[1].begin_unix_ns += 25 * FIXTURE_MS;
    r[2] = (struct plumb_timing_request){.id = "cat",
                                         .state = PLUMB_TIMING_REQUEST_OPEN,
                                         .tid = 99,
                                         .number = 12,
                                         .begin_unix_ns = t->start_unix_ns + 500 * FIXTURE_MS,
                                         .wall_ns = UINT64_C(623456789),
                                         .records = 4,
                                         .stages_ns = 60 * FIXTURE_MS,
                                         .metadata = metadata,
                                         .metadata_count = 4,
                                         .stages = s,
                                         .stage_count = 3};
    s[0] = (struct plumb_timing_request_stage){.node = 0,
                                               .count = 2,
                                               .total_ns = 40 * FIXTURE_MS,
                                               .own_ns = 30 * FIXTURE_MS,
                                               .last_ns = 20 * FIXTURE_MS};
    s[1] = (struct plumb_timing_request_stage){.node = 1,
                                               .count = 1,
                                               .failures = 1,
                                               .total_ns = 10 * FIXTURE_MS,
                                               .own_ns = 10 * FIXTURE_MS,
                                               .last_ns = 10 * FIXTURE_MS};
    s[2] = (struct plumb_timing_request_stage){.node = 2,
                                               .count = 1,
                                               .total_ns = 20 * FIXTURE_MS,
                                               .own_ns = 20 * FIXTURE_MS,
                                               .last_ns = 20 * FIXTURE_MS};
    fixture_memory(t, &s[0].memory, 200, 300, -5, frame, 2);
    fixture_memory(t, &s[2].memory, 210, 290, 7, val, 2);
    fixture_memory(t, &r[2].memory, 210, 300, 2, frame, 2);
    t->requests = r;
    t->request_count = 3;
    t->requests_lost = 9;
    t->stage_runs = runs;
    t->stage_run_count = 3;
    t->stage_runs_lost = 4;
}

/* after_frame has the higher peak, 512 + 32 MiB; the baseline, before all requests, had 100. */
static inline void fixture_checkpoints(struct plumb_timing *t)
{
    static struct plumb_timing_point resident[] = {{0, 100 * FIXTURE_MIB, 0},
                                                   {FIXTURE_MS, UINT64_MAX, 0}};
    static struct plumb_timing_point caching[] = {
        {0, 0, 0}, {5, FIXTURE_MIB, 2 * FIXTURE_MIB}, {5, 0, 2 * FIXTURE_MIB}};
    static struct plumb_timing_series series[] = {{PLUMB_TIMING_NONE, resident, 2},
                                                  {0, caching, 3}};
    const struct plumb_timing_use empty[] = {fixture_use(0, 60, 100, 60, 100)};
    const struct plumb_timing_use high[] = {fixture_use(0, 150, 384, 300, 512),
                                            fixture_use(1, 0, 16, 20, 32),
                                            fixture_use(2, 999, 0, 999, 0)};
    const struct plumb_timing_use low[] = {fixture_use(0, 100, 128, 300, 500),
                                           fixture_use(1, 0, 16, 20, 32)};
    struct plumb_timing_checkpoint *c = plumb_arena_alloc(&t->arena, 4 * sizeof *c);
    c[0] = (struct plumb_timing_checkpoint){"loaded", 10, PLUMB_TIMING_NONE, true, {0}};
    c[1] = (struct plumb_timing_checkpoint){"after_\xff", 20, 1, false, {0}};
    c[2] = (struct plumb_timing_checkpoint){"after_frame", 30, 2, false, {0}};
    c[3] = (struct plumb_timing_checkpoint){"after_decode", 40, 2, false, {0}};
    fixture_memory(t, &c[0].memory, 100, 100, 0, empty, 1);
    fixture_memory(t, &c[2].memory, 200, 300, 0, high, 3);
    fixture_memory(t, &c[3].memory, 190, 300, 0, low, 2);
    t->memory.checkpoints = c;
    t->memory.checkpoint_count = 4;
    t->memory.series = series;
    t->memory.series_count = 2;
}

/* A collector that ran, one that did not, and rows that launched and waited. */
static inline void fixture_devices(struct plumb_timing *t)
{
    static struct plumb_timing_wait waits[] = {{0, 3, 40000000}, {2, 1, 500}};
    static struct plumb_timing_lane lanes[] = {
        {"queue \"0\"", "fake:0", 9, 1, 2, 8, 123456789, 1000, false},
        {"bad\xff lane", NULL, 0, 0, 0, 4, 0, 0, true}};
    static struct plumb_timing_clock clocks[] = {{"device", 1e9, 50.25, 12, 1, 250}};
    static struct plumb_timing_collector collectors[] = {
        {"fake", "stopped", NULL, 7, lanes, 2, clocks, 1},
        {"own", "abandoned", "its stop has not returned", 0, NULL, 0, NULL, 0}};
    const struct plumb_timing_device_use use = {5, 4, 100000000, 4, 40000500, waits, 2};
    t->collectors = collectors;
    t->collector_count = 2;
    t->nodes[0].use = use;
    t->nodes[2].on_device = true;
    t->nodes[1].on_device = t->nodes[1].synced = true;
    t->requests[0].exclusive_ns = t->requests[1].exclusive_ns = 24 * FIXTURE_MS;
    t->requests[0].gap.ns = FIXTURE_MS;
    t->requests[2].stages[0].use = use;
    t->requests[2].stages[0].exclusive_ns = 77;
    t->requests[2].exclusive_ns = 78;
    t->requests[2].gap.ns = 5;
    t->requests[2].gap.after = 1;
    t->requests[2].gap.before = PLUMB_TIMING_NONE;
}

/* fixture_rich() and everything about memory, devices and requests. */
static inline void fixture_served(struct plumb_timing *t)
{
    const struct plumb_timing_use first[] = {fixture_use(0, 80, 100, 300, 512)};
    const struct plumb_timing_use second[] = {fixture_use(0, 70, 90, 310, 400)};
    fixture_rich(t);
    t->memory.rss = 190 * FIXTURE_MIB;
    t->memory.peak_rss = 300 * FIXTURE_MIB;
    t->memory.total = UINT64_C(16384) * FIXTURE_MIB;
    t->nodes[0].metric = "dit_time_s";
    t->nodes[2].metric = "vae \"time\"";
    t->nodes[0].stage = true;
    fixture_pools(t);
    fixture_memory(t, &t->nodes[0].memory, 200, 300, -5, first, 1);
    fixture_memory(t, &t->nodes[2].memory, 150, 250, 3, second, 1);
    t->nodes[2].memory.peak_exact = true;
    t->nodes[0].memory.samples = 6;
    fixture_requests(t);
    fixture_devices(t);
    fixture_checkpoints(t);
}

#endif
