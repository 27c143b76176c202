/* fold_nodes.c: the names that fold, and the merge of their nodes and places. No state. */
#include "summary/fold_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "summary/cells.h"
#include "summary/unit.h"
#include <plumb/summary.h>

enum { LEAST_BETWEEN = 2, LEAST_AT_END = 4, MOST_NUMBERS = 8 };

struct number { /* digits in a name */
    size_t begin, end;
    bool alone; /* nothing but separators next to it */
};

struct folding {
    const struct plumb_timing *t;
    struct plumb_fold *out;
    const struct plumb_fold_names *names;
    struct plumb_map nodes;          /* hash of a folded row: its place + 1 */
    uint32_t *node_of;               /* by node of `t` */
    struct plumb_fold_group *groups; /* by node of `out` */
};

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}

/* The numbers that may fold: "layer.12", "block12", but not "conv2d". */
static size_t find_numbers(struct number *out, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; name[i] && n < MOST_NUMBERS;) {
        size_t begin = i;
        while (is_digit(name[i]))
            i++;
        if (i == begin) {
            i++;
            continue;
        }
        if (!is_word(name[i]))
            out[n++] = (struct number){begin, i, begin == 0 || !is_word(name[begin - 1])};
    }
    return n;
}

static uint64_t hash_row(const char *pipeline, const char *phase, const char *name)
{
    uint64_t h = plumb_hash_text(pipeline) * 31 + plumb_hash_text(phase);
    h = h * 31 + plumb_hash_text(name);
    return h ? h : 1;
}

/* `name` with the number left out; to be freed with plumb_buf_fini(). */
static struct plumb_buf without(const char *name, const struct number *number)
{
    struct plumb_buf rest = {0};
    plumb_buf_append(&rest, name, number->begin);
    plumb_buf_char(&rest, '*');
    plumb_buf_str(&rest, name + number->end);
    return rest;
}

static int count_use(struct plumb_fold_names *names, const char *pipeline, const char *phase,
                     const char *name, const struct number *number)
{
    struct plumb_buf rest = without(name, number);
    const char *const key[] = {pipeline, phase, rest.data};
    uint32_t row = rest.failed ? 0 : plumb_strings_put_key(&names->rows, key, 3);
    plumb_buf_fini(&rest);
    return row ? plumb_map_put(&names->uses, row, plumb_map_get(&names->uses, row) + 1)
               : PLUMB_ERR_MEMORY;
}

static bool folds(const struct plumb_fold_names *names, const char *pipeline, const char *phase,
                  const char *name, const struct number *number)
{
    struct plumb_buf rest = without(name, number);
    const char *const key[] = {pipeline, phase, rest.data};
    uint32_t row = rest.failed ? UINT32_MAX : plumb_strings_find_key(&names->rows, key, 3);
    plumb_buf_fini(&rest);
    return row != UINT32_MAX &&
           plumb_map_get(&names->uses, row) >= (number->alone ? LEAST_BETWEEN : LEAST_AT_END);
}

int plumb_fold_names_add(struct plumb_fold_names *names, const char *pipeline, const char *phase,
                         const char *name)
{
    struct number numbers[MOST_NUMBERS];
    const char *const key[] = {pipeline, phase, name};
    size_t n = find_numbers(numbers, name);
    uint32_t row;
    int rc;
    if (n == 0)
        return PLUMB_OK;
    if (!(row = plumb_strings_put_key(&names->rows, key, 3)))
        return PLUMB_ERR_MEMORY;
    if (plumb_map_get(&names->seen, row))
        return PLUMB_OK;
    rc = plumb_map_put(&names->seen, row, 1);
    for (size_t k = 0; k < n && rc == PLUMB_OK; k++)
        rc = count_use(names, pipeline, phase, name, &numbers[k]);
    return rc;
}

static const char *pipeline_of(const struct plumb_timing *t, const struct plumb_timing_node *node)
{
    return t->pipeline && strcmp(node->pipeline, t->pipeline) == 0 ? "" : node->pipeline;
}

int plumb_fold_names_add_all(struct plumb_fold_names *names, const struct plumb_timing *t)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < t->node_count && rc == PLUMB_OK; i++)
        rc = plumb_fold_names_add(names, pipeline_of(t, &t->nodes[i]), t->nodes[i].phase,
                                  t->nodes[i].name);
    return rc;
}

void plumb_fold_names_fini(struct plumb_fold_names *names)
{
    plumb_strings_fini(&names->rows);
    plumb_map_fini(&names->uses);
    plumb_map_fini(&names->seen);
}

