/* ledger.c: the ledger of stages and memory: its lock, and the entries of keys and of stage
 * runs. */
#include "record/stage/ledger.h"

#include <string.h>

#include "base/log.h"
#include "base/process/resident.h"
#include "live/replay.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

bool plumb_ledger_enter(struct plumb_in *in, bool even_if_off)
{
    if (!plumb_enter(in, even_if_off))
        return false;
    plumb_ledger_lock();
    return true;
}

void plumb_ledger_leave(struct plumb_in in)
{
    plumb_ledger_unlock();
    plumb_leave(in);
}

void plumb_ledger_open(struct plumb_run *run)
{
    struct plumb_live_ledger *l = &run->h->ledger;
    l->total = plumb_resident_total();
    l->peak_exact = plumb_rt.settings.memory_peak == PLUMB_MEMORY_PEAK_EXACT;
    plumb_scopes_open();
    plumb_pools_open(run);
    if (plumb_rt.settings.memory == PLUMB_MEMORY_OFF)
        return;
    /* Threads that the helper does not answer in time have this reading. */
    plumb_rss_take();
    l->rss = l->peak_rss = plumb_resident_now();
    run->high_at_start = plumb_resident_peak();
    run->sample_pause_ns = plumb_rt.settings.memory_interval_ms * 1000000;
}

void plumb_ledger_close(struct plumb_run *run)
{
    struct plumb_live_ledger *l = &run->h->ledger;
    uint64_t high;
    plumb_pools_close(run);
    if (plumb_rt.settings.memory == PLUMB_MEMORY_OFF)
        return;
    high = plumb_resident_peak();
    l->rss = plumb_resident_now();
    /* The kernel's peak is that of the process; it is this run's if it rose during the run. */
    if (high > l->peak_rss && high > run->high_at_start)
        l->peak_rss = high;
    if (l->rss > l->peak_rss)
        l->peak_rss = l->rss;
}

struct plumb_live_stage *plumb_ledger_stage(struct plumb_run *run, uint64_t key)
{
    uint64_t known = plumb_map_get(&run->stages, key + 1);
    struct plumb_live_stage *s;
    if (known)
        return plumb_table_at(run, &run->h->stages, (uint32_t)known - 1);
    plumb_lock();
    s = plumb_table_add(run, &run->h->stages);
    if (s && plumb_map_put(&run->stages, key + 1, run->h->stages.count + 1) == PLUMB_OK) {
        s->key = key;
        plumb_table_commit(&run->h->stages);
    } else {
        s = NULL;
    }
    plumb_unlock();
    return s;
}

void plumb_ledger_show(struct plumb_live_memory_pair *pair, const struct plumb_live_memory *m)
{
    pair->copy[(pair->shown + 1) & 1] = *m;
    PLUMB_RELEASE(pair->shown, pair->shown + 1);
}

static void add_use(struct plumb_live_memory *to, const struct plumb_live_use *from)
{
    for (uint32_t i = 0; i < to->use_count; i++) {
        struct plumb_live_use *u = &to->use[i];
        if (u->pool != from->pool)
            continue;
        u->allocated = from->allocated;
        u->reserved = from->reserved;
        if (from->peak_allocated > u->peak_allocated)
            u->peak_allocated = from->peak_allocated;
        if (from->peak_reserved > u->peak_reserved)
            u->peak_reserved = from->peak_reserved;
        return;
    }
    if (to->use_count < PLUMB_LIVE_USES)
        to->use[to->use_count++] = *from;
}

void plumb_ledger_add(struct plumb_live_memory_pair *pair, const struct plumb_live_memory *run,
                      uint32_t reset_generation)
{
    struct plumb_live_memory sum = pair->copy[pair->shown & 1];
    if (pair->shown == 0 || sum.reset_generation != reset_generation)
        memset(&sum, 0, sizeof sum);
    sum.reset_generation = reset_generation;
    if (run->samples) {
        sum.samples += run->samples;
        sum.rss = run->rss;
        if (run->peak_rss > sum.peak_rss)
            sum.peak_rss = run->peak_rss;
        sum.growth += run->growth;
        sum.peak_exact = run->peak_exact;
    }
    sum.reset_peak = run->reset_peak;
    for (uint32_t i = 0; i < run->use_count; i++)
        add_use(&sum, &run->use[i]);
    plumb_ledger_show(pair, &sum);
}

static uint64_t why_of(struct plumb_run *run, const char *why)
{
    uint64_t off;
    plumb_lock();
    off = plumb_text_why(run, why);
    plumb_unlock();
    return off;
}

/* The newest runs, in a table that grows up to its bound and then begins again. */
static void enter_run(struct plumb_run *run, const struct plumb_stage_entry *e)
{
    struct plumb_live_table *t = &run->h->stage_runs;
    uint64_t serial = run->h->ledger.stage_runs + 1;
    uint32_t at = (uint32_t)((serial - 1) % PLUMB_LIVE_STAGE_RUNS);
    struct plumb_live_stage_run *r = NULL;
    uint64_t why_off = e->failed && e->why ? why_of(run, e->why) : 0;
    bool fresh = at >= t->count;
    if (fresh && plumb_table_has_space(t)) {
        r = plumb_table_add(run, t); /* which then needs only the ledger's lock */
    } else if (fresh) {
        plumb_lock();
        r = plumb_table_add(run, t);
        plumb_unlock();
    } else {
        r = plumb_table_at(run, t, at);
    }
    PLUMB_STORE(run->h->ledger.stage_runs, serial);
    if (!r)
        return;
    PLUMB_STORE(r->serial, 0);
    plumb_order();
    r->key = e->key;
    r->begin_ticks = e->begin_ticks;
    r->end_ticks = e->end_ticks;
    r->request = e->request;
    r->rss = e->memory.samples ? e->memory.rss : 0;
    r->peak_rss = e->memory.samples ? e->memory.peak_rss : 0;
    r->tid = e->tid;
    r->depth = e->depth;
    r->failed = e->failed;
    r->within = e->within;
    r->why_off = why_off;
    PLUMB_RELEASE(r->serial, serial);
    if (fresh)
        plumb_table_commit(t);
}

/* Decides like the fold for the key's statistics, but in the order in which runs end, not the order
 * of folds: the same number of runs is skipped. */
static bool skips(struct plumb_live_stage *s, const struct plumb_live_pipeline *p,
                  const struct plumb_stage_entry *e)
{
    uint32_t generation = PLUMB_LOAD(p->reset_generation);
    if (s->skip_generation != generation) {
        s->skip_generation = generation;
        s->skipped = s->settled = 0;
    }
    if (!s->settled && s->skipped < plumb_live_skip_at(p, e->end_ticks)) {
        s->skipped++;
        return true;
    }
    s->settled = 1;
    return false;
}

void plumb_ledger_stage_run(struct plumb_run *run, struct plumb_stage_entry *e)
{
    struct plumb_live_pipeline *p = plumb_pipeline_of_group(run, plumb_key_group(e->key));
    struct plumb_live_stage *s;
    struct plumb_live_reset reset = plumb_live_reset_of(p);
    if (e->begin_ticks >= reset.ticks && (s = plumb_ledger_stage(run, e->key))) {
        plumb_ledger_add(&s->memory, &e->memory, reset.generation);
        plumb_step_peaks(run, e);
        e->counts = !e->failed && !skips(s, p, e);
    }
    if (e->stage)
        enter_run(run, e);
    if (e->request)
        plumb_request_stage(run, e);
    if (plumb_rt.settings.memory != PLUMB_MEMORY_OFF && e->memory.samples)
        plumb_series_point(run, e->end_ticks, e->memory.rss);
}
