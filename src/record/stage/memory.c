/* memory.c: memory scopes: the blocks that a stage sees, and peaks of intervals.
 *
 * A scope sees the blocks that the scope around it saw when it was opened, and those allocated in
 * it since. So it sees only existing blocks: its figures never exceed those of the pool, nor those
 * of the scope around it, whichever thread frees. The scopes that see a block follow from the
 * block's scope and from the number of scopes opened before its allocation (`born`). Nothing is
 * stored for each pair of block and scope.
 *
 * Scopes are indices of a table in private memory; the sums of an open one are in its `figures`. A
 * closed scope keeps its number, as a link to the scope around it, as long as a block or an inner
 * scope refers to it. Everything under the ledger's lock. */
#include <string.h>

#include "base/pages.h"
#include "base/process/resident.h"
#include "record/runtime/helper.h"
#include "record/runtime/helper_life.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"

#define RSS_WAIT_NS UINT64_C(20000000) /* for the helper; after that its last reading is used */
#define RSS_FRESH_NS UINT64_C(100000)  /* a reading is reused for so long */

enum {
    CHUNK = 1024,
    CHUNKS = 1024, /* a million scopes: those of live blocks, mostly */
    CAPTURED = 4096
};

/* One pool as an open scope sees it: the bytes of the blocks that it sees, and the peak of the
 * whole pool since the scope was opened. */
struct view {
    int64_t seen, seen_peak;
    int64_t peak_allocated, peak_reserved;
};
struct figures {
    struct figures *next, *before; /* all open ones, the newest first */
    struct figures *tree_next, *tree_before;
    struct view pool[PLUMB_LIVE_POOLS];
    uint32_t scope;
    uint32_t touched; /* bit a pool: an event of a block that the scope sees */
    uint32_t flags;   /* enum plumb_scope_flags */
    uint64_t rss, high, peak_rss;
};
struct scope {
    uint32_t parent; /* 0: a root */
    uint32_t refs;   /* references: being open, inner scopes, threads, blocks, captures */
    uint32_t next_free;
    uint32_t captured : 1;   /* is in `captured` */
    uint32_t serial : 31;    /* distinguishes it from earlier scopes with this number */
    uint64_t opened;         /* scopes opened up to this one; larger than that of the parent */
    struct figures *figures; /* NULL: closed */
    struct figures *tree;    /* of a root: all open ones in its tree */
};

static struct {
    struct scope *chunk[CHUNKS];
    uint32_t count, free; /* numbers from 1 */
    uint64_t opened;
    struct figures *open; /* list */
    struct figures *unused;
    uint64_t rss_peak; /* since a scope last reset the peaks */
    /* The newest scopes that contexts were captured in. They keep their numbers, because a context
     * may be adopted after its scope was closed. */
    uint32_t captured[CAPTURED], captures;
} scopes;

static struct scope *at(uint32_t i)
{
    return &scopes.chunk[i / CHUNK][i % CHUNK];
}

static uint32_t number_new(void)
{
    uint32_t i = scopes.free;
    if (i) {
        scopes.free = at(i)->next_free;
        return i;
    }
    i = scopes.count + 1;
    if (i / CHUNK == CHUNKS)
        return 0;
    if (!scopes.chunk[i / CHUNK])
        scopes.chunk[i / CHUNK] = plumb_pages_map(CHUNK * sizeof(struct scope));
    if (!scopes.chunk[i / CHUNK])
        return 0;
    scopes.count = i;
    return i;
}

static struct figures *figures_new(void)
{
    struct figures *f = scopes.unused;
    if (!f) {
        enum { AT_ONCE = 32 };
        f = plumb_pages_map(AT_ONCE * sizeof *f);
        for (int i = 1; f && i < AT_ONCE; i++) {
            f[i].next = scopes.unused;
            scopes.unused = &f[i];
        }
    } else {
        scopes.unused = f->next;
    }
    if (!f)
        return NULL;
    memset(f, 0, sizeof *f);
    f->next = scopes.open;
    if (f->next)
        f->next->before = f;
    scopes.open = f;
    return f;
}

