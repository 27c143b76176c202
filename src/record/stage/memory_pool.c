/* memory_pool.c: allocator events: pools, their blocks, and the owners of these.
 *
 * Two kinds of events. Those of plumb_mem_*() name a device, a pool and an address: each block is
 * followed from its allocation to its release, under the lock, so that every figure is exact.
 * Malloc events are too many for that, and have a file of their own (malloc_events.c). */
#include "record/stage/memory_pool.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "record/count/count.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/stage/memory_blocks.h"
#include "record/trace/trace.h"

enum { ALL = PLUMB_LIVE_POOLS, SUMS = ALL + 1 };

/* Sums over pools: those of one device, and all. The pool of malloc is left out, and has a sum of
 * its own: other pools often take their memory from malloc. */
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
    uint32_t of_malloc;                  /* index + 1 of its pool */
    uint64_t name_off[PLUMB_LIVE_POOLS]; /* "device/pool", or the device of a pool called "" */
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

static uint64_t carve_name(struct plumb_run *run, const char *device, const char *pool)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", device, pool[0] ? "/" : "", pool);
    return plumb_carve_text(run, name);
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
        pools.name_off[i] = carve_name(run, device, pool);
    }
    plumb_unlock();
    if (!p || !p->device_off || !p->pool_off || !pools.name_off[i])
        return false;
    run->h->ledger.pools.off[i] = off;
    pools.device[i] = text_at(run, p->device_off);
    pools.pool[i] = text_at(run, p->pool_off);
    pools.device_of[i] = i;
    for (uint32_t k = 0; k < i; k++) {
        if (k + 1 != pools.of_malloc && strcmp(pools.device[k], device) == 0) {
            pools.device_of[i] = k;
            break;
        }
    }
    PLUMB_RELEASE(run->h->ledger.pools.count, i + 1);
    return true;
}

int plumb_pool_of(struct plumb_run *run, const char *device, const char *pool)
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

bool plumb_pool_is_malloc(uint32_t pool)
{
    return PLUMB_LOAD(pools.of_malloc) == pool + 1;
}

int plumb_pool_of_malloc(struct plumb_run *run, int64_t held)
{
    uint32_t i = run->h->ledger.pools.count;
    struct plumb_live_pool *p;
    if (pools.of_malloc)
        return (int)pools.of_malloc - 1;
    /* The last entry is shared by all later pools, so it cannot be malloc's. */
    if (i >= PLUMB_LIVE_POOLS - 1 || !make(run, i, "cpu", "malloc"))
        return -1;
    PLUMB_STORE(pools.of_malloc, i + 1);
    pools.device_of[i] = i;
    p = plumb_pool_at(run, i);
    p->by_size = 1;
    p->held_before = p->allocated = held;
    PLUMB_STORE(p->peak_allocated, held);
    pools.peak_allocated[i] = held;
    pools.sum[i].allocated = pools.sum[i].peak_allocated = held;
    plumb_scopes_pool_peak(i, held, 0);
    return (int)i;
}

/* ---- Owners ---------------------------------------------------------------------------------- */

uint64_t plumb_innermost(struct plumb_thread *th)
{
    if (plumb_depth(th))
        return plumb_ring_innermost(th);
    return th->path_depth ? plumb_key(th->group, th->path[th->path_depth - 1]) : PLUMB_OUTSIDE;
}

struct plumb_live_owner *plumb_owner_at(struct plumb_run *run, uint32_t i)
{
    return plumb_table_at(run, &run->h->owners, i);
}

