/* timing_section.c: see timing_section.h. Rows of one name (several phases or pipelines) become one
 * stage, by sorting: a run may have thousands. Any thread, one section at a time. */
#include "model/timing_section.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct row {
    const char *name, *metric;
    size_t order; /* of first sight */
    uint64_t count, total_ns, own_ns, last_at;
    const struct plumb_timing_memory *memory;
};

struct joined {
    size_t first; /* the least `order` */
    struct plumb_timing_stage stage;
};

/* By name; of one name the row that ended last comes last. */
static int by_name(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int order = strcmp(x->name, y->name);
    if (order)
        return order;
    if (x->last_at != y->last_at)
        return x->last_at > y->last_at ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_first(const void *a, const void *b)
{
    const struct joined *x = a;
    const struct joined *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- Memory of several rows ------------------------------------------------------------------ */

static void join_use(struct plumb_timing_memory *to, const struct plumb_timing_use *from)
{
    size_t i = 0;
    while (i < to->use_count && to->uses[i].pool != from->pool)
        i++;
    struct plumb_timing_use *use = &to->uses[i];
    if (i == to->use_count) {
        *use = *from;
        to->use_count++;
        return;
    }
    use->allocated = from->allocated;
    use->reserved = from->reserved;
    use->peak_allocated = larger(use->peak_allocated, from->peak_allocated);
    use->peak_reserved = larger(use->peak_reserved, from->peak_reserved);
}

/* `to->uses` holds those of all rows. */
static void join_memory(struct plumb_timing_memory *to, const struct plumb_timing_memory *from)
{
    if (from->samples > 0) {
        to->peak_exact = from->peak_exact && (to->samples == 0 || to->peak_exact);
        to->samples += from->samples;
        to->rss = from->rss;
        to->peak_rss = larger(to->peak_rss, from->peak_rss);
        to->growth = (int64_t)((uint64_t)to->growth + (uint64_t)from->growth);
        to->reset_peak = from->reset_peak;
    }
    for (size_t i = 0; i < from->use_count; i++)
        join_use(to, &from->uses[i]);
}

static int memory_of(struct plumb_timing_section *s, const struct row *rows, size_t n,
                     struct plumb_timing_memory *out)
{
    size_t uses = 0;
    if (n == 1) {
        *out = *rows->memory;
        return PLUMB_OK;
    }
    for (size_t i = 0; i < n; i++)
        uses += rows[i].memory->use_count;
    memset(out, 0, sizeof *out);
    if (uses > 0 && !(out->uses = plumb_arena_alloc(&s->arena, uses * sizeof *out->uses)))
        return PLUMB_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        join_memory(out, rows[i].memory);
    return PLUMB_OK;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static int join(struct plumb_timing_section *s, const struct row *rows, size_t n,
                struct joined *out)
{
    size_t metric = SIZE_MAX; /* order of the row whose metric it is */
    *out = (struct joined){.first = rows->order, .stage = {.name = rows->name}};
    for (size_t i = 0; i < n; i++) {
        if (rows[i].order < out->first)
            out->first = rows[i].order;
        if (rows[i].metric && rows[i].order < metric) {
            out->stage.metric = rows[i].metric;
            metric = rows[i].order;
        }
        out->stage.count += rows[i].count;
        out->stage.total_ns += rows[i].total_ns;
        out->stage.own_ns += rows[i].own_ns;
    }
    return memory_of(s, rows, n, &out->stage.memory);
}

static void set_percentages(struct plumb_timing_section *s)
{
    uint64_t whole = 0;
    for (size_t i = 0; i < s->stage_count; i++)
        whole += s->stages[i].own_ns;
    for (size_t i = 0; i < s->stage_count; i++)
        s->stages[i].percentage = whole ? 100.0 * (double)s->stages[i].own_ns / (double)whole : 0;
}

static int settle(struct plumb_timing_section *s, struct row *rows, size_t n)
{
    size_t kept = 0, end;
    struct joined *all = plumb_arena_alloc(&s->arena, n * sizeof *all);
    s->stages = plumb_arena_alloc(&s->arena, n * sizeof *s->stages);
    if (!all || !s->stages)
        return PLUMB_ERR_MEMORY;
    qsort(rows, n, sizeof *rows, by_name);
    for (size_t begin = 0; begin < n; begin = end) {
        for (end = begin + 1; end < n && strcmp(rows[end].name, rows[begin].name) == 0;)
            end++;
        if (join(s, &rows[begin], end - begin, &all[kept++]) < 0)
            return PLUMB_ERR_MEMORY;
    }
    qsort(all, kept, sizeof *all, by_first);
    for (size_t i = 0; i < kept; i++)
        s->stages[i] = all[i].stage;
    s->stage_count = kept;
    set_percentages(s);
    return PLUMB_OK;
}

static int take_run(struct plumb_timing_section *s, const struct plumb_timing *t)
{
    struct row *rows = plumb_arena_alloc(&s->arena, t->node_count * sizeof *rows);
    if (!rows)
        return PLUMB_ERR_MEMORY;
    s->id = t->request_id;
    s->end_unix_ns = t->end_unix_ns;
    s->wall_ns = t->wall_clock_ns;
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *node = &t->nodes[i];
        const struct plumb_stats *ns = &node->host.ns;
        rows[i] = (struct row){node->name,  node->metric, i,
                               ns->count,   ns->total,    plumb_timing_own_ns(node),
                               ns->last_at, &node->memory};
        s->stages_ns += node->outermost_ns;
        s->records += ns->count;
    }
    return settle(s, rows, t->node_count);
}

static int take_request(struct plumb_timing_section *s, const struct plumb_timing *t,
                        const struct plumb_timing_request *request)
{
    size_t n = 0;
    struct row *rows = plumb_arena_alloc(&s->arena, request->stage_count * sizeof *rows);
    if (!rows)
        return PLUMB_ERR_MEMORY;
    s->request = request;
    s->id = request->id;
    s->end_unix_ns = request->state == PLUMB_TIMING_REQUEST_OPEN
                         ? t->end_unix_ns
                         : request->begin_unix_ns + request->wall_ns;
    s->wall_ns = request->wall_ns;
    s->stages_ns = request->stages_ns;
    s->records = request->records;
    for (size_t i = 0; i < request->stage_count; i++) {
        const struct plumb_timing_request_stage *stage = &request->stages[i];
        if (stage->node >= t->node_count)
            continue;
        const struct plumb_timing_node *node = &t->nodes[stage->node];
        /* A request enters a stage when it ends; nodes stand in the order of their begins. */
        rows[n++] = (struct row){.name = node->name,
                                 .metric = node->metric,
                                 .order = stage->node,
                                 .count = stage->count,
                                 .total_ns = stage->total_ns,
                                 .own_ns = stage->own_ns,
                                 .last_at = stage->last_end_ns,
                                 .memory = &stage->memory};
    }
    return settle(s, rows, n);
}

uint32_t plumb_timing_last_request(const struct plumb_timing *t)
{
    return t->request_count > 0 ? (uint32_t)(t->request_count - 1) : PLUMB_TIMING_NONE;
}

int plumb_timing_section_init(struct plumb_timing_section *out, const struct plumb_timing *t,
                              uint32_t request, plumb_error *err)
{
    int rc;
    memset(out, 0, sizeof *out);
    rc =
        request < t->request_count ? take_request(out, t, &t->requests[request]) : take_run(out, t);
    if (rc == PLUMB_OK)
        return rc;
    plumb_timing_section_fini(out);
    return plumb_fail(err, rc, "out of memory for the stages of a run");
}

void plumb_timing_section_fini(struct plumb_timing_section *s)
{
    plumb_arena_fini(&s->arena);
    memset(s, 0, sizeof *s);
}