const char *plumb_fold_name(const struct plumb_fold_names *names, struct plumb_arena *arena,
                            const char *pipeline, const char *phase, const char *name)
{
    struct number numbers[MOST_NUMBERS];
    size_t n = find_numbers(numbers, name);
    struct plumb_buf out = {0};
    const char *kept = name;
    size_t at = 0;
    bool any = false;
    for (size_t k = 0; k < n; k++) {
        if (!folds(names, pipeline, phase, name, &numbers[k]))
            continue;
        plumb_buf_append(&out, name + at, numbers[k].begin - at);
        plumb_buf_char(&out, '*');
        at = numbers[k].end;
        any = true;
    }
    plumb_buf_str(&out, name + at);
    if (any)
        kept = out.failed ? NULL : plumb_arena_strdup(arena, out.data);
    plumb_buf_fini(&out);
    return kept;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Two sorted lists in one; equal values become one bucket. */
static int join_buckets(struct folding *f, struct plumb_timing_channel *into,
                        const struct plumb_timing_channel *from)
{
    size_t n = 0;
    size_t i = 0;
    size_t k = 0;
    struct plumb_bucket *both = plumb_arena_alloc(
        &f->out->arena, (into->bucket_count + from->bucket_count + 1) * sizeof *both);
    if (!both)
        return PLUMB_ERR_MEMORY;
    while (i < into->bucket_count || k < from->bucket_count) {
        bool first = k == from->bucket_count ||
                     (i < into->bucket_count && into->buckets[i].value <= from->buckets[k].value);
        struct plumb_bucket next = first ? into->buckets[i++] : from->buckets[k++];
        if (n > 0 && both[n - 1].value == next.value)
            both[n - 1].count += next.count;
        else
            both[n++] = next;
    }
    into->buckets = both;
    into->bucket_count = n;
    return PLUMB_OK;
}

static int merge_channel(struct folding *f, struct plumb_timing_channel *into,
                         const struct plumb_timing_channel *from)
{
    if (from->ns.count == 0)
        return PLUMB_OK;
    plumb_stats_merge(&into->ns, &from->ns);
    return join_buckets(f, into, from);
}

static void settle_channel(struct plumb_timing_channel *c)
{
    c->p50_ns = plumb_stats_quantile(&c->ns, c->buckets, c->bucket_count, 0.50);
    c->p90_ns = plumb_stats_quantile(&c->ns, c->buckets, c->bucket_count, 0.90);
    c->p95_ns = plumb_stats_quantile(&c->ns, c->buckets, c->bucket_count, 0.95);
    c->p99_ns = plumb_stats_quantile(&c->ns, c->buckets, c->bucket_count, 0.99);
    c->median_ns = plumb_stats_median(&c->ns, c->buckets, c->bucket_count);
}

static int merge_node(struct folding *f, struct plumb_timing_node *into,
                      const struct plumb_timing_node *from)
{
    if (merge_channel(f, &into->host, &from->host) < 0 ||
        merge_channel(f, &into->device, &from->device) < 0)
        return PLUMB_ERR_MEMORY;
    into->self_ns = plumb_total_add(into->self_ns, from->self_ns);
    into->outermost_ns = plumb_total_add(into->outermost_ns, from->outermost_ns);
    into->outermost_count += from->outermost_count;
    into->skipped += from->skipped;
    into->device_skipped += from->device_skipped;
    into->failures += from->failures;
    into->abandoned += from->abandoned;
    into->unbalanced += from->unbalanced;
    into->untraced += from->untraced;
    into->threads = from->threads > into->threads ? from->threads : into->threads;
    into->sched.preempted_ns = plumb_total_add(into->sched.preempted_ns, from->sched.preempted_ns);
    into->sched.blocked_ns = plumb_total_add(into->sched.blocked_ns, from->sched.blocked_ns);
    if (from->sched.longest_ns > into->sched.longest_ns)
        into->sched.longest_ns = from->sched.longest_ns;
    into->sched.preemptions += from->sched.preemptions;
    into->sched.blocks += from->sched.blocks;
    into->sched.migrations += from->sched.migrations;
    into->use.launches += from->use.launches;
    into->use.works += from->use.works;
    into->use.device_ns = plumb_total_add(into->use.device_ns, from->use.device_ns);
    into->use.wait_count += from->use.wait_count;
    into->use.wait_ns = plumb_total_add(into->use.wait_ns, from->use.wait_ns);
    return PLUMB_OK;
}

static void note_member(struct plumb_fold_group *g, const struct plumb_timing_node *member)
{
    double mean = plumb_stats_mean(&member->host.ns);
    g->members++;
    if (member->host.ns.count == 0)
        return;
    if (!g->least || mean < plumb_stats_mean(&g->least->host.ns))
        g->least = member;
    if (!g->most || mean > plumb_stats_mean(&g->most->host.ns))
        g->most = member;
}

static bool same_row(const struct plumb_timing_node *a, const char *name,
                     const struct plumb_timing_node *b)
{
    return strcmp(name, a->name) == 0 && strcmp(a->phase, b->phase) == 0 &&
           strcmp(a->pipeline, b->pipeline) == 0;
}

/* The row that `node` becomes part of, as `name`; node_count where there is none yet. */
static size_t find_row(struct folding *f, const char *name, const struct plumb_timing_node *node,
                       uint64_t *hash)
{
    const struct plumb_timing *out = &f->out->timing;
    uint64_t h = hash_row(node->pipeline, node->phase, name);
    uint64_t known;
    for (;; h++) { /* names that hash alike take the next key */
        h += h == 0;
        known = plumb_map_get(&f->nodes, h);
        if (!known || same_row(&out->nodes[known - 1], name, node))
            break;
    }
    *hash = h;
    return known ? (size_t)known - 1 : out->node_count;
}

static int fold_node(struct folding *f, size_t i)
{
    struct plumb_timing *out = &f->out->timing;
    const struct plumb_timing_node *node = &f->t->nodes[i];
    const char *name =
        plumb_fold_name(f->names, &f->out->arena, pipeline_of(f->t, node), node->phase, node->name);
    uint64_t hash;
    if (!name)
        return PLUMB_ERR_MEMORY;
    size_t at = find_row(f, name, node, &hash);
    f->node_of[i] = (uint32_t)at;
    note_member(&f->groups[at], node);
    if (at < out->node_count)
        return merge_node(f, &out->nodes[at], node);
    out->nodes[at] = *node;
    out->nodes[at].name = name;
    out->node_count++;
    return plumb_map_put(&f->nodes, hash, at + 1);
}

static int fold_nodes(struct folding *f)
{
    struct plumb_timing *out = &f->out->timing;
    out->node_count = 0;
    for (size_t i = 0; i < f->t->node_count; i++)
        if (fold_node(f, i) < 0)
            return PLUMB_ERR_MEMORY;
    for (size_t i = 0; i < out->node_count; i++) {
        if (f->groups[i].members < 2)
            continue;
        if (out->nodes[i].host.ns.count > PLUMB_EXACT)
            out->nodes[i].median_estimator = PLUMB_MEDIAN_SKETCH;
        out->nodes[i].median_why = PLUMB_MEDIAN_WHY_NONE;
        settle_channel(&out->nodes[i].host);
        settle_channel(&out->nodes[i].device);
        f->groups[i].node = &out->nodes[i];
        f->out->groups[f->out->count++] = f->groups[i];
    }
    return PLUMB_OK;
}

/* ---- Tree ------------------------------------------------------------------------------------ */

/* Places whose parents and nodes have become one become one. Parents stand before their children,
 * so theirs are known. */
static int fold_tree(struct folding *f, uint32_t *place_of)
{
    struct plumb_timing *out = &f->out->timing;
    struct plumb_map places = {0};
    int rc = PLUMB_OK;
    out->tree_count = 0;
    for (size_t i = 0; i < f->t->tree_count && rc == PLUMB_OK; i++) {
        struct plumb_timing_tree place = f->t->tree[i];
        place.node = f->node_of[place.node];
        if (place.parent != PLUMB_TIMING_NONE)
            place.parent = place_of[place.parent];
        uint64_t key = ((uint64_t)(place.parent + 1) << 32 | (uint64_t)place.node << 1 |
                        (uint64_t)place.async) +
                       1;
        uint64_t known = plumb_map_get(&places, key);
        place_of[i] = (uint32_t)(known ? known - 1 : out->tree_count);
        struct plumb_timing_tree *into = &out->tree[place_of[i]];
        if (known) {
            into->count += place.count;
            into->total_ns = plumb_total_add(into->total_ns, place.total_ns);
            into->self_ns = plumb_total_add(into->self_ns, place.self_ns);
            continue;
        }
        *into = place;
        out->tree_count++;
        rc = plumb_map_put(&places, key, out->tree_count);
    }
    plumb_map_fini(&places);
    return rc;
}

int plumb_fold_init_by(struct plumb_fold *out, const struct plumb_timing *t,
                       const struct plumb_fold_names *names, plumb_error *err)
{
    struct folding f = {.t = t, .out = out, .names = names};
    uint32_t *place_of;
    int rc = PLUMB_ERR_MEMORY;
    memset(out, 0, sizeof *out);
    out->timing = *t;
    out->timing.nodes = plumb_arena_alloc(&out->arena, (t->node_count + 1) * sizeof *t->nodes);
    out->timing.tree = plumb_arena_alloc(&out->arena, (t->tree_count + 1) * sizeof *t->tree);
    out->groups = plumb_arena_alloc(&out->arena, (t->node_count + 1) * sizeof *out->groups);
    f.groups = plumb_arena_alloc(&out->arena, (t->node_count + 1) * sizeof *f.groups);
    f.node_of = plumb_arena_alloc(&out->arena, (t->node_count + 1) * sizeof *f.node_of);
    place_of = plumb_arena_alloc(&out->arena, (t->tree_count + 1) * sizeof *place_of);
    if (!out->arena.failed && fold_nodes(&f) == PLUMB_OK)
        rc = fold_tree(&f, place_of);
    plumb_map_fini(&f.nodes);
    if (rc == PLUMB_OK)
        return PLUMB_OK;
    plumb_fold_fini(out);
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a folded report");
}

int plumb_fold_init(struct plumb_fold *out, const struct plumb_timing *t, plumb_error *err)
{
    struct plumb_fold_names names = {.uses = {0}};
    int rc = plumb_fold_names_add_all(&names, t);
    memset(out, 0, sizeof *out);
    if (rc == PLUMB_OK)
        rc = plumb_fold_init_by(out, t, &names, err);
    else
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a folded report");
    plumb_fold_names_fini(&names);
    return rc;
}

void plumb_fold_fini(struct plumb_fold *f)
{
    plumb_arena_fini(&f->arena);
    memset(f, 0, sizeof *f);
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void put_member(struct plumb_buf *out, const struct plumb_timing_node *member)
{
    plumb_unit_put_any(out, plumb_stats_mean(&member->host.ns));
    plumb_buf_str(out, " (");
    plumb_put_left(out, member->name, 0);
    plumb_buf_char(out, ')');
}

/* With its phase, where another row has its name. */
static void put_group(struct plumb_buf *out, const struct plumb_fold *f,
                      const struct plumb_fold_group *g)
{
    bool alone = true;
    for (size_t i = 0; i < f->count && alone; i++)
        alone = &f->groups[i] == g || strcmp(f->groups[i].node->name, g->node->name) != 0;
    plumb_buf_str(out, "\nFolded: ");
    plumb_put_left(out, g->node->name, 0);
    if (!alone) {
        plumb_buf_str(out, " [");
        plumb_put_left(out, g->node->phase, 0);
        plumb_buf_char(out, ']');
    }
    plumb_buf_str(out, " is ");
    plumb_put_count(out, g->members, 0);
    plumb_buf_str(out, " nodes");
    if (!g->least)
        return;
    plumb_buf_str(out, ", means ");
    put_member(out, g->least);
    plumb_buf_str(out, " to ");
    put_member(out, g->most);
}

static bool belongs(const struct plumb_fold_group *g, const char *pipeline, const char *phase)
{
    return (!pipeline || strcmp(g->node->pipeline, pipeline) == 0) &&
           (!phase || strcmp(g->node->phase, phase) == 0);
}

/* How many groups have a larger total, or the same and stand before. */
static size_t rank_of(const struct plumb_fold *f, const char *pipeline, const char *phase, size_t i)
{
    uint64_t total = f->groups[i].node->host.ns.total;
    size_t rank = 0;
    for (size_t k = 0; k < f->count; k++) {
        uint64_t other = f->groups[k].node->host.ns.total;
        rank +=
            belongs(&f->groups[k], pipeline, phase) && (other > total || (other == total && k < i));
    }
    return rank;
}

void plumb_fold_put(struct plumb_buf *out, const struct plumb_fold *f, const char *pipeline,
                    const char *phase, size_t most)
{
    size_t groups = 0;
    size_t nodes = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (!belongs(&f->groups[i], pipeline, phase))
            continue;
        groups++;
        nodes += f->groups[i].members;
        if (rank_of(f, pipeline, phase, i) < most)
            put_group(out, f, &f->groups[i]);
    }
    if (groups == 0)
        return;
    plumb_buf_printf(out, "\nFolded: %zu nodes are shown as %zu", nodes, groups);
    if (groups > most)
        plumb_buf_printf(out, " (%zu not listed)", groups - most);
    plumb_buf_str(out, "; plumb report --fold=off shows each");
}
