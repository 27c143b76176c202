#include "live/ledger_read.h"

#include <stdlib.h>
#include <string.h>

#include "live/clock.h"

/* ---- Looking things up ----------------------------------------------------------------------- */

static const void *element(struct plumb_ledger_reader *r, const struct plumb_live_table *t,
                           uint32_t i, size_t bytes)
{
    return plumb_live_element(&r->m->view, t, i, bytes);
}

uint32_t plumb_ledger_count(struct plumb_ledger_reader *r, const struct plumb_live_table *t,
                            size_t bytes)
{
    return t->count <= r->m->view.bytes / bytes ? t->count : 0;
}

uint32_t plumb_ledger_node_of(struct plumb_ledger_reader *r, uint64_t key)
{
    uint64_t row = plumb_map_get(&r->m->row_of, key + 1);
    return row ? r->node_of[row - 1] : PLUMB_TIMING_NONE;
}

static const char *name_of(struct plumb_ledger_reader *r, const struct plumb_live_table *table,
                           uint32_t i, size_t bytes)
{
    /* The three tables begin with their name. */
    const uint64_t *off = element(r, table, i, bytes);
    return plumb_live_text(&r->m->view, off ? *off : 0);
}

/* Since the run's start. */
static uint64_t at_ns(struct plumb_ledger_reader *r, uint64_t ticks)
{
    return plumb_live_at_ns(r->m->view.h, &r->end, r->tick_ns, ticks);
}

static uint64_t lasted_ns(struct plumb_ledger_reader *r, uint64_t begin, uint64_t end)
{
    return end > begin ? plumb_ticks_to_ns(end - begin, r->tick_ns) : 0;
}

