/* rows.c: the rows and the call tree of a report, from a merged mapping. The report of a finished
 * run and the table of a running one share this code, so both have the same figures. */
#include "base/error.h"
#include "live/read.h"
#include "live/replay.h"

struct rows {
    struct plumb_timing *t;
    struct plumb_merge *m;
    double tick_ns;
    const struct plumb_anchor *end;
};

/* Texts point into the mapping. */
static void fill_pipelines(const struct rows *r)
{
    uint32_t n = PLUMB_ACQUIRE(r->m->view.h->pipelines.count);
    struct plumb_timing *t = r->t;
    if (n > r->m->view.bytes / sizeof(struct plumb_live_pipeline))
        return;
    t->pipelines = plumb_arena_alloc(&t->arena, (n + 1) * sizeof *t->pipelines);
    for (uint32_t i = 0; t->pipelines && i < n; i++) {
        const struct plumb_live_pipeline *p = plumb_live_element(
            &r->m->view, &r->m->view.h->pipelines, i, sizeof(struct plumb_live_pipeline));
        if (p)
            t->pipelines[t->pipeline_count++] = (struct plumb_timing_pipeline){
                plumb_live_text(&r->m->view, p->name_off), plumb_live_skip_at(p, UINT64_MAX)};
    }
}

/* Converts the times of the places to ns such that they add up exactly, as their ticks do. A
 * place's total is the sum of its own time, its children's totals, and the failed or abandoned runs
 * below it, each rounded once. */
static int place_times(const struct rows *r, uint64_t *total_ns)
{
    size_t n = r->m->tree_count;
    uint64_t *inside = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *inside);
    uint64_t *inside_ns = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *inside_ns);
    if (!inside || !inside_ns)
        return PLUMB_ERR_MEMORY;
    for (size_t i = n; i-- > 1;) {
        const struct plumb_merge_place *p = &r->m->places[i];
        int64_t rest = (int64_t)(p->total - p->self - inside[i]);
        uint64_t rest_ns = plumb_ticks_to_ns((uint64_t)(rest < 0 ? -rest : rest), r->tick_ns);
        total_ns[i] = inside_ns[i] + plumb_ticks_to_ns(p->self, r->tick_ns);
        /* Negative below an abandoned place, whose own children count although it does not. */
        total_ns[i] = rest >= 0 ? total_ns[i] + rest_ns
                                : total_ns[i] - (rest_ns < total_ns[i] ? rest_ns : total_ns[i]);
        /* All of its samples were skipped: a remainder that comes from rounding is not its time. */
        if (!p->total)
            total_ns[i] = 0;
        inside[p->parent] += p->total;
        inside_ns[p->parent] += total_ns[i];
    }
    return PLUMB_OK;
}

/* Returns the row of a place, whose runs may have been counted under (other). 0: none. */
static uint64_t row_of_place(const struct rows *r, const struct plumb_merge_place *p)
{
    uint64_t other = plumb_key(plumb_key_group(p->key) & 0xff00u, PLUMB_NODE_OTHER);
    uint64_t row = plumb_map_get(&r->m->row_of, p->key + 1);
    return row || p->count == 0 ? row : plumb_map_get(&r->m->row_of, other + 1);
}

int plumb_live_rows(struct plumb_timing *t, struct plumb_merge *m, double tick_ns,
                    const struct plumb_anchor *end, uint32_t **node_of)
{
    const struct rows of = {t, m, tick_ns, end}, *r = &of;
    uint32_t *row_at = plumb_arena_alloc(&t->arena, (r->m->row_count + 1) * sizeof *row_at);
    uint32_t *place_at = plumb_arena_alloc(&t->arena, (r->m->tree_count + 1) * sizeof *place_at);
    uint64_t *total_ns = plumb_arena_alloc(&t->arena, (r->m->tree_count + 1) * sizeof *total_ns);
    t->nodes = plumb_arena_alloc(&t->arena, (r->m->row_count + 1) * sizeof *t->nodes);
    t->tree = plumb_arena_alloc(&t->arena, (r->m->tree_count + 1) * sizeof *t->tree);
    if (!row_at || !place_at || !total_ns || !t->nodes || !t->tree || place_times(r, total_ns) < 0)
        return PLUMB_ERR_MEMORY;
    *node_of = row_at;
    plumb_merge_order(m);
    fill_pipelines(r);
    for (size_t i = 0; i < r->m->row_count; i++) {
        row_at[i] = (uint32_t)t->node_count;
        if (r->m->rows[i]->listed) {
            struct plumb_timing_node *n = &t->nodes[t->node_count++];
            plumb_live_row_figures(n, r->m, r->m->rows[i], r->tick_ns, r->end, true);
            plumb_live_row_identity(n, r->m, r->m->rows[i], r->tick_ns);
        } else {
            row_at[i] = PLUMB_TIMING_NONE;
        }
    }
    for (size_t i = 0; i < r->m->tree_count; i++) {
        const struct plumb_merge_place *p = &r->m->places[i];
        uint64_t row = row_of_place(r, p);
        place_at[i] = PLUMB_TIMING_NONE;
        if (i == 0 || !row || row_at[row - 1] == PLUMB_TIMING_NONE)
            continue;
        place_at[i] = (uint32_t)t->tree_count;
        t->tree[t->tree_count++] =
            (struct plumb_timing_tree){place_at[p->parent],
                                       row_at[row - 1],
                                       p->count,
                                       total_ns[i],
                                       plumb_ticks_to_ns(p->self, r->tick_ns),
                                       p->async != 0};
        /* Runs below spans that never ended are outermost too: those spans left no sample. */
        if (place_at[p->parent] == PLUMB_TIMING_NONE && !p->async) {
            t->nodes[row_at[row - 1]].outermost_ns += total_ns[i];
            t->nodes[row_at[row - 1]].outermost_count += p->count;
        }
    }
    return PLUMB_OK;
}
