/* collector_read.c: see ledger_read.h. */
#include "live/ledger_read.h"

#include <string.h>

#include "live/lane_clock.h"
#include <plumb/collector.h>

const char *plumb_collector_state_name(uint32_t state)
{
    static const char *const names[] = {"idle",    "starting", "running", "stopping",
                                        "stopped", "absent",   "failed",  "abandoned"};
    return state < sizeof names / sizeof *names ? names[state] : "unknown";
}

/* ---- Devices --------------------------------------------------------------------------------- */

void plumb_device_use_read(struct plumb_ledger_reader *r, struct plumb_timing_device_use *out,
                           const struct plumb_live_device_use *use)
{
    uint32_t n = use->waits <= PLUMB_LIVE_WAITS ? use->waits : 0;
    out->launches = use->launches;
    out->works = use->works;
    out->device_ns = use->device_ns;
    out->wait_count = use->wait_count;
    out->wait_ns = use->wait_ns;
    out->waits = n ? plumb_arena_alloc(&r->t->arena, n * sizeof *out->waits) : NULL;
    for (uint32_t i = 0; out->waits && i < n; i++) {
        uint32_t node = plumb_ledger_node_of(r, use->wait[i].key);
        if (node != PLUMB_TIMING_NONE)
            out->waits[out->waited_for++] =
                (struct plumb_timing_wait){node, use->wait[i].count, use->wait[i].ns};
    }
}

static void read_scheds(struct plumb_ledger_reader *r)
{
    const struct plumb_live_header *h = r->m->view.h;
    uint32_t n = plumb_ledger_count(r, &h->scheds, sizeof(struct plumb_live_sched));
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_sched *s =
            plumb_live_element(&r->m->view, &h->scheds, i, sizeof *s);
        uint32_t at = s ? plumb_ledger_node_of(r, s->key) : PLUMB_TIMING_NONE;
        const struct plumb_live_pipeline *p =
            at == PLUMB_TIMING_NONE
                ? NULL
                : plumb_live_element(&r->m->view, &h->pipelines,
                                     plumb_key_group(s->key) >> 8 & 0xff, sizeof *p);
        if (p && s->reset_generation == p->reset_generation)
            r->t->nodes[at].sched =
                (struct plumb_timing_sched){plumb_ticks_to_ns(s->preempted_ticks, r->tick_ns),
                                            plumb_ticks_to_ns(s->blocked_ticks, r->tick_ns),
                                            plumb_ticks_to_ns(s->longest_ticks, r->tick_ns),
                                            s->preemptions,
                                            s->blocks,
                                            s->migrations};
    }
}

void plumb_devices_read(struct plumb_ledger_reader *r)
{
    const struct plumb_live_header *h = r->m->view.h;
    uint32_t n = plumb_ledger_count(r, &h->devices, sizeof(struct plumb_live_device));
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_device *d =
            plumb_live_element(&r->m->view, &h->devices, i, sizeof *d);
        uint32_t at = d ? plumb_ledger_node_of(r, d->key) : PLUMB_TIMING_NONE;
        const struct plumb_live_pipeline *p;
        if (at == PLUMB_TIMING_NONE)
            continue;
        p = plumb_live_element(&r->m->view, &h->pipelines, plumb_key_group(d->key) >> 8 & 0xff,
                               sizeof *p);
        if (p && d->reset_generation == p->reset_generation)
            plumb_device_use_read(r, &r->t->nodes[at].use, &d->use);
    }
    read_scheds(r);
    for (size_t i = 0; i < r->m->row_count; i++) {
        const struct plumb_merge_row *row = r->m->rows[i];
        const struct plumb_live_pipeline *p =
            plumb_live_element(&r->m->view, &h->pipelines, row->group >> 8 & 0xff, sizeof *p);
        const struct plumb_live_node *node =
            plumb_live_element(&r->m->view, &h->nodes, row->node, sizeof *node);
        if (r->node_of[i] == PLUMB_TIMING_NONE || !p || !node)
            continue;
        r->t->nodes[r->node_of[i]].on_device = node->flags & PLUMB_NODE_ON_DEVICE ||
                                               p->flags & PLUMB_PIPELINE_ON_DEVICE ||
                                               r->t->nodes[r->node_of[i]].use.launches;
        r->t->nodes[r->node_of[i]].synced =
            p->flags & PLUMB_PIPELINE_SYNC &&
            (node->flags & PLUMB_NODE_ON_DEVICE || p->flags & PLUMB_PIPELINE_ON_DEVICE);
    }
}

/* ---- Collectors ------------------------------------------------------------------------------ */

static void fill_lanes(struct plumb_ledger_reader *r, struct plumb_timing_collector *out,
                       uint32_t collector)
{
    const struct plumb_live_table *table = &r->m->view.h->lanes;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_lane));
    out->lanes = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *out->lanes);
    for (uint32_t i = 0; out->lanes && i < n; i++) {
        const struct plumb_live_lane *l = plumb_live_element(&r->m->view, table, i, sizeof *l);
        if (!l || l->collector != collector)
            continue;
        out->lanes[out->lane_count++] = (struct plumb_timing_lane){
            .name = plumb_live_text(&r->m->view, l->name_off),
            .device = l->device_off ? plumb_live_text(&r->m->view, l->device_off) : NULL,
            .events = l->emitted,
            .dropped = l->dropped,
            .refused_times = l->refused_times,
            .launches = l->launches,
            .busy_ns = l->busy_ns,
            .unknown_ns = l->unknown_ns,
            .launch_only = l->flags & PLUMB_LANE_LAUNCH_ONLY};
    }
}

