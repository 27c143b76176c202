/* count_read.c: see ledger_read.h. The counts of a mapping: those of the program by pipeline, and
 * the cells of each place where something was counted. */
#include "live/ledger_read.h"

#include <string.h>

#include "base/map.h"
#include "model/count_kind.h"

static void fill_count(struct plumb_ledger_reader *r, const struct plumb_live_count *c)
{
    struct plumb_timing *t = r->t;
    const struct plumb_live_pipeline *p = plumb_live_element(
        &r->m->view, &r->m->view.h->pipelines, c->pipeline, sizeof(struct plumb_live_pipeline));
    const char *name = plumb_live_text(&r->m->view, c->name_off);
    if (!p)
        return;
    const char *pipeline = plumb_live_text(&r->m->view, p->name_off);
    if (c->within)
        t->node_counts[t->node_count_count++] = (struct plumb_timing_node_count){
            pipeline,
            plumb_live_phase_name(&r->m->view, c->within >> 24),
            plumb_live_node_name(&r->m->view, c->within & 0xffffff),
            name,
            c->total,
            c->events};
    else
        t->counts[t->count_count++] =
            (struct plumb_timing_count){pipeline, name, c->total, c->events};
}

static void fill_counts(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    uint32_t n = r->m->view.h->counts.count;
    if (n > r->m->view.bytes / sizeof(struct plumb_live_count))
        return;
    t->counts = plumb_arena_alloc(&t->arena, (n + 1) * sizeof *t->counts);
    t->node_counts = plumb_arena_alloc(&t->arena, (n + 1) * sizeof *t->node_counts);
    for (uint32_t i = 0; t->counts && t->node_counts && i < n; i++) {
        const struct plumb_live_count *c = plumb_live_element(&r->m->view, &r->m->view.h->counts, i,
                                                              sizeof(struct plumb_live_count));
        if (c)
            fill_count(r, c);
    }
}

static void fill_cell(struct plumb_ledger_reader *r, const struct plumb_live_cell *c)
{
    const struct plumb_live_view *v = &r->m->view;
    const struct plumb_live_pipeline *p =
        plumb_live_element(v, &v->h->pipelines, c->group >> 8, sizeof(struct plumb_live_pipeline));
    bool dropped = p && plumb_count_is_of_stage(c->kind) &&
                   PLUMB_ACQUIRE(c->reset_generation) != p->reset_generation;
    if (p && c->kind && c->kind < PLUMB_COUNT_KINDS && !dropped)
        r->t->cells[r->t->cell_count++] =
            (struct plumb_timing_cell){plumb_live_text(v, p->name_off),
                                       plumb_live_phase_name(v, c->group & 0xff),
                                       c->node ? plumb_live_node_name(v, c->node) : "",
                                       plumb_live_text(v, c->name_off),
                                       c->step,
                                       c->kind,
                                       PLUMB_LOAD(c->calls),
                                       PLUMB_LOAD(c->value)};
}

static void fill_cells(struct plumb_ledger_reader *r)
{
    const struct plumb_live_table *cells = &r->m->view.h->cells;
    uint32_t n = PLUMB_ACQUIRE(cells->count);
    r->t->cells_lost = r->m->view.h->cells_lost;
    if (n > r->m->view.bytes / sizeof(struct plumb_live_cell))
        return;
    r->t->cells =
        plumb_arena_alloc(&r->t->arena, (n + r->t->count_count + 1) * sizeof *r->t->cells);
    for (uint32_t i = 0; r->t->cells && i < n; i++) {
        const struct plumb_live_cell *c =
            plumb_live_element(&r->m->view, cells, i, sizeof(struct plumb_live_cell));
        if (c)
            fill_cell(r, c);
    }
}

/* The counts by the key that they have in the map: a number from 1. */
struct places {
    struct plumb_timing *t;
    struct plumb_map at;
};

static bool is_of(const struct plumb_timing_count *c, const char *pipeline, const char *name)
{
    return strcmp(c->name, name) == 0 && strcmp(c->pipeline, pipeline) == 0;
}

/* Returns the number of the count, or 0; then `*key` is the one it would have. Names that hash
 * alike take the next free key. */
static uint64_t find(const struct places *p, uint64_t *key, const char *pipeline, const char *name)
{
    uint64_t known;
    *key = plumb_hash_text(pipeline) * 31 + plumb_hash_text(name);
    for (;; ++*key) {
        *key += *key == 0;
        known = plumb_map_get(&p->at, *key);
        if (!known || is_of(&p->t->counts[known - 1], pipeline, name))
            return known;
    }
}

static void add_to_count(const struct places *p, const char *pipeline, const char *name,
                         int64_t value, uint64_t events)
{
    uint64_t key, i = find(p, &key, pipeline, name);
    struct plumb_timing_count *c = i ? &p->t->counts[i - 1] : NULL;
    if (!c)
        return;
    c->total = (int64_t)((uint64_t)c->total + (uint64_t)value);
    c->events += events;
}

/* A count of a pipeline was its part outside nodes, phases and steps. That becomes a cell, and the
 * count the sum of all parts. */
static void sum_counts(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    struct places places = {t, {NULL, 0, 0}};
    const char *phase = plumb_live_phase_name(&r->m->view, 0);
    size_t cells = t->cells ? t->cell_count : 0;
    uint64_t key;
    for (size_t i = 0; t->counts && i < t->count_count; i++) {
        const struct plumb_timing_count *c = &t->counts[i];
        if (t->cells && c->events)
            t->cells[t->cell_count++] = (struct plumb_timing_cell){
                c->pipeline, phase, "", c->name, -1, PLUMB_COUNT_USER, c->events, c->total};
        if (!find(&places, &key, c->pipeline, c->name))
            plumb_map_put(&places.at, key, i + 1);
    }
    for (size_t i = 0; t->node_counts && i < t->node_count_count; i++) {
        const struct plumb_timing_node_count *n = &t->node_counts[i];
        add_to_count(&places, n->pipeline, n->name, n->total, n->events);
    }
    for (size_t i = 0; i < cells; i++) {
        const struct plumb_timing_cell *c = &t->cells[i];
        if (c->kind == PLUMB_COUNT_USER && c->node[0] == '\0')
            add_to_count(&places, c->pipeline, c->name, c->value, c->calls);
    }
    plumb_map_fini(&places.at);
}

void plumb_counts_read(struct plumb_ledger_reader *r)
{
    fill_counts(r);
    fill_cells(r);
    sum_counts(r);
}

static void own(struct plumb_arena *a, const char **text)
{
    *text = plumb_arena_strdup(a, *text);
}

void plumb_counts_own(struct plumb_timing *t)
{
    for (size_t i = 0; i < t->count_count; i++) {
        own(&t->arena, &t->counts[i].pipeline);
        own(&t->arena, &t->counts[i].name);
    }
    for (size_t i = 0; i < t->node_count_count; i++) {
        own(&t->arena, &t->node_counts[i].pipeline);
        own(&t->arena, &t->node_counts[i].phase);
        own(&t->arena, &t->node_counts[i].node);
        own(&t->arena, &t->node_counts[i].name);
    }
    for (size_t i = 0; i < t->cell_count; i++) {
        own(&t->arena, &t->cells[i].pipeline);
        own(&t->arena, &t->cells[i].phase);
        own(&t->arena, &t->cells[i].node);
        own(&t->arena, &t->cells[i].name);
    }
}
