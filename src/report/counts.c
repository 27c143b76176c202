/* counts.c: rows of counts from a timing report. Whole-run rows are sums over the steps, so that a
 * count is in the report once; rows are sorted and merged here, because threads met them in any
 * order. Any thread. */
#include "report/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/count_kind.h"
#include "read/run/load.h"

static const char *const kinds[PLUMB_COUNT_KINDS] = {
    [PLUMB_COUNT_DISPATCHES] = "dispatches",
    [PLUMB_COUNT_LAUNCHES] = "launches",
    [PLUMB_COUNT_COPIES] = "copies",
    [PLUMB_COUNT_COPY_BYTES] = "copy_bytes",
    [PLUMB_COUNT_SYNCHRONISATIONS] = "synchronisations",
    [PLUMB_COUNT_ALLOCATIONS] = "allocations",
    [PLUMB_COUNT_ALLOCATED_BYTES] = "allocated_bytes",
    [PLUMB_COUNT_PEAK_BYTES] = "peak_bytes",
    [PLUMB_COUNT_PAGE_FAULTS] = "page_faults",
    [PLUMB_COUNT_INSTRUCTIONS] = "instructions",
    [PLUMB_COUNT_USER] = "user",
    [PLUMB_COUNT_CALLS] = "calls",
};

const char *plumb_count_kind_name(uint32_t kind)
{
    return kind < PLUMB_COUNT_KINDS ? kinds[kind] : NULL;
}

uint32_t plumb_count_kind_of(const char *name)
{
    for (uint32_t i = 1; i < PLUMB_COUNT_KINDS; i++)
        if (strcmp(kinds[i], name) == 0)
            return i;
    return 0;
}

/* ---- Adding rows ----------------------------------------------------------------------------- */

struct rows {
    struct plumb_count_rows *out;
    size_t cap;
};

static void add(struct rows *r, const struct plumb_count_row *row)
{
    struct plumb_count_rows *o = r->out;
    struct plumb_count_row *grown;
    if (row->calls == 0 && row->value == 0)
        return;
    grown = plumb_arena_grow(&o->arena, o->rows, &r->cap, o->count + 1, sizeof *o->rows);
    if (!grown)
        return;
    o->rows = grown;
    o->rows[o->count++] = *row;
}

/* Copies and allocations come as a number of calls and a sum of bytes. */
static void add_cell(struct rows *r, const struct plumb_timing_cell *c, int64_t step)
{
    struct plumb_count_row row = {
        .pipeline = c->pipeline,
        .phase = c->phase,
        .node = c->node,
        .step = step,
        .kind = c->kind,
        .name = c->name,
        .calls = c->calls,
        .value = c->value,
    };
    if (c->kind == PLUMB_COUNT_COPIES || c->kind == PLUMB_COUNT_ALLOCATIONS) {
        row.value = (int64_t)c->calls;
        add(r, &row);
        row.value = c->value;
        row.kind = c->kind + 1;
    }
    add(r, &row);
}

static void add_cells(struct rows *r, const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->cell_count; i++) {
        const struct plumb_timing_cell *c = &t->cells[i];
        bool of_stage = plumb_count_is_of_stage(c->kind);
        /* User counts of a node have a list of their own for the whole run. */
        if ((c->kind != PLUMB_COUNT_USER || c->node[0] == '\0') && !of_stage)
            add_cell(r, c, PLUMB_COUNT_WHOLE_RUN);
        if (c->step >= 0 && (!of_stage || c->kind == PLUMB_COUNT_PEAK_BYTES))
            add_cell(r, c, c->step);
    }
}

/* Adds the counts of a pipeline that are in no node and in no cell: older files have them. */
static void add_rest(struct rows *r, const struct plumb_timing *t,
                     const struct plumb_timing_count *c)
{
    struct plumb_count_row row = {.pipeline = c->pipeline,
                                  .phase = "",
                                  .node = "",
                                  .step = PLUMB_COUNT_WHOLE_RUN,
                                  .kind = PLUMB_COUNT_USER,
                                  .name = c->name,
                                  .calls = c->events,
                                  .value = c->total};
    for (size_t i = 0; i < t->node_count_count; i++) {
        const struct plumb_timing_node_count *n = &t->node_counts[i];
        if (strcmp(n->pipeline, c->pipeline) != 0 || strcmp(n->name, c->name) != 0)
            continue;
        row.calls -= n->events < row.calls ? n->events : row.calls;
        row.value = (int64_t)((uint64_t)row.value - (uint64_t)n->total);
    }
    for (size_t i = 0; i < t->cell_count; i++) {
        const struct plumb_timing_cell *n = &t->cells[i];
        if (n->kind != PLUMB_COUNT_USER || n->node[0] != '\0' ||
            strcmp(n->pipeline, c->pipeline) != 0 || strcmp(n->name, c->name) != 0)
            continue;
        row.calls -= n->calls < row.calls ? n->calls : row.calls;
        row.value = (int64_t)((uint64_t)row.value - (uint64_t)n->value);
    }
    add(r, &row);
}

