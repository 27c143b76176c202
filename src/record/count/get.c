/* get.c: the counts that a program asks for while it runs. A reader changes nothing but the levels
 * of its own thread, and takes a lock only for sums that allocators have not passed on. */
#include <string.h>

#include "base/process/perf.h"
#include "model/count_kind.h"
#include "record/count/tally.h"
#include "record/runtime/carve.h"
#include "record/runtime/count.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/run_wanted.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

void plumb_count_add_impl(uint32_t kind, const char *name, int64_t n)
{
    struct plumb_in in;
    struct plumb_count_event e;
    if (kind != PLUMB_COUNT_DISPATCHES || !name || !plumb_enter(&in, false))
        return;
    plumb_count_here(&e, in.th, kind, name, n);
    plumb_count_raise(in, &e);
    plumb_leave(in);
}

/* ---- Entering -------------------------------------------------------------------------------- */

struct reader {
    struct plumb_in in;
    bool interrupts; /* it is in a handler that interrupted the runtime, which keeps the run open */
};

static bool is_interrupting(const struct plumb_thread *th)
{
    return th && PLUMB_LOAD(th->busy) == PLUMB_BUSY_RECORDING && plumb_is_attached(th);
}

static bool enter(struct reader *r)
{
    r->interrupts = is_interrupting(plumb_tls);
    if (!r->interrupts)
        return plumb_enter(&r->in, true);
    r->in.th = plumb_tls;
    r->in.run = plumb_run_inside(plumb_tls);
    return r->in.run != NULL;
}

static void leave(const struct reader *r)
{
    if (!r->interrupts)
        plumb_leave(r->in);
}

/* ---- Run and node ---------------------------------------------------------------------------- */

/* The cells that a question is about. */
struct wanted {
    bool run;         /* of all nodes */
    uint32_t node;    /* otherwise */
    int64_t step;     /* -1: of all, and of none */
    uint32_t phase;   /* ANY_PHASE: of all */
    const char *name; /* NULL: all */
};
enum { ANY_PHASE = UINT32_MAX, NO_PHASE = UINT32_MAX - 1 };

/* Does not make the phase: the program may ask for one that it never uses. */
static uint32_t phase_of(const char *name)
{
    const struct plumb_name_table *t = &plumb_rt.phases;
    uint32_t n = PLUMB_ACQUIRE(t->count), i = 0;
    if (!name || !*name)
        name = "inference";
    while (i < n && strcmp(t->name[i], name) != 0)
        i++;
    return i < n ? i : NO_PHASE;
}

static struct wanted wanted_of(const plumb_count_scope *scope, const char *name)
{
    bool step = scope->of & PLUMB_COUNT_IN_STEP;
    return (struct wanted){.run = (scope->of & 0xff) == PLUMB_COUNT_OF_RUN,
                           .node = scope->node,
                           .step = step ? (int64_t)(scope->step & INT64_MAX) : -1,
                           .phase = scope->of & PLUMB_COUNT_IN_PHASE ? phase_of(scope->phase)
                                                                     : (uint32_t)ANY_PHASE,
                           .name = name};
}

static bool is_in_phase(const struct wanted *w, uint32_t phase)
{
    return w->phase == ANY_PHASE || w->phase == phase;
}

static bool is_of_node(const struct wanted *w, uint32_t node)
{
    return w->run || w->node == node;
}

static bool is_name(struct plumb_run *run, uint64_t name_off, const char *name)
{
    return !name ||
           strcmp(PLUMB_AT(run, const char, name_off + sizeof(struct plumb_live_text)), name) == 0;
}

static bool is_wanted(struct plumb_run *run, const struct plumb_live_cell *c,
                      const struct wanted *w)
{
    return is_of_node(w, c->node) && (w->step < 0 || w->step == c->step) &&
           is_in_phase(w, c->group & 0xff) && is_name(run, c->name_off, w->name);
}

/* Returns whether figures of a stage are those since the last reset of their pipeline. */
static bool is_of_now(struct plumb_run *run, uint32_t group, uint32_t generation)
{
    return PLUMB_LOAD(plumb_pipeline_of_group(run, group)->reset_generation) == generation;
}

