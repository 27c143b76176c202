/* pool.c: what allocators tell: pools, their blocks, who owns them.
 *
 * Two kinds of events. Those of plumb_mem_*() name a device, a pool and an address: each block is
 * followed from its allocation to its release, under the lock, so that every figure is exact.
 * Those of malloc (`sized`) are too many for that: a thread adds them up by itself and passes the
 * sum on when the node around it changes, after 256 events or 64 KiB; exact for a program with one
 * thread, and to 64 KiB a thread for the peak of others. */
#include "core/pool.h"

#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "core/blocks.h"
#include "core/ledger.h"

enum { SIZED_EVENTS = 256, SIZED_BYTES = 65536, ALL = PLUMB_LIVE_POOLS, SUMS = ALL + 1 };
#define OUTSIDE UINT64_MAX

/* What pools amount to together: those of one device, and all. */
struct sum {
    int64_t allocated, reserved;
    int64_t peak_allocated, peak_reserved; /* since the last reset */
};

static struct {
    const char *device[PLUMB_LIVE_POOLS], *pool[PLUMB_LIVE_POOLS]; /* texts in the mapping */
    uint32_t device_of[PLUMB_LIVE_POOLS]; /* the first pool of the same device */
    int64_t peak_allocated[PLUMB_LIVE_POOLS], peak_reserved[PLUMB_LIVE_POOLS]; /* since the reset */
    struct sum sum[SUMS]; /* by device_of; ALL */
    struct plumb_window *windows;
    uint32_t sized; /* index + 1 of malloc's pool */
} pools;

/* ---- Pools ----------------------------------------------------------------------------------- */

static const char *text_at(struct plumb_run *run, uint64_t off)
{
    return PLUMB_AT(run, const char, off + sizeof(struct plumb_live_text));
}

static uint32_t find(const char *device, const char *pool, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && (strcmp(pools.pool[i], pool) != 0 || strcmp(pools.device[i], device) != 0))
        i++;
    return i;
}

static bool make(struct plumb_run *run, uint32_t i, const char *device, const char *pool)
{
    struct plumb_live_pool *p;
    uint64_t off;
    plumb_lock();
    off = plumb_carve(run, sizeof *p);
    p = off ? PLUMB_AT(run, struct plumb_live_pool, off) : NULL;
    if (p) {
        p->device_off = plumb_carve_text(run, device);
        p->pool_off = plumb_carve_text(run, pool);
    }
    plumb_unlock();
    if (!p || !p->device_off || !p->pool_off)
        return false;
    run->h->ledger.pools.off[i] = off;
    pools.device[i] = text_at(run, p->device_off);
    pools.pool[i] = text_at(run, p->pool_off);
    pools.device_of[i] = i;
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(pools.device[k], device) == 0) {
            pools.device_of[i] = k;
            break;
        }
    }
    PLUMB_RELEASE(run->h->ledger.pools.count, i + 1);
    return true;
}

/* The pool's number, -1: no room. The last number stands for all that come too late. */
static int pool_of(struct plumb_run *run, const char *device, const char *pool)
{
    uint32_t count = run->h->ledger.pools.count, i = find(device, pool, count);
    if (i < count)
        return (int)i;
    if (count == PLUMB_LIVE_POOLS)
        return PLUMB_LIVE_POOLS - 1;
    if (count == PLUMB_LIVE_POOLS - 1) {
        device = "(other)";
        pool = "(other)";
    }
    return make(run, count, device, pool) ? (int)count : -1;
}

/* ---- Owners ---------------------------------------------------------------------------------- */

/* The key of the node around the caller. */
static uint64_t innermost(const struct plumb_thread *th)
{
    uint32_t depth = plumb_depth(th);
    uint64_t at = *th->top;
    const uint64_t *word = (const uint64_t *)(uintptr_t)at;
    if (!depth)
        return th->path_depth ? plumb_key(th->group, th->path[th->path_depth - 1]) : OUTSIDE;
    /* Begun since the last fold: the record tells. Before: the fold's frames do. */
    if (word >= th->block + PLUMB_BLOCK_HEAD && word < th->head)
        return plumb_key(th->group, plumb_record_node(PLUMB_LOAD(*word)));
    return depth <= th->live->context.depth ? th->live->frames[depth].key : OUTSIDE;
}

static struct plumb_live_owner *owner_at(struct plumb_run *run, uint32_t i)
{
    return plumb_table_at(run, &run->h->owners, i);
}