static void fill_clocks(struct plumb_ledger_reader *r, struct plumb_timing_collector *out,
                        uint32_t collector)
{
    const struct plumb_live_table *table = &r->m->view.h->clocks;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_clock));
    out->clocks = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *out->clocks);
    for (uint32_t i = 0; out->clocks && i < n; i++) {
        const struct plumb_live_clock *c = plumb_live_element(&r->m->view, table, i, sizeof *c);
        if (!c || c->collector != collector)
            continue;
        out->clocks[out->clock_count++] = (struct plumb_timing_clock){
            .name = plumb_live_text(&r->m->view, c->name_off),
            .hz = c->hz,
            .drift_ppm = plumb_lane_clock_drift_ppm(c),
            .anchors = c->anchors,
            .jumps = c->jumps,
            .bound_ns = plumb_ticks_to_ns(plumb_lane_clock_width(c), r->tick_ns)};
    }
}

void plumb_collectors_read(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    const struct plumb_live_table *table = &r->m->view.h->collectors;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_collector));
    t->collectors = plumb_arena_alloc(&t->arena, (n + 1) * sizeof *t->collectors);
    for (uint32_t i = 0; t->collectors && i < n; i++) {
        const struct plumb_live_collector *c = plumb_live_element(&r->m->view, table, i, sizeof *c);
        struct plumb_timing_collector *out = &t->collectors[t->collector_count];
        if (!c)
            continue;
        t->collector_count++;
        out->name = plumb_live_text(&r->m->view, c->name_off);
        out->state = plumb_collector_state_name(c->state);
        out->why = c->why_off ? plumb_live_text(&r->m->view, c->why_off) : NULL;
        out->refused_late = c->refused_late;
        fill_lanes(r, out, c->index);
        fill_clocks(r, out, c->index);
    }
}

/* ---- Counters -------------------------------------------------------------------------------- */

static const char *kernel_of(struct plumb_ledger_reader *r, uint32_t name)
{
    const struct plumb_live_lane_name *n =
        plumb_live_element(&r->m->view, &r->m->view.h->lane_names, name, sizeof *n);
    const char *text = n && n->text_off ? plumb_live_text(&r->m->view, n->text_off) : NULL;
    return plumb_arena_strdup(&r->t->arena, text ? text : "(other)");
}

/* Returns the shown figures; NULL: none, or from before the last reset of the pipeline. */
static const struct plumb_live_perf_figures *counts_shown(struct plumb_ledger_reader *r,
                                                          const struct plumb_live_perf *e)
{
    const struct plumb_live_perf_figures *f = &e->copy[e->shown & 1];
    const struct plumb_live_pipeline *p = plumb_live_element(
        &r->m->view, &r->m->view.h->pipelines, plumb_key_group(e->key) >> 8 & 0xff, sizeof *p);
    return e->shown && p && f->reset_generation == p->reset_generation ? f : NULL;
}

static void fill_counts(struct plumb_timing_counted *out, const struct plumb_live_perf_figures *f)
{
    out->runs = f->runs;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        const struct plumb_live_perf_sum *s = &f->counter[i];
        out->counter[i] = (struct plumb_timing_counter){s->total, s->runs, s->scaled, s->enabled_ns,
                                                        s->running_ns};
    }
}

static void read_counters(struct plumb_ledger_reader *r)
{
    const struct plumb_live_perf_source *s = &r->m->view.h->perf;
    char why[160];
    r->t->perf.on = true;
    r->t->perf.threads_refused = s->threads_refused;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        uint32_t state = s->counter[i].state;
        r->t->perf.state[i] = state < PLUMB_COUNTER_STATES ? state : PLUMB_COUNTER_UNASKED;
        if (state != PLUMB_LIVE_PERF_ABSENT)
            continue;
        plumb_perf_why(why, sizeof why, i, s->counter[i].code, s->level);
        r->t->perf.why[i] = plumb_arena_strdup(&r->t->arena, why);
    }
}

void plumb_perf_rows_read(struct plumb_ledger_reader *r)
{
    const struct plumb_live_table *table = &r->m->view.h->perfs;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_perf));
    if (!r->m->view.h->perf.on)
        return;
    read_counters(r);
    r->t->perf.rows = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *r->t->perf.rows);
    for (uint32_t i = 0; r->t->perf.rows && i < n; i++) {
        const struct plumb_live_perf *e = plumb_live_element(&r->m->view, table, i, sizeof *e);
        const struct plumb_live_perf_figures *f = e ? counts_shown(r, e) : NULL;
        uint32_t node = f && e->staged ? plumb_ledger_node_of(r, e->key) : PLUMB_TIMING_NONE;
        struct plumb_timing_counted *out = &r->t->perf.rows[r->t->perf.row_count];
        if (!f || (node == PLUMB_TIMING_NONE && (!e->kernel || e->staged)))
            continue;
        out->node = node;
        out->kernel = e->kernel ? kernel_of(r, e->kernel) : NULL;
        fill_counts(out, f);
        r->t->perf.row_count++;
    }
}

void plumb_collectors_own(struct plumb_timing *t)
{
    struct plumb_arena *a = &t->arena;
    for (size_t i = 0; i < t->collector_count; i++) {
        struct plumb_timing_collector *c = &t->collectors[i];
        c->name = plumb_arena_strdup(a, c->name);
        c->why = plumb_arena_strdup(a, c->why);
        for (size_t k = 0; k < c->lane_count; k++) {
            c->lanes[k].name = plumb_arena_strdup(a, c->lanes[k].name);
            c->lanes[k].device = plumb_arena_strdup(a, c->lanes[k].device);
        }
        for (size_t k = 0; k < c->clock_count; k++)
            c->clocks[k].name = plumb_arena_strdup(a, c->clocks[k].name);
    }
}