/* The number of a pair of kinds is in the calls of its cells. */
static int64_t sum_cells(struct plumb_run *run, const struct wanted *w, uint32_t kind)
{
    uint32_t n = PLUMB_ACQUIRE(run->h->cells.count), of = kind;
    bool calls = kind == PLUMB_COUNT_COPIES || kind == PLUMB_COUNT_ALLOCATIONS;
    uint64_t sum = 0;
    if (kind == PLUMB_COUNT_COPY_BYTES || kind == PLUMB_COUNT_ALLOCATED_BYTES)
        of = kind - 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_cell *c = plumb_table_at(run, &run->h->cells, i);
        if (c->kind != of || !is_wanted(run, c, w) ||
            (plumb_count_is_of_stage(kind) && !is_of_now(run, c->group, c->reset_generation)))
            continue;
        sum += calls ? PLUMB_LOAD(c->calls) : (uint64_t)PLUMB_LOAD(c->value);
    }
    return (int64_t)sum;
}

/* User counts of nodes have a table of their own, without steps; those outside nodes are there,
 * without a node and in the first phase, or in a cell. */
static int64_t sum_user(struct plumb_run *run, const struct wanted *w)
{
    uint32_t counts = w->step < 0 ? PLUMB_ACQUIRE(run->h->counts.count) : 0;
    uint32_t cells = PLUMB_ACQUIRE(run->h->cells.count);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts; i++) {
        const struct plumb_live_count *c = plumb_table_at(run, &run->h->counts, i);
        if (is_of_node(w, c->within & 0xffffff) && is_in_phase(w, c->within >> 24) &&
            is_name(run, c->name_off, w->name))
            sum += (uint64_t)PLUMB_LOAD(c->total);
    }
    for (uint32_t i = 0; i < cells; i++) {
        const struct plumb_live_cell *c = plumb_table_at(run, &run->h->cells, i);
        if (c->kind == PLUMB_COUNT_USER && (!c->node || w->step >= 0) && is_wanted(run, c, w))
            sum += (uint64_t)PLUMB_LOAD(c->value);
    }
    return (int64_t)sum;
}

int64_t plumb_count_user_sum(struct plumb_run *run, uint32_t pipeline, const char *name)
{
    uint32_t counts = PLUMB_ACQUIRE(run->h->counts.count);
    uint32_t cells = PLUMB_ACQUIRE(run->h->cells.count);
    bool all = pipeline == UINT32_MAX;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts; i++) {
        const struct plumb_live_count *c = plumb_table_at(run, &run->h->counts, i);
        if ((all || c->pipeline == pipeline) && is_name(run, c->name_off, name))
            sum += (uint64_t)PLUMB_LOAD(c->total);
    }
    for (uint32_t i = 0; i < cells; i++) {
        const struct plumb_live_cell *c = plumb_table_at(run, &run->h->cells, i);
        if (c->kind == PLUMB_COUNT_USER && !c->node && (all || c->group >> 8 == pipeline) &&
            is_name(run, c->name_off, name))
            sum += (uint64_t)PLUMB_LOAD(c->value);
    }
    return (int64_t)sum;
}

static bool is_pool(struct plumb_run *run, uint32_t i, const char *name)
{
    const struct plumb_live_pool *p =
        PLUMB_AT(run, struct plumb_live_pool, run->h->ledger.pools.off[i]);
    const char *device = PLUMB_AT(run, const char, p->device_off + sizeof(struct plumb_live_text));
    size_t n = strlen(device);
    if (!name)
        return true;
    if (strncmp(name, device, n) != 0)
        return false;
    return name[n] == '/' ? is_name(run, p->pool_off, name + n + 1)
                          : name[n] == '\0' && is_name(run, p->pool_off, "");
}

static int64_t sum_peaks(struct plumb_run *run, const char *name)
{
    uint32_t n = PLUMB_ACQUIRE(run->h->ledger.pools.count);
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_pool(run, i, name))
            sum += PLUMB_LOAD(
                PLUMB_AT(run, struct plumb_live_pool, run->h->ledger.pools.off[i])->peak_allocated);
    return sum;
}