static void add_user(struct rows *r, const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->node_count_count; i++) {
        const struct plumb_timing_node_count *c = &t->node_counts[i];
        struct plumb_count_row row = {.pipeline = c->pipeline,
                                      .phase = c->phase,
                                      .node = c->node,
                                      .step = PLUMB_COUNT_WHOLE_RUN,
                                      .kind = PLUMB_COUNT_USER,
                                      .name = c->name,
                                      .calls = c->events,
                                      .value = c->total};
        add(r, &row);
    }
    for (size_t i = 0; i < t->count_count; i++)
        add_rest(r, t, &t->counts[i]);
}

static uint64_t runs_of(const struct plumb_timing_node *n)
{
    return n->host.ns.count + n->skipped + n->failures + n->abandoned + n->unbalanced;
}

static const char *pool_name(struct rows *r, const struct plumb_timing_pool *p)
{
    const char *name =
        p->pool[0] ? plumb_arena_printf(&r->out->arena, "%s/%s", p->device, p->pool) : p->device;
    return name ? name : "";
}

static void add_peaks(struct rows *r, const struct plumb_timing *t)
{
    struct plumb_count_row row = {.step = PLUMB_COUNT_WHOLE_RUN, .kind = PLUMB_COUNT_PEAK_BYTES};
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        const struct plumb_timing_pool *p = &t->memory.pools[i];
        row.pipeline = row.phase = row.node = "";
        row.name = pool_name(r, p);
        row.calls = p->allocs;
        row.value = (int64_t)p->peak_allocated;
        add(r, &row);
    }
    for (size_t i = 0; i < t->node_count; i++) {
        const struct plumb_timing_node *n = &t->nodes[i];
        row.pipeline = n->pipeline;
        row.phase = n->phase;
        row.node = n->name;
        row.calls = runs_of(n);
        for (size_t k = 0; k < n->memory.use_count; k++) {
            const struct plumb_timing_use *u = &n->memory.uses[k];
            if (u->pool >= t->memory.pool_count)
                continue;
            row.name = pool_name(r, &t->memory.pools[u->pool]);
            row.value = (int64_t)u->peak_allocated;
            add(r, &row);
        }
    }
}

/* Adds a counter of a stage, and its parts in steps. */
static void add_counter(struct rows *r, const struct plumb_timing *t,
                        const struct plumb_count_row *row)
{
    add(r, row);
    for (size_t i = 0; i < t->cell_count; i++) {
        const struct plumb_timing_cell *c = &t->cells[i];
        if (c->kind == row->kind && c->step >= 0 && strcmp(c->node, row->node) == 0 &&
            strcmp(c->phase, row->phase) == 0 && strcmp(c->pipeline, row->pipeline) == 0)
            add_cell(r, c, c->step);
    }
}

/* Counters of stages (the collector `perf`). A figure that is not exact is left out: a counter that
 * took turns, or was absent in some runs. */
