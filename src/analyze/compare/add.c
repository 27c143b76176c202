/* add.c: copies the figures of a comparison from the reports of its runs, and makes the union of
 * their lines. One thread at a time. */
#include "analyze/compare/compare.h"

#include <string.h>

#include "base/error.h"

/* A quantile is read from the file as a double. A value beyond the integers of the report is
 * ignored. */
static const double LONGEST_NS = 18446744073709551616.0;

static int no_memory(plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while comparing");
}

enum plumb_side plumb_compare_side(const struct plumb_compare *c, size_t i)
{
    return i < c->run_count[PLUMB_SIDE_A] ? PLUMB_SIDE_A : PLUMB_SIDE_B;
}

bool plumb_compare_has(const struct plumb_compare_line *line, enum plumb_side side)
{
    return line->present[side] > 0;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The key of a line. */
struct key {
    enum plumb_compare_kind kind;
    const char *pipeline, *phase, *name;
    bool own; /* the run's own pipeline, whatever its name */
};

static uint64_t hash_of(const struct key *key)
{
    uint64_t h = key->own ? 1 : plumb_hash_text(key->pipeline);
    h = h * 31 + plumb_hash_text(key->phase);
    h = h * 31 + plumb_hash_text(key->name);
    h = h * 31 + (uint64_t)key->kind;
    return h ? h : 1;
}

static bool same_key(const struct plumb_compare_line *line, const struct key *key)
{
    return line->kind == key->kind && line->own == key->own && strcmp(line->name, key->name) == 0 &&
           strcmp(line->phase, key->phase) == 0 &&
           (key->own || strcmp(line->pipeline, key->pipeline) == 0);
}

static struct plumb_compare_line *append(struct plumb_compare *c, struct plumb_compare_lines *in)
{
    size_t runs = c->run_count[0] + c->run_count[1];
    struct plumb_compare_line *lines =
        plumb_arena_grow(&c->arena, in->lines, &in->cap, in->count + 1, sizeof *lines);
    if (!lines)
        return NULL;
    in->lines = lines;
    struct plumb_compare_line *line = &lines[in->count];
    memset(line, 0, sizeof *line);
    line->samples = plumb_arena_alloc(&c->arena, runs * sizeof *line->samples);
    return line->samples ? line : NULL;
}

/* The line of the key, made when there is none; NULL: no memory. */
static struct plumb_compare_line *line_of(struct plumb_compare *c, struct plumb_compare_lines *in,
                                          const struct key *key)
{
    uint64_t hash = hash_of(key);
    size_t first = (size_t)plumb_map_get(&in->by_hash, hash);
    for (size_t i = first; i > 0; i = in->lines[i - 1].next)
        if (same_key(&in->lines[i - 1], key))
            return &in->lines[i - 1];
    struct plumb_compare_line *line = append(c, in);
    if (!line || plumb_map_put(&in->by_hash, hash, in->count + 1) < 0)
        return NULL;
    line->kind = key->kind;
    line->own = key->own;
    line->pipeline = plumb_arena_strdup(&c->arena, key->pipeline);
    line->phase = plumb_arena_strdup(&c->arena, key->phase);
    line->name = plumb_arena_strdup(&c->arena, key->name);
    line->next = first;
    if (c->arena.failed)
        return NULL;
    in->count++;
    return line;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const char *copy(struct plumb_compare *c, const char *text)
{
    return plumb_arena_strdup(&c->arena, text && text[0] ? text : "unknown");
}

static void take_environment(struct plumb_compare *c, struct plumb_compare_run *run,
                             const struct plumb_timing *t)
{
    run->env = plumb_arena_alloc(&c->arena, (t->env_count + 1) * sizeof *run->env);
    if (!run->env)
        return;
    for (size_t i = 0; i < t->env_count; i++) {
        run->env[i].key = plumb_arena_strdup(&c->arena, t->env[i].key);
        run->env[i].value = plumb_arena_strdup(&c->arena, t->env[i].value ? t->env[i].value : "");
    }
    run->env_count = t->env_count;
}

static const char *program_of(const struct plumb_timing *t)
{
    const char *slash = t->program ? strrchr(t->program, '/') : NULL;
    return slash ? slash + 1 : t->program ? t->program : "";
}

/* Whether the pipeline of the run has no name of its own: it then has that of its program. */
static bool called_as_program(const struct plumb_timing *t)
{
    return t->pipeline && strcmp(t->pipeline, program_of(t)) == 0;
}

static void take_facts(struct plumb_compare *c, const struct plumb_timing *t, bool live,
                       const char *path)
{
    struct plumb_compare_run *run = &c->runs[c->added];
    *run = (struct plumb_compare_run){
        .path = plumb_arena_strdup(&c->arena, path),
        .host = copy(c, t->host),
        .cpu = copy(c, t->cpu),
        .kernel = copy(c, t->kernel),
        .pipeline = copy(c, t->pipeline),
        .named = called_as_program(t) ? "" : copy(c, t->pipeline),
        .program = copy(c, program_of(t)),
        .command = copy(c, t->command),
        .version = copy(c, t->plumb_version),
        .state = live           ? "still recording"
                 : t->recovered ? "recovered"
                                : "ended",
        .schema = t->schema,
        .cpus = t->cpus,
        .skip_first_n = t->skip_first_n,
        .rank = t->rank,
        .world_size = t->world_size,
        .start_unix_ns = t->start_unix_ns,
        .pid = t->pid,
    };
    take_environment(c, run, t);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static struct plumb_compare_sample sample_of(const struct plumb_timing_node *node, uint32_t figure)
{
    const struct plumb_stats *host = &node->host.ns;
    uint64_t count = figure == PLUMB_FIGURE_DEVICE ? node->device.ns.count : host->count;
    return (struct plumb_compare_sample){
        .present = count > 0,
        .count = count,
        .figures = {[PLUMB_FIGURE_MEAN] = plumb_stats_mean(host),
                    [PLUMB_FIGURE_TOTAL] = (double)host->total,
                    [PLUMB_FIGURE_SELF] = (double)node->self_ns,
                    [PLUMB_FIGURE_P50] = node->host.p50_ns,
                    [PLUMB_FIGURE_P95] = node->host.p95_ns,
                    [PLUMB_FIGURE_DEVICE] = plumb_stats_mean(&node->device.ns),
                    [PLUMB_FIGURE_MIN] = host->count ? (double)host->min : 0},
    };
}

static bool sound(const struct plumb_compare_sample *s)
{
    for (size_t i = 0; i < PLUMB_COMPARE_FIGURES; i++)
        if (!(s->figures[i] >= 0 && s->figures[i] <= LONGEST_NS))
            return false;
    return true;
}

/* 1 when it has samples, 0 when there is no figure to compare. */
static int take_node(struct plumb_compare *c, const struct plumb_timing *t,
                     const struct plumb_timing_node *node, const char *path, plumb_error *err)
{
    struct plumb_compare_sample sample = sample_of(node, c->options.figure);
    if (!sample.present)
        return 0;
    if (!sound(&sample))
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is damaged: a percentile of node '%s' is not a duration", path,
                          node->name);
    struct key key = {PLUMB_COMPARE_NODE, node->pipeline, node->phase, node->name,
                      t->pipeline && strcmp(node->pipeline, t->pipeline) == 0};
    struct plumb_compare_line *line = line_of(c, &c->nodes, &key);
    if (!line)
        return no_memory(err);
    if (line->taken == c->added + 1)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is damaged: node '%s' of phase '%s' is there twice", path,
                          node->name, node->phase);
    line->taken = c->added + 1;
    line->samples[c->added] = sample;
    return 1;
}

static int take_sum(struct plumb_compare *c, enum plumb_compare_kind kind, const char *device,
                    const char *pool, double value, plumb_error *err)
{
    struct key key = {kind, "", device, pool, false};
    struct plumb_compare_line *line = line_of(c, &c->sums, &key);
    if (!line)
        return no_memory(err);
    struct plumb_compare_sample *sample = &line->samples[c->added];
    sample->figures[0] += value;
    sample->present |= value > 0;
    return PLUMB_OK;
}

static int take_pools(struct plumb_compare *c, const struct plumb_timing *t, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < t->memory.pool_count && rc == PLUMB_OK; i++) {
        const struct plumb_timing_pool *pool = &t->memory.pools[i];
        if (pool->peak_allocated > 0)
            rc = take_sum(c, PLUMB_COMPARE_PEAK_ALLOCATED, pool->device, pool->pool,
                          (double)pool->peak_allocated, err);
        if (rc == PLUMB_OK && pool->peak_reserved > 0)
            rc = take_sum(c, PLUMB_COMPARE_PEAK_RESERVED, pool->device, pool->pool,
                          (double)pool->peak_reserved, err);
    }
    return rc;
}

