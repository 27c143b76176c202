/* memory.c: memory scopes: whose allocator events are added up where, and peaks of intervals.
 *
 * Scopes are numbers of a table in private memory; what an open one has added up lies beside, in
 * `figures`. A scope that was closed keeps its number, as a mere link to the scope around it, for
 * as long as a block or an inner scope refers to it. Everything under the ledger's lock. */
#include <string.h>

#include "base/pages.h"
#include "base/resident.h"
#include "core/ledger.h"

enum { CHUNK = 1024, CHUNKS = 1024 }; /* a million scopes: those of live blocks, mostly */

/* One pool in an open scope: what it held when the scope was opened, and since then its change and
 * the highest of that. Of a root: all that its thread of control holds. */
struct count {
    int64_t base, net, peak;
};
struct figures {
    struct figures *next, *before; /* of those that are open */
    struct count allocated[PLUMB_LIVE_POOLS], reserved[PLUMB_LIVE_POOLS];
    uint32_t touched; /* bit a pool */
    uint32_t flags;   /* enum plumb_scope_flags */
    uint64_t rss, high, peak_rss;
};
struct scope {
    uint32_t parent; /* 0: a root */
    uint32_t refs;   /* being open, inner scopes, threads, blocks */
    uint32_t next_free;
    uint32_t serial;         /* told apart from what had the number before */
    struct figures *figures; /* NULL: closed */
};