static void figures_free(struct figures *f, struct scope *root)
{
    if (f->tree_before)
        f->tree_before->tree_next = f->tree_next;
    else
        root->tree = f->tree_next;
    if (f->tree_next)
        f->tree_next->tree_before = f->tree_before;
    if (f->before)
        f->before->next = f->next;
    else
        scopes.open = f->next;
    if (f->next)
        f->next->before = f->before;
    f->next = scopes.unused;
    scopes.unused = f;
}

static uint32_t root_of(uint32_t scope)
{
    while (scope && at(scope)->parent)
        scope = at(scope)->parent;
    return scope;
}

/* Sets `f` to the figures of a scope at its opening. */
static void look(struct plumb_run *run, struct figures *f, const struct figures *around)
{
    for (uint32_t i = 0; i < run->h->ledger.pools.count; i++) {
        const struct plumb_live_pool *p = plumb_pool_at(run, i);
        f->pool[i].seen = f->pool[i].seen_peak = around ? around->pool[i].seen : 0;
        f->pool[i].peak_allocated = p->allocated;
        f->pool[i].peak_reserved = p->reserved;
    }
}

static uint32_t scope_new(struct plumb_run *run, uint32_t parent, uint32_t flags)
{
    uint32_t i = number_new(), root = parent ? root_of(parent) : i;
    struct figures *f = i ? figures_new() : NULL;
    if (!f) {
        if (i) {
            at(i)->next_free = scopes.free;
            scopes.free = i;
        }
        return 0;
    }
    look(run, f, parent ? at(parent)->figures : NULL);
    f->scope = i;
    f->flags = flags;
    *at(i) = (struct scope){.parent = parent,
                            .refs = 1,
                            .serial = at(i)->serial + 1u,
                            .opened = ++scopes.opened,
                            .figures = f};
    if (parent)
        at(parent)->refs++;
    f->tree_next = at(root)->tree;
    if (f->tree_next)
        f->tree_next->tree_before = f;
    at(root)->tree = f;
    return i;
}

void plumb_scope_hold(uint32_t scope)
{
    if (scope)
        at(scope)->refs++;
}

void plumb_scope_release(uint32_t scope)
{
    while (scope && --at(scope)->refs == 0) {
        uint32_t parent = at(scope)->parent;
        at(scope)->next_free = scopes.free;
        scopes.free = scope;
        scope = parent;
    }
}

/* Makes `scope` the thread's innermost one. */
static void enter(struct plumb_thread *th, uint32_t scope)
{
    uint32_t before = th->memory;
    plumb_scope_hold(scope);
    th->memory = scope;
    plumb_scope_release(before);
}

/* Returns the nearest open scope at or around `scope`, or 0. */
static uint32_t open_around(uint32_t scope)
{
    while (scope && !at(scope)->figures)
        scope = at(scope)->parent;
    return scope;
}

static uint32_t token_of(uint32_t scope)
{
    return scope | (uint32_t)at(scope)->serial << 20;
}

uint32_t plumb_scope_capture(uint32_t scope)
{
    uint32_t *place;
    if (!scope)
        return 0;
    if (!at(scope)->captured) {
        place = &scopes.captured[scopes.captures++ % CAPTURED];
        if (*place) {
            at(*place)->captured = 0;
            plumb_scope_release(*place);
        }
        *place = scope;
        at(scope)->captured = 1;
        plumb_scope_hold(scope);
    }
    return token_of(scope);
}