static int take_sums(struct plumb_compare *c, const struct plumb_timing *t, plumb_error *err)
{
    double stages = 0;
    int rc;
    for (size_t i = 0; i < t->node_count; i++)
        stages += (double)t->nodes[i].outermost_ns;
    if ((rc = take_sum(c, PLUMB_COMPARE_WALL_CLOCK, "", "", (double)t->wall_clock_ns, err)) < 0 ||
        (rc = take_sum(c, PLUMB_COMPARE_STAGES, "", "", stages, err)) < 0 ||
        (rc = take_sum(c, PLUMB_COMPARE_PEAK_RSS, "", "", (double)t->memory.peak_rss, err)) < 0)
        return rc;
    return take_pools(c, t, err);
}

/* ---- The comparison -------------------------------------------------------------------------- */

static int take_options(struct plumb_compare *c, const plumb_compare_options *o, plumb_error *err)
{
    c->options = *o;
    if (o->alpha == 0)
        c->options.alpha = 0.015; /* 3 of the 252 ways to share out 5 and 5 runs */
    if (!(c->options.alpha > 0 && c->options.alpha < 1))
        return plumb_fail(err, PLUMB_ERR_ARG, "alpha lies between 0 and 1");
    if (!(o->min_delta_ms >= 0))
        return plumb_fail(err, PLUMB_ERR_ARG, "the smallest difference is 0 or more");
    if (o->figure >= PLUMB_COMPARE_FIGURES)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown figure: %u", (unsigned)o->figure);
    if (o->fold > PLUMB_FOLD_OFF)
        return plumb_fail(err, PLUMB_ERR_ARG, "unknown way to fold: %u", (unsigned)o->fold);
    if (o->node && !(c->options.node = plumb_arena_strdup(&c->arena, o->node)))
        return no_memory(err);
    return PLUMB_OK;
}