static struct {
    struct scope *chunk[CHUNKS];
    uint32_t count, free; /* numbers from 1 */
    struct figures *open; /* list */
    struct figures *unused;
    uint64_t rss_peak; /* since a scope last started peaks anew */
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

static void figures_free(struct figures *f)
{
    if (f->before)
        f->before->next = f->next;
    else
        scopes.open = f->next;
    if (f->next)
        f->next->before = f->before;
    f->next = scopes.unused;
    scopes.unused = f;
}

static uint32_t scope_new(uint32_t parent, uint32_t flags)
{
    uint32_t i = number_new();
    struct figures *f = i ? figures_new() : NULL;
    if (!f) {
        if (i) {
            at(i)->next_free = scopes.free;
            scopes.free = i;
        }
        return 0;
    }
    f->flags = flags;
    *at(i) = (struct scope){parent, 1, 0, at(i)->serial + 1, f};
    if (parent)
        at(parent)->refs++;
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

/* The nearest scope at or around `scope` that is open; 0: none. */
static uint32_t open_around(uint32_t scope)
{
    while (scope && !at(scope)->figures)
        scope = at(scope)->parent;
    return scope;
}

static uint32_t root_of(uint32_t scope)
{
    while (scope && at(scope)->parent)
        scope = at(scope)->parent;
    return scope;
}

uint32_t plumb_scope_token(uint32_t scope)
{
    return scope ? scope | at(scope)->serial << 20 : 0;
}

static uint32_t known(uint32_t token)
{
    uint32_t scope = token & 0xfffff;
    if (!scope || scope > scopes.count || !at(scope)->refs ||
        at(scope)->serial << 20 != (token & ~UINT32_C(0xfffff)))
        return 0;
    return open_around(scope);
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void count_add(struct count *c, int64_t change)
{
    c->net += change;
    if (c->net > c->peak)
        c->peak = c->net;
}

void plumb_scope_account(uint32_t scope, uint32_t pool, int64_t allocated, int64_t reserved)
{
    for (; scope; scope = at(scope)->parent) {
        struct figures *f = at(scope)->figures;
        if (!f)
            continue;
        f->touched |= 1u << pool;
        if (allocated)
            count_add(&f->allocated[pool], allocated);
        if (reserved)
            count_add(&f->reserved[pool], reserved);
    }
}

uint32_t plumb_scope_of(struct plumb_thread *th)
{
    uint32_t scope = open_around(th->memory);
    if (!scope)
        scope = scope_new(0, 0);
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

struct plumb_rss plumb_rss_read(void)
{
    struct plumb_rss r = {plumb_resident_now(), 0};
    r.high = exact() ? plumb_resident_peak() : plumb_resident_high();
    return r;
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

/* What the kernel's peak tells of the time since it was last started anew, or, where that is not
 * allowed, since the scope was opened. */
static void fold_high(struct plumb_run *run, struct figures *f, const struct plumb_rss *rss)
{
    if (exact()) {
        plumb_scopes_sampled(run, rss->high);
    } else if (f && rss->high > f->high && f->high) {
        /* It rose while the scope was open: the height is the process's highest ever. */
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
    for (int i = 0; i < PLUMB_LIVE_POOLS; i++) {
        root->allocated[i].peak = root->allocated[i].net;
        root->reserved[i].peak = root->reserved[i].net;
    }
    plumb_pools_reset_peak(run);
}

void plumb_scopes_reset_peak(struct plumb_thread *th)
{
    uint32_t root = root_of(plumb_scope_of(th));
    if (root && at(root)->figures)
        start_peaks(th->run, at(root)->figures);
    scopes.rss_peak = 0;
}

uint32_t plumb_scope_open(struct plumb_thread *th, uint32_t flags, const struct plumb_rss *rss)
{
    uint32_t around = plumb_scope_of(th), root = root_of(around);
    uint32_t scope = around ? scope_new(around, flags) : 0;
    struct figures *f, *r;
    if (!scope)
        return 0;
    f = at(scope)->figures;
    r = at(root)->figures;
    for (int i = 0; r && i < PLUMB_LIVE_POOLS; i++) {
        f->allocated[i].base = r->allocated[i].net;
        f->reserved[i].base = r->reserved[i].net;
    }
    if (flags & PLUMB_SCOPE_RSS) {
        f->rss = rss->now;
        f->high = rss->high;
        fold_high(th->run, NULL, rss);
        f->peak_rss = 0;
        plumb_scopes_sampled(th->run, rss->now);
    }
    if (!(flags & PLUMB_SCOPE_RUNNING_PEAK) && r) {
        start_peaks(th->run, r);
        if (flags & PLUMB_SCOPE_RSS)
            scopes.rss_peak = rss->now;
        if (flags & PLUMB_SCOPE_RSS && exact())
            plumb_resident_reset();
    }
    enter(th, scope);
    return scope;
}

static void uses(const struct figures *f, const struct figures *root, struct plumb_live_memory *out)
{
    bool running = f->flags & PLUMB_SCOPE_RUNNING_PEAK && root;
    for (uint32_t i = 0; i < PLUMB_LIVE_POOLS && out->use_count < PLUMB_LIVE_USES; i++) {
        const struct count *a = &f->allocated[i], *r = &f->reserved[i];
        if (!(f->touched >> i & 1) && !a->base && !r->base)
            continue;
        out->use[out->use_count++] = (struct plumb_live_use){
            i,
            0,
            plumb_not_negative(a->base + a->net),
            plumb_not_negative(r->base + r->net),
            plumb_not_negative(running ? root->allocated[i].peak : a->base + a->peak),
            plumb_not_negative(running ? root->reserved[i].peak : r->base + r->peak)};
    }
}

void plumb_scope_close(struct plumb_thread *th, uint32_t scope, const struct plumb_rss *rss,
                       struct plumb_live_memory *out)
{
    struct figures *f = scope ? at(scope)->figures : NULL;
    uint32_t root = root_of(scope);
    memset(out, 0, sizeof *out);
    if (!f)
        return;
    if (f->flags & PLUMB_SCOPE_RSS && rss && rss->now) {
        fold_high(th->run, f, rss);
        plumb_scopes_sampled(th->run, rss->now);
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
    uses(f, at(root)->figures, out);
    if (th->memory == scope)
        enter(th, at(scope)->parent);
    at(scope)->figures = NULL;
    figures_free(f);
    plumb_scope_release(scope);
}

void plumb_scope_thread_ends(struct plumb_thread *th)
{
    uint32_t scope = th->memory;
    if (scope && !at(scope)->parent && at(scope)->figures) {
        figures_free(at(scope)->figures);
        at(scope)->figures = NULL;
        plumb_scope_release(scope);
    }
    enter(th, 0);
}

void plumb_scopes_open(void)
{
    /* Blocks and threads of an earlier run refer to numbers no more: their tables begin anew too.
     */
    for (uint32_t i = 1; i <= scopes.count; i++) {
        at(i)->refs = 0;
        if (at(i)->figures)
            figures_free(at(i)->figures);
        at(i)->figures = NULL;
        at(i)->serial++;
        at(i)->next_free = i + 1 <= scopes.count ? i + 1 : 0;
    }
    scopes.free = scopes.count ? 1 : 0;
    scopes.rss_peak = 0;
}