/* Copies what a pair shows, without the ledger's lock. The copy that is shown stays until the
 * second change from now. Returns `shown`; 0: neither is whole yet. */
static PLUMB_RACY uint32_t copy_shown(void *out, const void *pair, size_t bytes,
                                      const uint32_t *shown)
{
    typedef uint64_t __attribute__((may_alias)) word;
    word *to = out;
    uint32_t now;
    do {
        const word *from;
        now = PLUMB_ACQUIRE(*shown);
        from = (const word *)pair + (now & 1) * (bytes / sizeof *from);
        for (size_t i = 0; i < bytes / sizeof *from; i++)
            to[i] = PLUMB_LOAD(from[i]);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (PLUMB_LOAD(*shown) != now);
    return now;
}

static int64_t peak_of_uses(struct plumb_run *run, const struct plumb_live_memory *m,
                            const char *name)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < m->use_count && i < PLUMB_LIVE_USES; i++)
        if (m->use[i].pool < PLUMB_ACQUIRE(run->h->ledger.pools.count) &&
            is_pool(run, m->use[i].pool, name))
            sum += (int64_t)m->use[i].peak_allocated;
    return sum;
}

static int64_t peak_of_stage(struct plumb_run *run, const struct wanted *w)
{
    uint32_t n = PLUMB_ACQUIRE(run->h->stages.count);
    struct plumb_live_memory m;
    int64_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_live_stage *s = plumb_table_at(run, &run->h->stages, i);
        uint32_t group = plumb_key_group(s->key);
        int64_t peak;
        if (plumb_key_node(s->key) != w->node || !is_in_phase(w, group & 0xff))
            continue;
        copy_shown(&m, s->memory.copy, sizeof m, &s->memory.shown);
        peak = is_of_now(run, group, m.reset_generation) ? peak_of_uses(run, &m, w->name) : 0;
        most = peak > most ? peak : most;
    }
    return most;
}

/* The sum of the pools' highest: one runs over each pool's cells. */
static int64_t peak_in_step(struct plumb_run *run, const struct wanted *w)
{
    uint32_t cells = PLUMB_ACQUIRE(run->h->cells.count);
    int64_t sum = 0;
    for (uint32_t i = 0; i < cells; i++) {
        const struct plumb_live_cell *c = plumb_table_at(run, &run->h->cells, i);
        bool highest = c->kind == PLUMB_COUNT_PEAK_BYTES && is_wanted(run, c, w) &&
                       is_of_now(run, c->group, c->reset_generation);
        for (uint32_t k = 0; highest && k < cells; k++) {
            const struct plumb_live_cell *other = plumb_table_at(run, &run->h->cells, k);
            int64_t more = PLUMB_LOAD(other->value) - PLUMB_LOAD(c->value);
            if (k != i && other->kind == c->kind && other->name_off == c->name_off &&
                is_wanted(run, other, w) && is_of_now(run, other->group, other->reset_generation))
                highest = more < 0 || (more == 0 && k > i);
        }
        sum += highest ? PLUMB_LOAD(c->value) : 0;
    }
    return sum;
}

static int64_t peak_of(struct plumb_run *run, const struct wanted *w)
{
    bool whole = w->step < 0 && w->phase == ANY_PHASE;
    if (w->run)
        return whole ? sum_peaks(run, w->name) : PLUMB_COUNT_UNKNOWN;
    return w->step < 0 ? peak_of_stage(run, w) : peak_in_step(run, w);
}

/* Returns whether every run had the counter, and it is a count: one that took turns is an estimate,
 * and a simulated one is made up. */
static bool is_exact(struct plumb_run *run, const struct plumb_live_perf_figures *f, uint32_t id)
{
    return f->runs > 0 && f->counter[id].runs == f->runs && !f->counter[id].scaled &&
           run->h->perf.counter[id].state == PLUMB_LIVE_PERF_THERE;
}

/* Counters of the runs of a stage in the phases that are wanted, as the collector `perf` reads
 * them. */