/* The owner's number + 1; 0: no room. */
static uint32_t owner_of(struct plumb_run *run, uint32_t pool, uint64_t key)
{
    uint64_t id = (key == OUTSIDE ? UINT64_C(1) << 40 : key) | (uint64_t)(pool + 1) << 48;
    uint64_t known = plumb_map_get(&run->owners, id);
    struct plumb_live_owner *o;
    if (known)
        return (uint32_t)known;
    plumb_lock();
    o = plumb_table_add(run, &run->h->owners);
    known = run->h->owners.count + 1;
    if (o && plumb_map_put(&run->owners, id, known) == PLUMB_OK) {
        *o = (struct plumb_live_owner){
            .key = key, .pool = pool, .at_peaks = plumb_pool_at(run, pool)->peaks};
        plumb_table_commit(&run->h->owners);
    } else {
        known = 0;
    }
    plumb_unlock();
    return (uint32_t)known;
}

/* Before an owner's bytes change: what it held at the pool's peak is what it holds now, unless it
 * has changed since. */
static void owner_touch(const struct plumb_live_pool *p, struct plumb_live_owner *o)
{
    if (o->at_peaks == p->peaks)
        return;
    o->at_peak = o->alloc_bytes - o->free_bytes;
    o->at_peaks = p->peaks;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void raise_to(int64_t *peak, int64_t now)
{
    if (now > *peak)
        *peak = now;
}

static void sum_change(uint32_t i, int64_t allocated, int64_t reserved, int64_t most)
{
    struct sum *s = &pools.sum[i];
    raise_to(&s->peak_allocated, s->allocated + most);
    s->allocated += allocated;
    s->reserved += reserved;
    raise_to(&s->peak_reserved, s->reserved);
    for (struct plumb_window *w = pools.windows; w; w = w->next) {
        raise_to(&w->peak_allocated[i], s->allocated - allocated + most);
        raise_to(&w->peak_reserved[i], s->reserved);
    }
}

/* `most`: the highest that the change of allocated bytes was on its way. */
static void change(struct plumb_run *run, uint32_t i, uint32_t scope, int64_t allocated,
                   int64_t reserved, int64_t most)
{
    struct plumb_live_pool *p = plumb_pool_at(run, i);
    int64_t before = p->allocated;
    PLUMB_STORE(p->allocated, before + allocated);
    PLUMB_STORE(p->reserved, p->reserved + reserved);
    if (before + most > p->peak_allocated) {
        p->peak_allocated = before + most;
        p->peak_ticks = plumb_ticks_from(plumb_rt.clock);
        p->peaks++;
    }
    if (p->reserved > p->peak_reserved) {
        p->peak_reserved = p->reserved;
        p->allocated_at_reserved = p->allocated;
    }
    raise_to(&pools.peak_allocated[i], before + most);
    raise_to(&pools.peak_reserved[i], p->reserved);
    sum_change(pools.device_of[i], allocated, reserved, most);
    sum_change(ALL, allocated, reserved, most);
    if (most > allocated && most > 0)
        plumb_scope_account(scope, i, most, 0);
    plumb_scope_account(scope, i, allocated - (most > allocated && most > 0 ? most : 0), reserved);
}

void plumb_pools_reset_peak(struct plumb_run *run)
{
    for (uint32_t i = 0; i < run->h->ledger.pools.count; i++) {
        pools.peak_allocated[i] = plumb_pool_at(run, i)->allocated;
        pools.peak_reserved[i] = plumb_pool_at(run, i)->reserved;
    }
    for (uint32_t i = 0; i < SUMS; i++) {
        pools.sum[i].peak_allocated = pools.sum[i].allocated;
        pools.sum[i].peak_reserved = pools.sum[i].reserved;
    }
}

void plumb_pool_peaks(uint32_t i, int64_t *allocated, int64_t *reserved)
{
    *allocated = pools.peak_allocated[i];
    *reserved = pools.peak_reserved[i];
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void block_gone(struct plumb_run *run, uint32_t pool, const struct plumb_block *b)
{
    struct plumb_live_pool *p = plumb_pool_at(run, pool);
    struct plumb_live_owner *o = b->owner ? owner_at(run, b->owner - 1) : NULL;
    if (o) {
        owner_touch(p, o);
        o->frees++;
        o->free_bytes += b->bytes;
    }
    p->frees++;
    p->free_bytes += b->bytes;
    change(run, pool, b->scope, -(int64_t)b->bytes, 0, 0);
    plumb_scope_release(b->scope);
}

static void freed(struct plumb_run *run, uint32_t pool, uint64_t address, uint64_t bytes)
{
    struct plumb_live_pool *p = plumb_pool_at(run, pool);
    struct plumb_block b;
    if (plumb_blocks_take(pool, address, &b)) {
        block_gone(run, pool, &b);
    } else if (p->untracked > p->untracked_frees && bytes) {
        b = (struct plumb_block){address, bytes, 0, 0, pool};
        p->untracked_frees++;
        block_gone(run, pool, &b);
    } else {
        p->unknown_frees++;
    }
}

static void allocated(struct plumb_thread *th, uint32_t pool, uint64_t address, uint64_t bytes)
{
    struct plumb_run *run = th->run;
    struct plumb_live_pool *p = plumb_pool_at(run, pool);
    uint32_t owner = owner_of(run, pool, innermost(th)), scope = plumb_scope_of(th);
    struct plumb_block old, b = {address, bytes, owner, scope, pool};
    struct plumb_live_owner *o = owner ? owner_at(run, owner - 1) : NULL;
    /* Given out again: its release was not told. */
    if (plumb_blocks_take(pool, address, &old)) {
        p->unknown_frees++;
        block_gone(run, pool, &old);
    }
    if (plumb_blocks_put(&b)) {
        plumb_scope_hold(scope);
        if (o) {
            owner_touch(p, o);
            o->allocs++;
            o->alloc_bytes += bytes;
        }
    } else {
        p->untracked++;
    }
    p->allocs++;
    p->alloc_bytes += bytes;
    change(run, pool, scope, (int64_t)bytes, 0, (int64_t)bytes);
}

static void reserve(struct plumb_thread *th, uint32_t pool, uint64_t address, uint64_t bytes)
{
    /* Taken again: the segment has another size now. */
    int64_t before = (int64_t)plumb_segments_take(pool, address);
    if (address)
        plumb_segments_put(pool, address, bytes);
    change(th->run, pool, plumb_scope_of(th), 0, (int64_t)bytes - before, 0);
}

static void release(struct plumb_thread *th, uint32_t pool, uint64_t address, uint64_t bytes)
{
    uint64_t known = plumb_segments_take(pool, address);
    change(th->run, pool, plumb_scope_of(th), 0, -(int64_t)(known ? known : bytes), 0);
}

void plumb_mem_event_impl(uint32_t event, const char *device, const char *pool, const void *address,
                          uint64_t bytes)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    struct plumb_thread *th;
    int i;
    if (((event == PLUMB_MEM_ALLOC || event == PLUMB_MEM_FREE) && !at) || bytes > INT64_MAX / 4 ||
        !plumb_ledger_enter(&th, true))
        return;
    i = event == PLUMB_MEM_RESET_PEAK ? -1
                                      : pool_of(th->run, device ? device : "cpu", pool ? pool : "");
    if (event == PLUMB_MEM_RESET_PEAK)
        plumb_scopes_reset_peak(th);
    else if (i < 0)
        plumb_drop(th->run, PLUMB_DROP_LOST);
    else if (event == PLUMB_MEM_ALLOC)
        allocated(th, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_FREE)
        freed(th->run, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_RESERVE)
        reserve(th, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_RELEASE)
        release(th, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_TOTAL)
        plumb_pool_at(th->run, (uint32_t)i)->total = bytes;
    plumb_ledger_leave(th);
}

/* ---- malloc ---------------------------------------------------------------------------------- */

void plumb_sized_flush(struct plumb_thread *th)
{
    struct plumb_sized *s = &th->sized;
    struct plumb_live_pool *p;
    struct plumb_live_owner *o;
    uint32_t owner;
    int i;
    if (!s->events)
        return;
    i = pools.sized ? (int)pools.sized - 1 : pool_of(th->run, "cpu", "malloc");
    if (i >= 0) {
        pools.sized = (uint32_t)i + 1;
        p = plumb_pool_at(th->run, (uint32_t)i);
        p->by_size = 1;
        p->allocs += s->allocs;
        p->alloc_bytes += s->alloc_bytes;
        p->frees += s->frees;
        p->free_bytes += s->free_bytes;
        owner = owner_of(th->run, (uint32_t)i, s->key);
        o = owner ? owner_at(th->run, owner - 1) : NULL;
        if (o) {
            o->allocs += s->allocs;
            o->alloc_bytes += s->alloc_bytes;
            o->frees += s->frees;
            o->free_bytes += s->free_bytes;
        }
        change(th->run, (uint32_t)i, plumb_scope_of(th), (int64_t)(s->alloc_bytes - s->free_bytes),
               0, s->most);
    }
    memset(s, 0, sizeof *s);
}

void plumb_mem_sized_impl(uint32_t event, uint64_t bytes)
{
    struct plumb_thread *th;
    struct plumb_sized *s;
    uint64_t key;
    int64_t net;
    if (bytes > INT64_MAX / 4 || !plumb_enter(&th, true))
        return;
    s = &th->sized;
    key = innermost(th);
    net = (int64_t)(s->alloc_bytes - s->free_bytes);
    if (s->key != key || s->events >= SIZED_EVENTS || net > SIZED_BYTES || net < -SIZED_BYTES) {
        pthread_mutex_lock(&plumb_rt.ledger_lock);
        plumb_sized_flush(th);
        pthread_mutex_unlock(&plumb_rt.ledger_lock);
        s->key = key;
        net = 0;
    }
    s->events++;
    if (event == PLUMB_MEM_ALLOC) {
        s->allocs++;
        s->alloc_bytes += bytes;
        raise_to(&s->most, net + (int64_t)bytes);
    } else {
        s->frees++;
        s->free_bytes += bytes;
    }
    plumb_leave(th);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static void answer(plumb_memory *m, int64_t a, int64_t r, int64_t peak_a, int64_t peak_r)
{
    m->allocated = plumb_not_negative(a);
    m->reserved = plumb_not_negative(r);
    m->peak_allocated = plumb_not_negative(peak_a);
    m->peak_reserved = plumb_not_negative(peak_r);
    m->overhead = m->reserved > m->allocated ? m->reserved - m->allocated : 0;
    m->overhead_percent = m->reserved ? 100.0 * (double)m->overhead / (double)m->reserved : 0;
}

void plumb_memory_now_impl(plumb_memory *out, const char *device, const char *pool)
{
    plumb_memory m = {.size = sizeof m};
    size_t size = out ? out->size : 0;
    struct plumb_rss rss = plumb_rss_read();
    struct plumb_thread *th;
    if (size < sizeof(size_t))
        return;
    m.rss = rss.now;
    m.peak_rss = rss.high;
    if (plumb_ledger_enter(&th, true)) {
        uint32_t n = th->run->h->ledger.pools.count, i = 0;
        plumb_sized_flush(th);
        if (device && pool) {
            i = find(device, pool, n);
            if (i < n)
                answer(&m, plumb_pool_at(th->run, i)->allocated,
                       plumb_pool_at(th->run, i)->reserved, pools.peak_allocated[i],
                       pools.peak_reserved[i]);
        } else {
            while (device && i < n && strcmp(pools.device[i], device) != 0)
                i++;
            if (!device || i < n) {
                const struct sum *s = &pools.sum[device ? i : ALL];
                answer(&m, s->allocated, s->reserved, s->peak_allocated, s->peak_reserved);
            }
        }
        plumb_ledger_leave(th);
    }
    m.size = size;
    memcpy(out, &m, size < sizeof m ? size : sizeof m);
}

void plumb_window_open(struct plumb_window *w, struct plumb_run *run)
{
    for (uint32_t i = 0; i < SUMS; i++) {
        w->peak_allocated[i] = pools.sum[i].allocated;
        w->peak_reserved[i] = pools.sum[i].reserved;
    }
    w->run = run->generation;
    w->next = pools.windows;
    pools.windows = w;
}

void plumb_window_close(struct plumb_window *w)
{
    struct plumb_window **at = &pools.windows;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

bool plumb_window_peaks(const struct plumb_window *w, struct plumb_run *run, const char *device,
                        uint64_t *peak_allocated, uint64_t *peak_reserved)
{
    uint32_t i = 0;
    while (i < run->h->ledger.pools.count && strcmp(pools.device[i], device) != 0)
        i++;
    if (i == run->h->ledger.pools.count)
        return false;
    *peak_allocated = plumb_not_negative(w->peak_allocated[i]);
    *peak_reserved = plumb_not_negative(w->peak_reserved[i]);
    return true;
}

/* ---- A run's begin and end ------------------------------------------------------------------- */

void plumb_pools_open(struct plumb_run *run)
{
    (void)run;
    memset(&pools, 0, sizeof pools);
    plumb_blocks_clear();
}

void plumb_pools_holes(struct plumb_run *run)
{
    for (uint32_t i = 0; i < run->h->ledger.pools.count; i++) {
        struct plumb_live_pool *p = plumb_pool_at(run, i);
        plumb_blocks_holes(i, &p->free_reserved, &p->largest_free);
    }
}

void plumb_pools_close(struct plumb_run *run)
{
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next) {
        if (plumb_belongs(th, run) && !PLUMB_ACQUIRE(th->busy))
            plumb_sized_flush(th);
    }
    plumb_pools_holes(run);
    for (uint32_t i = 0; i < run->h->ledger.pools.count; i++) {
        struct plumb_live_pool *p = plumb_pool_at(run, i);
        struct plumb_block largest[PLUMB_LIVE_LEAKS];
        p->leak_count = plumb_blocks_largest(i, largest, PLUMB_LIVE_LEAKS);
        for (uint32_t k = 0; k < p->leak_count; k++) {
            p->leak[k].owner = largest[k].owner;
            p->leak[k].address = largest[k].address;
            p->leak[k].bytes = largest[k].bytes;
        }
    }
}
