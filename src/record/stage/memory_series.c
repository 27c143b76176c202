/* memory_series.c: memory over time, and checkpoints.
 *
 * A series has a fixed number of points. When it is full, every two points become one, the higher,
 * in the unpublished half, and the pause between samples doubles. So a short run has a resolution
 * of 10 ms, a run of a day one of minutes, at the same size and at decreasing cost. If stages and
 * checkpoints filled it, the pause stays: they end, and the time between them must not be
 * missed. */
#include <string.h>

#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"

enum {
    LOCK_TRIES = 20,
    MS = 1000000,
    SLOW_DOWN = PLUMB_LIVE_POINTS / 4 /* if so many of the points are samples */
};

/* Two threads may come at once: one with the ledger's lock, the helper without it. */
static void make_series(struct plumb_run *run, int64_t pool)
{
    uint64_t *off = &run->h->ledger.series_off[pool + 1];
    uint64_t made;
    plumb_lock();
    if (PLUMB_ACQUIRE(plumb_rt.run) == run && !PLUMB_LOAD(*off)) {
        made = plumb_carve(run, sizeof(struct plumb_live_series));
        if (made) {
            PLUMB_AT(run, struct plumb_live_series, made)->pool = pool;
            PLUMB_RELEASE(*off, made);
        }
    }
    plumb_unlock();
}

static struct plumb_live_series *series_at(struct plumb_run *run, int64_t pool)
{
    const uint64_t *off = &run->h->ledger.series_off[pool + 1];
    uint64_t at = PLUMB_ACQUIRE(*off);
    if (!at) {
        make_series(run, pool);
        at = PLUMB_ACQUIRE(*off);
    }
    return at ? PLUMB_AT(run, struct plumb_live_series, at) : NULL;
}

static uint64_t thin(struct plumb_live_series *s)
{
    uint32_t from = (uint32_t)(s->shown >> 32) & 1, n = (uint32_t)s->shown;
    struct plumb_live_point *to = s->point[from ^ 1];
    const struct plumb_live_point *p = s->point[from];
    for (uint32_t i = 0; i + 1 < n; i += 2)
        to[i / 2] = p[i].a + p[i].b > p[i + 1].a + p[i + 1].b ? p[i] : p[i + 1];
    return (uint64_t)(from ^ 1) << 32 | n / 2;
}

/* Returns false if the series was full; it is then half as dense. */
static bool add(struct plumb_live_series *s, uint64_t ticks, uint64_t a, uint64_t b)
{
    bool room = (uint32_t)s->shown < PLUMB_LIVE_POINTS;
    uint64_t shown = room ? s->shown : thin(s);
    uint32_t half = (uint32_t)(shown >> 32) & 1, n = (uint32_t)shown;
    /* Clocks were read before the lock was taken, so threads may come in another order. */
    if (n && ticks < s->point[half][n - 1].ticks)
        ticks = s->point[half][n - 1].ticks;
    /* Of equal values only the first and the last point are needed. */
    if (n >= 2 && s->point[half][n - 1].a == a && s->point[half][n - 1].b == b &&
        s->point[half][n - 2].a == a && s->point[half][n - 2].b == b && room) {
        PLUMB_STORE(s->point[half][n - 1].ticks, ticks);
        return true;
    }
    s->point[half][n] = (struct plumb_live_point){ticks, a, b};
    PLUMB_RELEASE(s->shown, shown + 1);
    return room;
}

/* Returns whether a series was thinned out. */
static bool add_all(struct plumb_run *run, uint64_t ticks, uint64_t rss)
{
    struct plumb_live_series *s = rss ? series_at(run, PLUMB_LIVE_NO_POOL) : NULL;
    bool thinned = s && !add(s, ticks, rss, 0);
    for (uint32_t i = 0; i < run->h->ledger.pools.count; i++) {
        const struct plumb_live_pool *p = plumb_pool_at(run, i);
        s = series_at(run, i);
        if (s)
            thinned |= !add(s, ticks, plumb_not_negative(PLUMB_LOAD(p->allocated)),
                            plumb_not_negative(PLUMB_LOAD(p->reserved)));
    }
    return thinned;
}

void plumb_series_point(struct plumb_run *run, uint64_t ticks, uint64_t rss)
{
    if (!add_all(run, ticks, rss))
        return;
    if (run->samples >= SLOW_DOWN)
        run->sample_pause_ns *= 2;
    run->samples = 0;
}

/* A thread that our signal handler holds up may have the lock and wait for the helper, so the wait
 * is bounded. */
static bool lock_soon(void)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (plumb_ledger_trylock())
            return true;
        plumb_helper_pause(MS);
    }
    return false;
}