static int64_t sum_counters(struct plumb_run *run, const struct wanted *w, uint32_t first,
                            uint32_t last)
{
    uint32_t count = PLUMB_ACQUIRE(run->h->perfs.count);
    struct plumb_live_perf_figures f;
    int64_t sum = PLUMB_COUNT_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
        const struct plumb_live_perf *p = plumb_table_at(run, &run->h->perfs, i);
        uint32_t group = plumb_key_group(p->key);
        if (p->kernel || !p->staged || plumb_key_node(p->key) != w->node ||
            !is_in_phase(w, group & 0xff) || !copy_shown(&f, p->copy, sizeof f, &p->shown) ||
            !is_of_now(run, group, f.reset_generation))
            continue;
        for (uint32_t id = first; id <= last; id++) {
            if (!is_exact(run, &f, id))
                return PLUMB_COUNT_UNKNOWN;
            sum = (sum == PLUMB_COUNT_UNKNOWN ? 0 : sum) + (int64_t)f.counter[id].total;
        }
    }
    return sum;
}

/* Those of a step are exact if those of the whole run are. */
static int64_t counters_of(struct plumb_run *run, const struct wanted *w, uint32_t kind)
{
    bool faults = kind == PLUMB_COUNT_PAGE_FAULTS;
    int64_t whole;
    if (w->run || (w->name && *w->name))
        return PLUMB_COUNT_UNKNOWN;
    whole = sum_counters(run, w, faults ? PLUMB_PERF_MINOR_FAULTS : PLUMB_PERF_INSTRUCTIONS,
                         faults ? PLUMB_PERF_MAJOR_FAULTS : PLUMB_PERF_INSTRUCTIONS);
    return w->step < 0 || whole == PLUMB_COUNT_UNKNOWN ? whole : sum_cells(run, w, kind);
}

/* ---- Span ------------------------------------------------------------------------------------ */

static int64_t since(const struct plumb_tally_sums *now, const struct plumb_tally_sums *before,
                     uint32_t kind, const char *name)
{
    int i = name ? plumb_tally_find(kind, name) : -1;
    if (!name)
        return (int64_t)(PLUMB_LOAD(now->kind[kind]) - before->kind[kind]);
    return i < 0 ? PLUMB_COUNT_UNKNOWN : (int64_t)(PLUMB_LOAD(now->name[i]) - before->name[i]);
}

/* A name that has no place yet has counted nothing, unless all places were taken. */
static int64_t named_since(const struct plumb_tally_sums *now,
                           const struct plumb_tally_sums *before, uint32_t kind, const char *name)
{
    int64_t v = since(now, before, kind, name);
    bool may_come = (kind == PLUMB_COUNT_DISPATCHES || kind == PLUMB_COUNT_USER) &&
                    plumb_tally_names() < PLUMB_COUNTED_NAMES;
    return v == PLUMB_COUNT_UNKNOWN && name && may_come ? 0 : v;
}

static int64_t of_span(struct plumb_thread *th, uint32_t kind, const char *name)
{
    uint32_t depth = plumb_depth(th);
    plumb_tally_settle(th);
    if (!th->tally || !depth)
        return PLUMB_COUNT_UNKNOWN;
    depth = depth < PLUMB_TALLY_LEVELS ? depth : PLUMB_TALLY_LEVELS;
    return named_since(&th->tally->now, &th->tally->level[depth].before, kind, name);
}

/* Other kinds are not known to the thread that they belong to. */
static bool is_tallied(uint32_t kind)
{
    return kind <= PLUMB_COUNT_ALLOCATED_BYTES || kind == PLUMB_COUNT_USER;
}

/* ---- The function ---------------------------------------------------------------------------- */

static int64_t get(const struct reader *r, const plumb_count_scope *scope, uint32_t kind,
                   const char *name)
{
    struct wanted w = wanted_of(scope, name);
    if (scope->of == PLUMB_COUNT_OF_SPAN)
        return r->interrupts || !is_tallied(kind) ? PLUMB_COUNT_UNKNOWN
                                                  : of_span(r->in.th, kind, name);
    if (kind == PLUMB_COUNT_PAGE_FAULTS || kind == PLUMB_COUNT_INSTRUCTIONS)
        return counters_of(r->in.run, &w, kind);
    if (kind == PLUMB_COUNT_USER)
        return sum_user(r->in.run, &w);
    if (kind == PLUMB_COUNT_PEAK_BYTES)
        return peak_of(r->in.run, &w);
    return sum_cells(r->in.run, &w, kind);
}