static const struct plumb_live_pool *pool_at(struct plumb_ledger_reader *r, uint32_t i)
{
    const struct plumb_live_ledger *l = &r->m->view.h->ledger;
    return i < PLUMB_LIVE_POOLS && i < l->pools.count
               ? plumb_live_at(&r->m->view, l->pools.off[i], sizeof(struct plumb_live_pool))
               : NULL;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void memory_of(struct plumb_ledger_reader *r, struct plumb_timing_memory *out,
                      const struct plumb_live_memory_pair *pair)
{
    const struct plumb_live_memory *m = &pair->copy[pair->shown & 1];
    uint32_t n = m->use_count <= PLUMB_LIVE_USES ? m->use_count : 0;
    if (!pair->shown)
        return;
    out->samples = m->samples;
    out->rss = m->rss;
    out->peak_rss = m->peak_rss;
    out->growth = m->growth;
    out->peak_exact = m->peak_exact != 0;
    out->reset_peak = m->reset_peak != 0;
    out->uses = n ? plumb_arena_alloc(&r->t->arena, n * sizeof *out->uses) : NULL;
    for (uint32_t i = 0; out->uses && i < n; i++) {
        const struct plumb_live_use *u = &m->use[i];
        if (u->pool < r->t->memory.pool_count)
            out->uses[out->use_count++] = (struct plumb_timing_use){
                u->pool, u->allocated, u->reserved, u->peak_allocated, u->peak_reserved};
    }
}

/* Leaked blocks refer to owners by their index in the table of all pools; maps that to index + 1 in
 * the pool's own list. */
static uint32_t *owners_of(struct plumb_ledger_reader *r, struct plumb_timing_pool *out,
                           uint32_t pool, const struct plumb_live_pool *p)
{
    const struct plumb_live_header *h = r->m->view.h;
    uint32_t n = plumb_ledger_count(r, &h->owners, sizeof(struct plumb_live_owner));
    uint32_t *place = calloc(n + 1, sizeof *place);
    out->owners = plumb_arena_alloc(&r->t->arena, (n + 1) * sizeof *out->owners);
    for (uint32_t i = 0; place && out->owners && i < n; i++) {
        const struct plumb_live_owner *o = element(r, &h->owners, i, sizeof *o);
        uint32_t group = o ? plumb_key_group(o->key) : 0;
        struct plumb_timing_owner *to = &out->owners[out->owner_count];
        if (!o || o->pool != pool)
            continue;
        *to = (struct plumb_timing_owner){
            "", "", "", o->allocs, o->alloc_bytes, o->frees, o->free_bytes, 0};
        if (o->key != UINT64_MAX) {
            to->pipeline =
                name_of(r, &h->pipelines, group >> 8 & 0xff, sizeof(struct plumb_live_pipeline));
            to->phase = name_of(r, &h->phases, group & 0xff, sizeof(struct plumb_live_name));
            to->node =
                name_of(r, &h->nodes, plumb_key_node(o->key), sizeof(struct plumb_live_node));
        }
        if (!p->by_size)
            to->at_peak = o->at_peaks == p->peaks
                              ? o->at_peak
                              : plumb_not_negative((int64_t)(o->alloc_bytes - o->free_bytes));
        place[i] = (uint32_t)++out->owner_count;
    }
    return place;
}

static void fill_pool(struct plumb_ledger_reader *r, struct plumb_timing_pool *out, uint32_t i,
                      const struct plumb_live_pool *p)
{
    uint32_t *place = owners_of(r, out, i, p);
    uint32_t owners = r->m->view.h->owners.count;
    out->device = plumb_live_text(&r->m->view, p->device_off);
    out->pool = plumb_live_text(&r->m->view, p->pool_off);
    out->total = p->total;
    out->allocated = plumb_not_negative(p->allocated);
    out->reserved = plumb_not_negative(p->reserved);
    /* A kill may have come between the two. */
    out->peak_allocated =
        plumb_not_negative(p->peak_allocated > p->allocated ? p->peak_allocated : p->allocated);
    out->peak_reserved =
        plumb_not_negative(p->peak_reserved > p->reserved ? p->peak_reserved : p->reserved);
    out->peak_at_ns = p->peak_ticks ? at_ns(r, p->peak_ticks) : 0;
    out->allocated_at_reserved = plumb_not_negative(p->allocated_at_reserved);
    out->allocs = p->allocs;
    out->alloc_bytes = p->alloc_bytes;
    out->frees = p->frees;
    out->free_bytes = p->free_bytes;
    out->unknown_frees = p->unknown_frees;
    out->untracked = p->untracked;
    out->free_bytes_reserved = p->free_reserved;
    out->largest_free = p->largest_free;
    out->by_size = p->by_size != 0;
    out->held_before = plumb_not_negative(p->held_before);
    out->leaked_blocks = p->allocs > p->frees ? p->allocs - p->frees : 0;
    out->leaked_bytes = out->allocated > out->held_before ? out->allocated - out->held_before : 0;
    out->leaks = plumb_arena_alloc(&r->t->arena, PLUMB_LIVE_LEAKS * sizeof *out->leaks);
    for (uint32_t k = 0; out->leaks && place && k < p->leak_count && k < PLUMB_LIVE_LEAKS; k++) {
        uint32_t o = p->leak[k].owner;
        out->leaks[out->leak_count++] = (struct plumb_timing_block){
            o && o <= owners && place[o - 1] ? place[o - 1] - 1 : PLUMB_TIMING_NONE,
            p->leak[k].address, p->leak[k].bytes};
    }
    free(place);
}

static void fill_pools(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    t->memory.pools = plumb_arena_alloc(&t->arena, PLUMB_LIVE_POOLS * sizeof *t->memory.pools);
    for (uint32_t i = 0; t->memory.pools && i < PLUMB_LIVE_POOLS; i++) {
        const struct plumb_live_pool *p = pool_at(r, i);
        if (!p)
            return;
        fill_pool(r, &t->memory.pools[t->memory.pool_count++], i, p);
    }
}

static void fill_series(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    t->memory.series =
        plumb_arena_alloc(&t->arena, (PLUMB_LIVE_POOLS + 1) * sizeof *t->memory.series);
    for (int i = 0; t->memory.series && i <= PLUMB_LIVE_POOLS; i++) {
        const struct plumb_live_series *s =
            plumb_live_at(&r->m->view, r->m->view.h->ledger.series_off[i], sizeof *s);
        struct plumb_timing_series *out = &t->memory.series[t->memory.series_count];
        uint32_t n = s ? (uint32_t)s->shown : 0, half = s ? (uint32_t)(s->shown >> 32) & 1 : 0;
        if (!r->m->view.h->ledger.series_off[i] || !n || n > PLUMB_LIVE_POINTS ||
            (i && (size_t)i > t->memory.pool_count))
            continue;
        out->points = plumb_arena_alloc(&t->arena, n * sizeof *out->points);
        if (!out->points)
            return;
        out->pool = i ? (uint32_t)i - 1 : PLUMB_TIMING_NONE;
        out->point_count = n;
        for (uint32_t k = 0; k < n; k++)
            out->points[k] = (struct plumb_timing_point){at_ns(r, s->point[half][k].ticks),
                                                         s->point[half][k].a, s->point[half][k].b};
        t->memory.series_count++;
    }
}

/* ---- Requests and stages --------------------------------------------------------------------- */

static int by_serial(const void *a, const void *b)
{
    const struct plumb_live_request *x = *(const struct plumb_live_request *const *)a;
    const struct plumb_live_request *y = *(const struct plumb_live_request *const *)b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

static void fill_metadata(struct plumb_ledger_reader *r, struct plumb_timing_request *out,
                          const struct plumb_live_section *s)
{
    uint32_t n = s->metadata_bytes <= PLUMB_LIVE_METADATA ? s->metadata_bytes : 0;
    size_t cap = 0;
    for (uint32_t i = 0; i < n;) {
        const char *key = s->metadata + i, *value;
        size_t k = strnlen(key, n - i) + 1, v;
        struct plumb_timing_pair *grown;
        if (i + k >= n)
            return;
        value = key + k;
        v = strnlen(value, n - i - k) + 1;
        if (i + k + v > n || !(grown = plumb_arena_grow(&r->t->arena, out->metadata, &cap,
                                                        out->metadata_count + 1, sizeof *grown)))
            return;
        out->metadata = grown;
        out->metadata[out->metadata_count++] = (struct plumb_timing_pair){key, value};
        i += (uint32_t)(k + v);
    }
}

static void fill_section(struct plumb_ledger_reader *r, struct plumb_timing_request *out,
                         uint64_t serial)
{
    uint64_t off = r->m->view.h->ledger.section_off[(serial - 1) % PLUMB_LIVE_SECTIONS];
    const struct plumb_live_section *s = off ? plumb_live_at(&r->m->view, off, sizeof *s) : NULL;
    if (!s || s->request != serial || s->stages > PLUMB_LIVE_SECTION_STAGES)
        return;
    fill_metadata(r, out, s);
    out->stages = plumb_arena_alloc(&r->t->arena, (s->stages + 1) * sizeof *out->stages);
    for (uint32_t i = 0; out->stages && i < s->stages; i++) {
        const struct plumb_live_section_stage *from = &s->stage[i];
        struct plumb_timing_request_stage *to = &out->stages[out->stage_count];
        to->node = plumb_ledger_node_of(r, from->key);
        if (to->node == PLUMB_TIMING_NONE)
            continue;
        to->count = from->count;
        to->failures = from->failures;
        to->total_ns = plumb_ticks_to_ns(from->total, r->tick_ns);
        to->own_ns = plumb_ticks_to_ns(from->own, r->tick_ns);
        to->last_ns = plumb_ticks_to_ns(from->last, r->tick_ns);
        to->exclusive_ns = plumb_ticks_to_ns(from->exclusive, r->tick_ns);
        to->last_end_ns = at_ns(r, from->last_end);
        plumb_device_use_read(r, &to->use, &from->use);
        memory_of(r, &to->memory, &from->memory);
        out->stage_count++;
    }
}

static uint32_t node_before(struct plumb_ledger_reader *r, uint64_t key_and_one)
{
    return key_and_one ? plumb_ledger_node_of(r, key_and_one - 1) : PLUMB_TIMING_NONE;
}

/* Sets the longest gap: of those before stages, which are known, and the one after the last
 * stage. */
static void fill_gap(struct plumb_ledger_reader *r, struct plumb_timing_request *out,
                     const struct plumb_live_request *from, uint64_t end)
{
    uint64_t last = from->last_end_ticks ? from->last_end_ticks : from->begin_ticks;
    uint64_t rest = end > last ? end - last : 0;
    bool is_rest = rest > from->gap_ticks;
    out->gap.ns = plumb_ticks_to_ns(is_rest ? rest : from->gap_ticks, r->tick_ns);
    out->gap.after = node_before(r, is_rest ? from->last_key : from->gap_after);
    out->gap.before = is_rest ? PLUMB_TIMING_NONE : node_before(r, from->gap_before);
}

/* Returns when a request ended, 0: it is open. */
static uint64_t end_of(const struct plumb_ledger_reader *r, const struct plumb_live_request *q)
{
    uint64_t whole = r->m->view.whole_ticks;
    return whole && q->end_ticks > whole ? 0 : q->end_ticks;
}

static void fill_request(struct plumb_ledger_reader *r, struct plumb_timing_request *out,
                         const struct plumb_live_request *from)
{
    struct plumb_arena *a = &r->t->arena;
    uint64_t ended = end_of(r, from), end = ended ? ended : r->end.ticks;
    out->id = plumb_arena_strndup(a, from->id, strnlen(from->id, sizeof from->id));
    out->state = !ended         ? PLUMB_TIMING_REQUEST_OPEN
                 : from->failed ? PLUMB_TIMING_REQUEST_FAILED
                                : PLUMB_TIMING_REQUEST_ENDED;
    if (ended && from->failed && from->why[0])
        out->why = plumb_arena_strndup(a, from->why, strnlen(from->why, sizeof from->why));
    out->tid = from->tid;
    out->number = from->serial;
    out->begin_ns = at_ns(r, from->begin_ticks);
    out->begin_unix_ns = from->begin_unix_ns;
    if (from->traceparent[0])
        out->traceparent = plumb_arena_strndup(
            a, from->traceparent, strnlen(from->traceparent, sizeof from->traceparent));
    out->wall_ns = lasted_ns(r, from->begin_ticks, end);
    out->records = from->records;
    out->stages_ns = plumb_ticks_to_ns(from->stages_ticks, r->tick_ns);
    out->exclusive_ns = plumb_ticks_to_ns(from->exclusive_ticks, r->tick_ns);
    fill_gap(r, out, from, end);
    memory_of(r, &out->memory, &from->memory);
    fill_section(r, out, from->serial);
}

static void fill_requests(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    const struct plumb_live_table *table = &r->m->view.h->requests;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_request)), found = 0;
    const struct plumb_live_request **list = calloc(n + 1, sizeof *list);
    for (uint32_t i = 0; list && i < n; i++) {
        const struct plumb_live_request *q = element(r, table, i, sizeof *q);
        if (q && q->serial)
            list[found++] = q;
    }
    t->requests = plumb_arena_alloc(&t->arena, (found + 1) * sizeof *t->requests);
    if (list)
        qsort(list, found, sizeof *list, by_serial);
    r->serials = plumb_arena_alloc(&t->arena, (found + 1) * sizeof *r->serials);
    for (uint32_t i = 0; list && t->requests && r->serials && i < found; i++) {
        r->serials[t->request_count] = list[i]->serial;
        fill_request(r, &t->requests[t->request_count++], list[i]);
    }
    t->requests_lost =
        r->m->view.h->ledger.requests > found ? r->m->view.h->ledger.requests - found : 0;
    free(list);
}