uint32_t plumb_owner_of(struct plumb_run *run, uint32_t pool, uint64_t key)
{
    uint64_t id = (key == PLUMB_OUTSIDE ? UINT64_C(1) << 40 : key) | (uint64_t)(pool + 1) << 48;
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

/* Before an owner's bytes change: stores them as its bytes at the pool's peak, unless they have
 * changed since the peak. */
static void owner_touch(const struct plumb_live_pool *p, struct plumb_live_owner *o)
{
    if (o->at_peaks == p->peaks)
        return;
    o->at_peak = o->alloc_bytes - o->free_bytes;
    o->at_peaks = p->peaks;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void sum_change(uint32_t i, int64_t allocated, int64_t reserved, int64_t most)
{
    struct sum *s = &pools.sum[i];
    plumb_raise_to(&s->peak_allocated, s->allocated + most);
    s->allocated += allocated;
    s->reserved += reserved;
    plumb_raise_to(&s->peak_reserved, s->reserved);
    for (struct plumb_window *w = pools.windows; w; w = w->next) {
        plumb_raise_to(&w->peak_allocated[i], s->allocated - allocated + most);
        plumb_raise_to(&w->peak_reserved[i], s->reserved);
    }
}

void plumb_pool_change(struct plumb_run *run, uint32_t i, int64_t allocated, int64_t reserved,
                       int64_t most)
{
    struct plumb_live_pool *p = plumb_pool_at(run, i);
    int64_t before = p->allocated;
    PLUMB_STORE(p->allocated, before + allocated);
    PLUMB_STORE(p->reserved, p->reserved + reserved);
    if (before + most > p->peak_allocated) {
        PLUMB_STORE(p->peak_allocated, before + most); /* record/count/get.c reads it */
        p->peak_ticks = plumb_ticks_from(plumb_rt.clock);
        p->peaks++;
    }
    if (p->reserved > p->peak_reserved) {
        p->peak_reserved = p->reserved;
        p->allocated_at_reserved = p->allocated;
    }
    plumb_raise_to(&pools.peak_allocated[i], before + most);
    plumb_raise_to(&pools.peak_reserved[i], p->reserved);
    sum_change(pools.device_of[i], allocated, reserved, most);
    if (i + 1 != pools.of_malloc)
        sum_change(ALL, allocated, reserved, most);
    plumb_scopes_pool_peak(i, before + most, p->reserved);
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
    struct plumb_live_owner *o = b->owner ? plumb_owner_at(run, b->owner - 1) : NULL;
    if (o) {
        owner_touch(p, o);
        o->frees++;
        o->free_bytes += b->bytes;
    }
    p->frees++;
    p->free_bytes += b->bytes;
    plumb_pool_change(run, pool, -(int64_t)b->bytes, 0, 0);
    plumb_scope_freed(b->scope, b->born, pool, b->bytes);
    plumb_scope_release(b->scope);
}

static void freed(struct plumb_run *run, uint32_t pool, uint64_t address, uint64_t bytes)
{
    struct plumb_live_pool *p = plumb_pool_at(run, pool);
    struct plumb_block b;
    if (plumb_blocks_take(pool, address, &b)) {
        block_gone(run, pool, &b);
    } else if (p->untracked > p->untracked_frees && bytes) {
        b = (struct plumb_block){.address = address, .bytes = bytes, .pool = pool};
        p->untracked_frees++;
        block_gone(run, pool, &b);
    } else {
        p->unknown_frees++;
    }
}

const char *plumb_pool_name(struct plumb_run *run, uint32_t pool)
{
    return PLUMB_AT(run, const char, pools.name_off[pool] + sizeof(struct plumb_live_text));
}

static void count_allocated(struct plumb_in in, uint32_t pool, uint64_t bytes)
{
    struct plumb_count_event e;
    plumb_count_here(&e, in.th, PLUMB_COUNT_ALLOCATIONS, plumb_pool_name(in.run, pool),
                     (int64_t)bytes);
    plumb_count_raise(in, &e);
}

static void allocated(struct plumb_in in, uint32_t pool, uint64_t address, uint64_t bytes)
{
    struct plumb_run *run = in.run;
    struct plumb_live_pool *p = plumb_pool_at(run, pool);
    uint32_t owner = plumb_owner_of(run, pool, plumb_innermost(in.th)), scope = plumb_scope_of(in);
    struct plumb_block old, b = {address, bytes, owner, scope, pool, 0};
    struct plumb_live_owner *o = owner ? plumb_owner_at(run, owner - 1) : NULL;
    /* The address is allocated again: its release was not reported. */
    if (plumb_blocks_take(pool, address, &old)) {
        p->unknown_frees++;
        block_gone(run, pool, &old);
    }
    b.born = plumb_scope_clock();
    if (plumb_blocks_put(&b)) {
        plumb_scope_hold(scope);
        plumb_scope_allocated(scope, pool, bytes);
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
    plumb_pool_change(run, pool, (int64_t)bytes, 0, (int64_t)bytes);
    count_allocated(in, pool, bytes);
}

static void reserve(struct plumb_run *run, uint32_t pool, uint64_t address, uint64_t bytes)
{
    /* The address is reserved again: the segment has another size now. */
    int64_t before = (int64_t)plumb_segments_take(pool, address);
    if (address)
        plumb_segments_put(pool, address, bytes);
    plumb_pool_change(run, pool, 0, (int64_t)bytes - before, 0);
}

static void release(struct plumb_run *run, uint32_t pool, uint64_t address, uint64_t bytes)
{
    uint64_t known = plumb_segments_take(pool, address);
    plumb_pool_change(run, pool, 0, -(int64_t)(known ? known : bytes), 0);
}

void plumb_mem_event_impl(uint32_t event, const char *device, const char *pool, const void *address,
                          uint64_t bytes)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    struct plumb_in in;
    int i;
    if (((event == PLUMB_MEM_ALLOC || event == PLUMB_MEM_FREE) && !at) || bytes > INT64_MAX / 4 ||
        !plumb_ledger_enter(&in, true))
        return;
    i = event == PLUMB_MEM_RESET_PEAK
            ? -1
            : plumb_pool_of(in.run, device ? device : "cpu", pool ? pool : "");
    if (event == PLUMB_MEM_RESET_PEAK)
        plumb_scopes_reset_peak(in);
    else if (i < 0)
        plumb_drop(in.run, PLUMB_DROP_LOST);
    else if (event == PLUMB_MEM_ALLOC)
        allocated(in, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_FREE)
        freed(in.run, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_RESERVE)
        reserve(in.run, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_RELEASE)
        release(in.run, (uint32_t)i, at, bytes);
    else if (event == PLUMB_MEM_TOTAL)
        plumb_pool_at(in.run, (uint32_t)i)->total = bytes;
    if (i >= 0 && plumb_traces(in, PLUMB_TRACE_HAS_MEMORY))
        plumb_trace_pool(in, pools.device[i], pools.pool[i],
                         plumb_pool_at(in.run, (uint32_t)i)->allocated,
                         plumb_pool_at(in.run, (uint32_t)i)->reserved);
    plumb_ledger_leave(in);
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

/* Returns the sum of a device's pools (NULL: of all); that of malloc if there is no other. SUMS:
 * none. */
static uint32_t sum_of(const char *device, uint32_t count)
{
    uint32_t of_malloc = SUMS;
    for (uint32_t i = 0; i < count; i++) {
        if (device && strcmp(pools.device[i], device) != 0)
            continue;
        if (i + 1 != pools.of_malloc)
            return device ? i : ALL;
        of_malloc = i;
    }
    return of_malloc;
}

void plumb_memory_now_impl(plumb_memory *out, const char *device, const char *pool)
{
    plumb_memory m = {.size = sizeof m};
    size_t size = out ? out->size : 0;
    struct plumb_rss rss = plumb_rss_read();
    struct plumb_in in;
    if (size < sizeof(size_t))
        return;
    m.rss = rss.now;
    m.peak_rss = rss.high;
    if (plumb_ledger_enter(&in, true)) {
        uint32_t n, i;
        plumb_sized_flush(in); /* which may make a pool */
        n = in.run->h->ledger.pools.count;
        i = device && pool ? find(device, pool, n) : sum_of(device, n);
        if (device && pool && i < n)
            answer(&m, plumb_pool_at(in.run, i)->allocated, plumb_pool_at(in.run, i)->reserved,
                   pools.peak_allocated[i], pools.peak_reserved[i]);
        else if (!(device && pool) && i < SUMS)
            answer(&m, pools.sum[i].allocated, pools.sum[i].reserved, pools.sum[i].peak_allocated,
                   pools.sum[i].peak_reserved);
        plumb_ledger_leave(in);
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
    uint32_t i = sum_of(device, run->h->ledger.pools.count);
    if (i == SUMS)
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
            plumb_sized_flush((struct plumb_in){th, run});
    }
    plumb_sized_close(run);
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