int plumb_compare_init(struct plumb_compare *c, const plumb_compare_options *o, size_t a_count,
                       size_t b_count, plumb_error *err)
{
    memset(c, 0, sizeof *c);
    int rc = take_options(c, o, err);
    if (rc < 0)
        return rc;
    if (a_count == 0 || b_count == 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "a side of the comparison has no run");
    c->run_count[PLUMB_SIDE_A] = a_count;
    c->run_count[PLUMB_SIDE_B] = b_count;
    c->runs = plumb_arena_alloc(&c->arena, (a_count + b_count) * sizeof *c->runs);
    return c->runs ? PLUMB_OK : no_memory(err);
}

void plumb_compare_fini(struct plumb_compare *c)
{
    plumb_map_fini(&c->sums.by_hash);
    plumb_map_fini(&c->nodes.by_hash);
    plumb_arena_fini(&c->arena);
    memset(c, 0, sizeof *c);
}

int plumb_compare_add(struct plumb_compare *c, const struct plumb_timing *t, bool live,
                      const char *path, const bool *chosen, plumb_error *err)
{
    bool any = false;
    int rc = take_sums(c, t, err);
    take_facts(c, t, live, path);
    for (size_t i = 0; i < t->node_count && rc >= 0; i++) {
        if (chosen && !chosen[i]) {
            any |= sample_of(&t->nodes[i], c->options.figure).present;
            continue;
        }
        rc = take_node(c, t, &t->nodes[i], path, err);
        any |= rc > 0;
    }
    if (rc < 0)
        return rc;
    if (c->arena.failed)
        return no_memory(err);
    if (!any)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' has no samples%s: there is nothing to compare", path,
                          c->options.figure == PLUMB_FIGURE_DEVICE ? " of device time" : "");
    c->added++;
    return PLUMB_OK;
}