uint32_t plumb_ledger_request_index(struct plumb_ledger_reader *r, uint64_t serial)
{
    size_t low = 0, high = r->t->request_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->serials[middle] < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->t->request_count && r->serials[low] == serial ? (uint32_t)low
                                                                  : PLUMB_TIMING_NONE;
}

static int by_run_serial(const void *a, const void *b)
{
    const struct plumb_live_stage_run *x = *(const struct plumb_live_stage_run *const *)a;
    const struct plumb_live_stage_run *y = *(const struct plumb_live_stage_run *const *)b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

static void fill_stage_runs(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    const struct plumb_live_table *table = &r->m->view.h->stage_runs;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_stage_run)), found = 0;
    const struct plumb_live_stage_run **list = calloc(n + 1, sizeof *list);
    for (uint32_t i = 0; list && i < n; i++) {
        const struct plumb_live_stage_run *s = element(r, table, i, sizeof *s);
        if (s && s->serial && plumb_ledger_node_of(r, s->key) != PLUMB_TIMING_NONE)
            list[found++] = s;
    }
    t->stage_runs = plumb_arena_alloc(&t->arena, (found + 1) * sizeof *t->stage_runs);
    if (list)
        qsort(list, found, sizeof *list, by_run_serial);
    for (uint32_t i = 0; list && t->stage_runs && i < found; i++) {
        const struct plumb_live_stage_run *s = list[i];
        t->stage_runs[t->stage_run_count++] = (struct plumb_timing_stage_run){
            .node = plumb_ledger_node_of(r, s->key),
            .tid = s->tid,
            .depth = s->depth,
            .request = plumb_ledger_request_index(r, s->request),
            .begin_ns = at_ns(r, s->begin_ticks),
            .duration_ns = lasted_ns(r, s->begin_ticks, s->end_ticks),
            .failed = s->failed != 0,
            .rss = s->rss,
            .peak_rss = s->peak_rss,
            .number = s->serial,
            .within = node_before(r, s->within),
            .why = s->why_off ? plumb_live_text(&r->m->view, s->why_off) : NULL};
    }
    t->stage_runs_lost =
        r->m->view.h->ledger.stage_runs > found ? r->m->view.h->ledger.stage_runs - found : 0;
    free(list);
}