static uint32_t known(uint32_t token)
{
    uint32_t scope = token & 0xfffff;
    if (!scope || scope > scopes.count || !at(scope)->refs || token_of(scope) != token)
        return 0;
    return open_around(scope);
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void change(struct figures *f, uint32_t pool, int64_t bytes)
{
    f->touched |= 1u << pool;
    f->pool[pool].seen += bytes;
    plumb_raise_to(&f->pool[pool].seen_peak, f->pool[pool].seen);
}

uint64_t plumb_scope_clock(void)
{
    return scopes.opened;
}

void plumb_scope_allocated(uint32_t scope, uint32_t pool, uint64_t bytes)
{
    for (; scope; scope = at(scope)->parent) {
        if (at(scope)->figures)
            change(at(scope)->figures, pool, (int64_t)bytes);
    }
}

static bool is_around(uint32_t scope, uint32_t inner)
{
    while (inner && at(inner)->opened > at(scope)->opened)
        inner = at(inner)->parent;
    return inner == scope;
}

/* Returns whether `scope` sees the block. The innermost scope at or around it that was opened
 * before the block decides: scopes inside that one saw the same blocks at their opening. */
static bool sees(uint32_t scope, uint32_t block_scope, uint64_t born)
{
    while (scope && at(scope)->opened > born)
        scope = at(scope)->parent;
    return scope && is_around(scope, block_scope);
}

void plumb_scope_freed(uint32_t scope, uint64_t born, uint32_t pool, uint64_t bytes)
{
    if (!scope)
        return;
    for (struct figures *f = at(root_of(scope))->tree; f; f = f->tree_next) {
        if (sees(f->scope, scope, born))
            change(f, pool, -(int64_t)bytes);
    }
}

/* The longer a scope is open, the higher are its peaks, so the loop may end at the first that does
 * not change. */
void plumb_scopes_pool_peak(uint32_t pool, int64_t allocated, int64_t reserved)
{
    for (struct figures *f = scopes.open; f; f = f->next) {
        struct view *v = &f->pool[pool];
        if (allocated <= v->peak_allocated && reserved <= v->peak_reserved)
            return;
        plumb_raise_to(&v->peak_allocated, allocated);
        plumb_raise_to(&v->peak_reserved, reserved);
    }
}

/* Returns the thread's own root, which lasts as long as the thread is attached. */
static uint32_t own_root(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    if (!th->memory_root)
        th->memory_root = scope_new(in.run, 0, 0);
    return th->memory_root;
}

uint32_t plumb_scope_of(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    uint32_t scope = open_around(th->memory);
    /* The adopted context has no open scope any more: the thread works in its own root. */
    if (!scope)
        scope = own_root(in);
    if (scope != th->memory)
        enter(th, scope);
    return scope;
}

uint32_t plumb_scope_adopt(struct plumb_thread *th, uint32_t token)
{
    uint32_t before = th->memory, scope = known(token);
    plumb_scope_hold(scope);
    th->memory = scope;
    return before;
}

void plumb_scope_return(struct plumb_thread *th, uint32_t before)
{
    uint32_t adopted = th->memory;
    th->memory = before;
    plumb_scope_release(adopted);
}

/* ---- The resident set ------------------------------------------------------------------------ */

static bool exact(void)
{
    return PLUMB_LOAD(plumb_rt.settings.memory_peak) == PLUMB_MEMORY_PEAK_EXACT;
}

/* The last reading. Atomic. */
static struct {
    struct plumb_rss rss;
    uint64_t at_ns;
} latest;

void plumb_rss_take(void)
{
    PLUMB_STORE(latest.rss.now, plumb_resident_now());
    PLUMB_STORE(latest.rss.high, exact() ? plumb_resident_peak() : plumb_resident_high());
    PLUMB_RELEASE(latest.at_ns, plumb_clock_gettime_ns(CLOCK_MONOTONIC));
}

/* On a busy machine the helper may not run for milliseconds. Threads of the program wait for it at
 * most an eighth of the time, all together, plus RSS_WAIT_NS. */
static void take_soon(uint64_t now)
{
    static uint64_t first_ns, waited_ns; /* atomic */
    uint64_t none = 0;
    __atomic_compare_exchange_n(&first_ns, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (PLUMB_LOAD(waited_ns) > (now - PLUMB_LOAD(first_ns)) / 8 + RSS_WAIT_NS) {
        plumb_helper_ask(PLUMB_JOB_RSS);
        return;
    }
    plumb_helper_do(PLUMB_JOB_RSS, RSS_WAIT_NS);
    PLUMB_ADD(waited_ns, plumb_clock_gettime_ns(CLOCK_MONOTONIC) - now);
}

/* If this thread reads by itself, the program may have wrapped the functions that it calls, with
 * spans that want a reading too. */
struct plumb_rss plumb_rss_read(void)
{
    static __thread bool reading __attribute__((tls_model("initial-exec")));
    uint64_t now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    /* A reading before the first span of a forked child needs its helper too. */
    bool before = reading, may = !before && (!plumb_wanted() || plumb_helper_start_by_span());
    reading = true;
    if (may && exact())
        plumb_helper_do(PLUMB_JOB_RSS, RSS_WAIT_NS);
    else if (may && now - PLUMB_ACQUIRE(latest.at_ns) >= RSS_FRESH_NS)
        take_soon(now);
    reading = before;
    return (struct plumb_rss){PLUMB_LOAD(latest.rss.now), PLUMB_LOAD(latest.rss.high)};
}

void plumb_rss_reset(void)
{
    plumb_resident_reset();
}

void plumb_scopes_sampled(struct plumb_run *run, uint64_t rss)
{
    struct plumb_live_ledger *l = &run->h->ledger;
    PLUMB_STORE(l->rss, rss);
    if (rss > l->peak_rss)
        PLUMB_STORE(l->peak_rss, rss);
    if (rss > scopes.rss_peak)
        scopes.rss_peak = rss;
    for (struct figures *f = scopes.open; f; f = f->next) {
        if (rss > f->peak_rss)
            f->peak_rss = rss;
    }
}

uint64_t plumb_scopes_rss_peak(void)
{
    return scopes.rss_peak;
}

/* Uses the kernel's peak since its last restart, or, if restarting is not allowed, since the
 * opening of the scope. */
static void fold_high(struct plumb_run *run, struct figures *f, const struct plumb_rss *rss)
{
    if (exact()) {
        plumb_scopes_sampled(run, rss->high);
    } else if (f && rss->high > f->high && f->high) {
        /* It rose while the scope was open, so the process's peak is the scope's. */
        if (rss->high > f->peak_rss)
            f->peak_rss = rss->high;
        if (rss->high > scopes.rss_peak)
            scopes.rss_peak = rss->high;
        if (rss->high > run->h->ledger.peak_rss)
            PLUMB_STORE(run->h->ledger.peak_rss, rss->high);
    }
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static void start_peaks(struct plumb_run *run, struct figures *root)
{
    for (int i = 0; root && i < PLUMB_LIVE_POOLS; i++)
        root->pool[i].seen_peak = root->pool[i].seen;
    plumb_pools_reset_peak(run);
}

void plumb_scopes_reset_peak(struct plumb_in in)
{
    uint32_t root = root_of(plumb_scope_of(in));
    if (root)
        start_peaks(in.run, at(root)->figures);
    scopes.rss_peak = 0;
}

uint32_t plumb_scope_open(struct plumb_in in, uint32_t flags, const struct plumb_rss *rss)
{
    uint32_t around = plumb_scope_of(in), root = root_of(around);
    uint32_t scope = around ? scope_new(in.run, around, flags) : 0;
    struct figures *f, *r;
    if (!scope)
        return 0;
    f = at(scope)->figures;
    r = at(root)->figures;
    if (flags & PLUMB_SCOPE_RSS) {
        f->rss = rss->now;
        f->high = rss->high;
        fold_high(in.run, NULL, rss);
        f->peak_rss = 0;
        plumb_scopes_sampled(in.run, rss->now);
    }
    if (!(flags & PLUMB_SCOPE_RUNNING_PEAK)) {
        start_peaks(in.run, r);
        if (flags & PLUMB_SCOPE_RSS)
            scopes.rss_peak = rss->now;
        if (flags & PLUMB_SCOPE_RSS && exact())
            plumb_helper_do(PLUMB_JOB_RSS_RESET, RSS_WAIT_NS);
    }
    enter(in.th, scope);
    return scope;
}

/* Returns the figures of a scope for pool `i`. Segments serve every thread, and the blocks of some
 * pools are not followed: for these it returns the figures of the whole pool. */
static struct plumb_live_use use_of(struct plumb_run *run, uint32_t i, const struct figures *f,
                                    const struct figures *root)
{
    const struct plumb_live_pool *p = plumb_pool_at(run, i);
    const struct view *v = &f->pool[i];
    bool whole = p->by_size || p->untracked;
    int64_t peak = whole ? v->peak_allocated : v->seen_peak, peak_reserved = v->peak_reserved;
    if (f->flags & PLUMB_SCOPE_RUNNING_PEAK) {
        int64_t allocated, reserved;
        plumb_pool_peaks(i, &allocated, &reserved);
        plumb_raise_to(&peak, whole ? allocated : root ? root->pool[i].seen_peak : 0);
        plumb_raise_to(&peak_reserved, reserved);
    }
    return (struct plumb_live_use){i,
                                   0,
                                   plumb_not_negative(whole ? p->allocated : v->seen),
                                   plumb_not_negative(p->reserved),
                                   plumb_not_negative(peak),
                                   plumb_not_negative(peak_reserved)};
}

/* If not all pools fit, those with events that the scope saw come first. */
static void uses(struct plumb_run *run, const struct figures *f, const struct figures *root,
                 struct plumb_live_memory *out)
{
    struct plumb_live_use use[PLUMB_LIVE_POOLS];
    uint32_t count = run->h->ledger.pools.count, left = 0;
    for (uint32_t i = 0; i < count; i++) {
        use[i] = use_of(run, i, f, root);
        left += (f->touched >> i & 1) != 0;
    }
    for (uint32_t i = 0; i < count && out->use_count < PLUMB_LIVE_USES; i++) {
        bool touched = f->touched >> i & 1, room = out->use_count + left < PLUMB_LIVE_USES;
        left -= touched;
        if (touched || (room && (use[i].peak_allocated || use[i].peak_reserved)))
            out->use[out->use_count++] = use[i];
    }
}

static void shut(uint32_t scope)
{
    figures_free(at(scope)->figures, at(root_of(scope)));
    at(scope)->figures = NULL;
    plumb_scope_release(scope);
}

void plumb_scope_close(struct plumb_in in, uint32_t scope, const struct plumb_rss *rss,
                       struct plumb_live_memory *out)
{
    struct plumb_thread *th = in.th;
    struct figures *f = scope ? at(scope)->figures : NULL;
    uint32_t root = root_of(scope);
    memset(out, 0, sizeof *out);
    if (!f)
        return;
    if (f->flags & PLUMB_SCOPE_RSS && rss && rss->now) {
        fold_high(in.run, f, rss);
        plumb_scopes_sampled(in.run, rss->now);
        out->samples = 1;
        out->rss = rss->now;
        out->peak_rss = f->flags & PLUMB_SCOPE_RUNNING_PEAK && scopes.rss_peak > f->peak_rss
                            ? scopes.rss_peak
                            : f->peak_rss;
        if (f->rss > out->peak_rss)
            out->peak_rss = f->rss;
        out->growth = (int64_t)(rss->now - f->rss);
        out->peak_exact = exact();
    }
    out->reset_peak = !(f->flags & PLUMB_SCOPE_RUNNING_PEAK);
    uses(in.run, f, at(root)->figures, out);
    if (th->memory == scope)
        enter(th, at(scope)->parent);
    shut(scope);
}

void plumb_scope_thread_ends(struct plumb_thread *th)
{
    if (th->memory_root)
        shut(th->memory_root);
    th->memory_root = 0;
    enter(th, 0);
}

void plumb_scopes_open(void)
{
    /* Blocks and threads of an earlier run no longer refer to scopes: their tables are cleared too.
     */
    for (uint32_t i = 1; i <= scopes.count; i++) {
        at(i)->refs = 0;
        if (at(i)->figures)
            figures_free(at(i)->figures, at(root_of(i)));
        at(i)->figures = NULL;
        at(i)->captured = 0;
        at(i)->serial++;
        at(i)->next_free = i + 1 <= scopes.count ? i + 1 : 0;
    }
    scopes.free = scopes.count ? 1 : 0;
    scopes.rss_peak = 0;
    memset(scopes.captured, 0, sizeof scopes.captured);
}