/* Parts are of the run or a node. */
static bool is_scope(const plumb_count_scope *scope)
{
    const uint32_t parts = PLUMB_COUNT_IN_STEP | PLUMB_COUNT_IN_PHASE;
    return (scope->of & ~parts) <= PLUMB_COUNT_OF_NODE || scope->of == PLUMB_COUNT_OF_SPAN;
}

static bool is_of_allocator(uint32_t kind)
{
    return kind >= PLUMB_COUNT_ALLOCATIONS && kind <= PLUMB_COUNT_PEAK_BYTES;
}

int64_t plumb_count_get_impl(const plumb_count_scope *scope, uint32_t kind, const char *name)
{
    struct reader r;
    int64_t value;
    if (!kind || kind >= PLUMB_COUNT_KINDS || !is_scope(scope))
        return PLUMB_COUNT_UNKNOWN;
    /* Before this thread is inside, where the helper might wait for it. */
    if (kind == PLUMB_COUNT_CALLS && (is_interrupting(plumb_tls) || !plumb_periodic_pass_on_now()))
        return PLUMB_COUNT_UNKNOWN;
    if (!enter(&r))
        return PLUMB_COUNT_UNKNOWN;
    if (is_of_allocator(kind) && !r.interrupts)
        plumb_sized_pass_on(r.in);
    value = get(&r, scope, kind, name);
    leave(&r);
    return value;
}

/* ---- Counts since a moment ------------------------------------------------------------------- */

_Static_assert(PLUMB_COUNT_KINDS <= sizeof((plumb_counted *)0)->kind / sizeof(uint64_t),
               "a plumb_counted has no place for a kind");

static void add_tally(struct plumb_tally_sums *to, const struct plumb_thread *th)
{
    const struct plumb_tally *t = PLUMB_ACQUIRE(th->tally);
    uint32_t n = plumb_tally_names();
    for (uint32_t i = 0; t && i < PLUMB_COUNT_KINDS; i++)
        to->kind[i] += PLUMB_LOAD(t->now.kind[i]);
    for (uint32_t i = 0; t && i < n; i++)
        to->name[i] += PLUMB_LOAD(t->now.name[i]);
}

/* Inside enter. Records of threads stay until the process ends. */
static void sums_of(struct plumb_tally_sums *out, const struct reader *r, uint32_t of)
{
    memset(out, 0, sizeof *out);
    if (!r->interrupts)
        plumb_sized_pass_on(r->in);
    if (of == PLUMB_COUNTED_THREAD) {
        add_tally(out, r->in.th);
        return;
    }
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        add_tally(out, th);
}

void plumb_counted_begin_impl(plumb_counted *out)
{
    struct plumb_tally_sums now;
    struct reader r;
    if (out->size < sizeof *out || out->of > PLUMB_COUNTED_THREAD || !enter(&r))
        return;
    sums_of(&now, &r, out->of);
    memcpy(out->kind, now.kind, sizeof now.kind);
    memcpy(out->name, now.name, sizeof now.name);
    out->run = r.in.run->generation;
    out->thread = r.in.th->tid;
    leave(&r);
}

int64_t plumb_counted_get_impl(const plumb_counted *from, uint32_t kind, const char *name)
{
    struct plumb_tally_sums now, before = {{0}, {0}};
    int64_t value = PLUMB_COUNT_UNKNOWN;
    struct reader r;
    if (from->size < sizeof *from || !kind || kind >= PLUMB_COUNT_KINDS || !is_tallied(kind) ||
        !enter(&r))
        return value;
    if (from->run == r.in.run->generation &&
        (from->of == PLUMB_COUNTED_PROCESS || from->thread == r.in.th->tid)) {
        sums_of(&now, &r, from->of);
        memcpy(before.kind, from->kind, sizeof before.kind);
        memcpy(before.name, from->name, sizeof before.name);
        value = named_since(&now, &before, kind, name);
    }
    leave(&r);
    return value;
}