static int by_recording(const void *a, const void *b)
{
    const struct plumb_live_checkpoint *x = *(const struct plumb_live_checkpoint *const *)a;
    const struct plumb_live_checkpoint *y = *(const struct plumb_live_checkpoint *const *)b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

static void fill_checkpoints(struct plumb_ledger_reader *r)
{
    struct plumb_timing *t = r->t;
    const struct plumb_live_table *table = &r->m->view.h->checkpoints;
    uint32_t n = plumb_ledger_count(r, table, sizeof(struct plumb_live_checkpoint)), found = 0;
    const struct plumb_live_checkpoint **list = calloc(n + 1, sizeof *list);
    for (uint32_t i = 0; list && i < n; i++) {
        const struct plumb_live_checkpoint *c = element(r, table, i, sizeof *c);
        if (c && c->serial && c->memory.shown)
            list[found++] = c;
    }
    t->memory.checkpoints =
        plumb_arena_alloc(&t->arena, (found + 1) * sizeof *t->memory.checkpoints);
    if (list)
        qsort(list, found, sizeof *list, by_recording);
    for (uint32_t i = 0; list && t->memory.checkpoints && i < found; i++) {
        struct plumb_timing_checkpoint *out = &t->memory.checkpoints[t->memory.checkpoint_count++];
        out->name = plumb_live_text(&r->m->view, list[i]->name_off);
        out->at_ns = at_ns(r, list[i]->at_ticks);
        out->request = plumb_ledger_request_index(r, list[i]->request);
        out->baseline = list[i]->baseline != 0;
        memory_of(r, &out->memory, &list[i]->memory);
    }
    free(list);
}

/* Fills the data of nodes other than their times. */
static void fill_nodes(struct plumb_ledger_reader *r)
{
    const struct plumb_live_header *h = r->m->view.h;
    uint32_t n = plumb_ledger_count(r, &h->stages, sizeof(struct plumb_live_stage));
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_stage *s = element(r, &h->stages, i, sizeof *s);
        uint32_t at = s ? plumb_ledger_node_of(r, s->key) : PLUMB_TIMING_NONE;
        const struct plumb_live_pipeline *p;
        if (at == PLUMB_TIMING_NONE)
            continue;
        p = element(r, &h->pipelines, plumb_key_group(s->key) >> 8 & 0xff, sizeof *p);
        /* Data from before the pipeline's last reset is left out. */
        if (p && s->memory.copy[s->memory.shown & 1].reset_generation == p->reset_generation)
            memory_of(r, &r->t->nodes[at].memory, &s->memory);
        if (s->metric_off)
            r->t->nodes[at].metric = plumb_live_text(&r->m->view, s->metric_off);
    }
}