uint64_t plumb_series_sample(struct plumb_run *run)
{
    uint64_t rss, pause = plumb_rt.settings.memory_interval_ms * 1000000;
    if (plumb_rt.settings.memory == PLUMB_MEMORY_OFF || !pause)
        return 0;
    rss = plumb_rss_read().now;
    /* Before the ledger's lock is taken: the program's threads wait for that one, and must not wait
     * for whoever has the runtime's. */
    (void)series_at(run, PLUMB_LIVE_NO_POOL);
    if (!lock_soon())
        return pause;
    /* Not after the run has ended: its end reads the ledger without the lock. */
    if (PLUMB_ACQUIRE(plumb_rt.run) == run && rss) {
        plumb_sized_sample(run);
        plumb_scopes_sampled(run, rss);
        run->samples++;
        plumb_series_point(run, plumb_ticks_from(plumb_rt.clock), rss);
    }
    pause = run->sample_pause_ns;
    plumb_ledger_unlock();
    return pause;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* Chains of checkpoints: one for each section of requests, the last one for those of no request.
 * The entries of a reused section are free for any chain. */
static uint32_t *chain_of(struct plumb_run *run, uint64_t request)
{
    return request ? &run->checkpoints[(request - 1) % PLUMB_LIVE_SECTIONS]
                   : &run->checkpoints[PLUMB_LIVE_SECTIONS];
}

static struct plumb_live_checkpoint *checkpoint_at(struct plumb_run *run, uint32_t place)
{
    return place ? plumb_table_at(run, &run->h->checkpoints, place - 1) : NULL;
}

void plumb_checkpoints_drop(struct plumb_run *run, uint64_t request)
{
    uint32_t *chain = chain_of(run, request), next;
    for (struct plumb_live_checkpoint *c; (c = checkpoint_at(run, *chain)); *chain = next) {
        next = c->next;
        PLUMB_STORE(c->serial, 0);
        c->next = run->free_checkpoint;
        run->free_checkpoint = *chain;
    }
    plumb_order();
}

/* Returns an unused entry: index + 1; 0: the mapping is full. */
static uint32_t unused(struct plumb_run *run)
{
    struct plumb_live_table *t = &run->h->checkpoints;
    struct plumb_live_checkpoint *c;
    uint32_t place = run->free_checkpoint;
    if (place) {
        run->free_checkpoint = checkpoint_at(run, place)->next;
        return place;
    }
    plumb_lock();
    c = plumb_table_add(run, t);
    plumb_unlock();
    if (!c)
        return 0;
    plumb_table_commit(t);
    return t->count;
}

static uint64_t name_new(struct plumb_run *run, const char *name)
{
    uint64_t off;
    plumb_lock();
    off = plumb_text_name(run, name);
    plumb_unlock();
    return off;
}

/* Returns the checkpoint of that name and request, made if needed. NULL: the mapping is full, or
 * the section belongs to another request now. */
static struct plumb_live_checkpoint *find(struct plumb_run *run, uint64_t request, const char *name)
{
    uint32_t *chain = chain_of(run, request);
    uint32_t n = 0, most = request ? PLUMB_LIVE_SECTION_CHECKPOINTS : plumb_rt.settings.max_nodes;
    struct plumb_live_checkpoint *c;
    uint32_t place;
    uint64_t off;
    if (request && !plumb_request_section(run, request))
        return NULL;
    for (place = *chain; (c = checkpoint_at(run, place)); place = c->next, n++) {
        if (strcmp(PLUMB_AT(run, const char, c->name_off + sizeof(struct plumb_live_text)), name) ==
            0)
            return c;
    }
    if (n >= most || !(off = name_new(run, name)) || !(place = unused(run)))
        return NULL;
    c = checkpoint_at(run, place);
    c->name_off = off;
    c->request = request;
    c->next = *chain;
    *chain = place;
    return c;
}

void plumb_memory_held(struct plumb_run *run, const struct plumb_rss *rss,
                       struct plumb_live_memory *m)
{
    memset(m, 0, sizeof *m);
    plumb_scopes_sampled(run, rss->now);
    m->samples = rss->now != 0;
    m->rss = rss->now;
    m->peak_rss = plumb_scopes_rss_peak();
    for (uint32_t i = 0; i < run->h->ledger.pools.count && m->use_count < PLUMB_LIVE_USES; i++) {
        const struct plumb_live_pool *p = plumb_pool_at(run, i);
        int64_t allocated, reserved;
        plumb_pool_peaks(i, &allocated, &reserved);
        m->use[m->use_count++] = (struct plumb_live_use){i,
                                                         0,
                                                         plumb_not_negative(p->allocated),
                                                         plumb_not_negative(p->reserved),
                                                         plumb_not_negative(allocated),
                                                         plumb_not_negative(reserved)};
    }
}

void plumb_checkpoint_impl(const char *name, uint32_t baseline)
{
    struct plumb_live_memory m;
    struct plumb_live_checkpoint *c;
    struct plumb_rss rss = {0, 0};
    struct plumb_in in;
    uint64_t serial;
    if (!plumb_wanted())
        return;
    rss = plumb_rss_read();
    if (!plumb_ledger_enter(&in, false))
        return;
    plumb_sized_flush(in);
    plumb_memory_held(in.run, &rss, &m);
    plumb_pools_holes(in.run);
    serial = ++in.run->h->ledger.checkpoints_made;
    c = find(in.run, plumb_request_current(in), name ? name : "");
    if (c) {
        c->at_ticks = plumb_ticks_from(in.th->clock);
        c->baseline = baseline;
        plumb_ledger_show(&c->memory, &m);
        PLUMB_RELEASE(c->serial, serial);
        plumb_series_point(in.run, c->at_ticks, rss.now);
    } else {
        plumb_drop(in.run, PLUMB_DROP_CHECKPOINT);
    }
    plumb_ledger_leave(in);
}