static void add_counters(struct rows *r, const struct plumb_timing *t)
{
    for (size_t i = 0; i < t->perf.row_count; i++) {
        const struct plumb_timing_counted *c = &t->perf.rows[i];
        const struct plumb_timing_counter *minor = &c->counter[PLUMB_PERF_MINOR_FAULTS];
        const struct plumb_timing_counter *major = &c->counter[PLUMB_PERF_MAJOR_FAULTS];
        const struct plumb_timing_counter *ins = &c->counter[PLUMB_PERF_INSTRUCTIONS];
        struct plumb_count_row row = {.step = PLUMB_COUNT_WHOLE_RUN, .name = "", .calls = c->runs};
        if (c->kernel || c->node >= t->node_count)
            continue;
        row.pipeline = t->nodes[c->node].pipeline;
        row.phase = t->nodes[c->node].phase;
        row.node = t->nodes[c->node].name;
        row.kind = PLUMB_COUNT_PAGE_FAULTS;
        row.value = (int64_t)(minor->total + major->total);
        if (minor->runs == c->runs && major->runs == c->runs)
            add_counter(r, t, &row);
        row.kind = PLUMB_COUNT_INSTRUCTIONS;
        row.value = (int64_t)ins->total;
        if (ins->runs == c->runs && !ins->scaled &&
            t->perf.state[PLUMB_PERF_INSTRUCTIONS] == PLUMB_COUNTER_THERE)
            add_counter(r, t, &row);
    }
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int by_node(const struct plumb_count_row *a, const struct plumb_count_row *b)
{
    int d = strcmp(a->pipeline, b->pipeline);
    if (!d)
        d = strcmp(a->phase, b->phase);
    return d ? d : strcmp(a->node, b->node);
}

static int by_place(const void *x, const void *y)
{
    const struct plumb_count_row *a = x, *b = y;
    int d = by_node(a, b);
    if (!d)
        d = (a->kind > b->kind) - (a->kind < b->kind);
    if (!d)
        d = strcmp(a->name, b->name);
    return d ? d : (a->step > b->step) - (a->step < b->step);
}

/* Returns whether the highest value of two rows stays: of peaks; also of the other figures of
 * stages where the rows are of several nodes, one of which may be inside another. */
static bool takes_highest(const struct plumb_count_row *row)
{
    return row->kind == PLUMB_COUNT_PEAK_BYTES ||
           (plumb_count_is_of_stage(row->kind) && row->node[0] == '\0');
}

void plumb_count_rows_merge(struct plumb_count_rows *o)
{
    size_t n = 0;
    if (o->count > 1)
        qsort(o->rows, o->count, sizeof *o->rows, by_place);
    for (size_t i = 0; i < o->count; i++) {
        struct plumb_count_row *last = n ? &o->rows[n - 1] : NULL;
        const struct plumb_count_row *row = &o->rows[i];
        if (!last || by_place(last, row) != 0) {
            o->rows[n++] = *row;
        } else if (takes_highest(row)) {
            last->value = row->value > last->value ? row->value : last->value;
            last->calls += row->calls;
            last->runs += row->runs;
        } else {
            last->value = (int64_t)((uint64_t)last->value + (uint64_t)row->value);
            last->calls += row->calls;
            last->runs += row->runs;
        }
    }
    o->count = n;
}

/* Rows and nodes in the same order: one pass over both. */
static void add_runs(struct plumb_count_rows *o, const struct plumb_timing *t)
{
    struct plumb_count_row *node = plumb_arena_alloc(&o->arena, (t->node_count + 1) * sizeof *node);
    size_t at = 0;
    if (!node)
        return;
    for (size_t i = 0; i < t->node_count; i++)
        node[i] = (struct plumb_count_row){.pipeline = t->nodes[i].pipeline,
                                           .phase = t->nodes[i].phase,
                                           .node = t->nodes[i].name,
                                           .name = "",
                                           .runs = runs_of(&t->nodes[i])};
    qsort(node, t->node_count, sizeof *node, by_place);
    for (size_t i = 0; i < o->count; i++) {
        while (at < t->node_count && by_node(&node[at], &o->rows[i]) < 0)
            at++;
        if (at < t->node_count && by_node(&node[at], &o->rows[i]) == 0 &&
            o->rows[i].step == PLUMB_COUNT_WHOLE_RUN)
            o->rows[i].runs = node[at].runs;
    }
}

/* ---- The rows -------------------------------------------------------------------------------- */

static int make(struct plumb_count_rows *out, const struct plumb_timing *t, plumb_error *err)
{
    struct rows r = {out, 0};
    add_cells(&r, t);
    add_user(&r, t);
    add_peaks(&r, t);
    add_counters(&r, t);
    plumb_count_rows_merge(out);
    add_runs(out, t);
    if (out->arena.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the counts of a run");
    return PLUMB_OK;
}

int plumb_count_rows_init(struct plumb_count_rows *out, const struct plumb_timing *t,
                          plumb_error *err)
{
    memset(out, 0, sizeof *out);
    plumb_timing_init(&out->timing);
    return make(out, t, err);
}

int plumb_count_rows_read(struct plumb_count_rows *out, const char *dir, plumb_error *err)
{
    struct plumb_load load;
    int rc;
    memset(out, 0, sizeof *out);
    plumb_timing_init(&out->timing);
    if ((rc = plumb_load_run(&load, dir, err)) < 0)
        return rc;
    out->timing = load.timing;
    return make(out, &out->timing, err);
}

void plumb_count_rows_fini(struct plumb_count_rows *rows)
{
    if (!rows)
        return;
    plumb_timing_fini(&rows->timing);
    plumb_arena_fini(&rows->arena);
    memset(rows, 0, sizeof *rows);
}