void plumb_ledger_read(struct plumb_ledger_reader *r)
{
    const struct plumb_live_ledger *l = &r->m->view.h->ledger;
    r->t->memory.rss = l->rss;
    r->t->memory.peak_rss = l->peak_rss;
    r->t->memory.total = l->total;
    fill_pools(r);
    fill_series(r);
    fill_nodes(r);
    plumb_devices_read(r);
    plumb_collectors_read(r);
    plumb_perf_rows_read(r);
    fill_requests(r);
    fill_stage_runs(r);
    fill_checkpoints(r);
    plumb_streams_read(r);
    plumb_counts_read(r);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void own(struct plumb_arena *a, const char **text)
{
    *text = plumb_arena_strdup(a, *text);
}

void plumb_ledger_own(struct plumb_timing *t)
{
    struct plumb_arena *a = &t->arena;
    for (size_t i = 0; i < t->memory.pool_count; i++) {
        struct plumb_timing_pool *p = &t->memory.pools[i];
        own(a, &p->device);
        own(a, &p->pool);
        for (size_t k = 0; k < p->owner_count; k++) {
            own(a, &p->owners[k].pipeline);
            own(a, &p->owners[k].phase);
            own(a, &p->owners[k].node);
        }
    }
    for (size_t i = 0; i < t->memory.checkpoint_count; i++)
        own(a, &t->memory.checkpoints[i].name);
    for (size_t i = 0; i < t->node_count; i++)
        own(a, &t->nodes[i].metric);
    for (size_t i = 0; i < t->stage_run_count; i++)
        own(a, &t->stage_runs[i].why);
    plumb_collectors_own(t);
    plumb_streams_own(t);
    plumb_counts_own(t);
    for (size_t i = 0; i < t->request_count; i++) {
        for (size_t k = 0; k < t->requests[i].metadata_count; k++) {
            own(a, &t->requests[i].metadata[k].key);
            own(a, &t->requests[i].metadata[k].value);
        }
    }
}
