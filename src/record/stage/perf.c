/* perf.c: see perf.h. */
#include "record/stage/perf.h"

#include <string.h>

#include "base/futex.h"
#include "base/pages.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"

struct plumb_perf_plan plumb_perf_plan;
uint32_t plumb_perf_pid, plumb_perf_asks;

enum { WAIT_NS = 20000000, OTHER = 1 /* the lane name of what does not fit */ };

/* ---- The events of a thread ------------------------------------------------------------------ */

static bool is_of(const struct plumb_perf_thread *p, const struct plumb_thread *th)
{
    return p->pid == (uint32_t)plumb_rt.pid && p->tid == th->tid &&
           p->generation == th->live->generation;
}

/* Returns the thread's counters, made at the first call; NULL: no memory. Inside enter. */
static struct plumb_perf_thread *counters_of(struct plumb_thread *th)
{
    struct plumb_perf_thread *p = th->perf;
    if (p && p->pid != (uint32_t)plumb_rt.pid) { /* the parent's, whose events are not here */
        memset(p, 0, sizeof *p);
        PLUMB_RELEASE(p->pid, (uint32_t)plumb_rt.pid);
    }
    if (!p && (p = plumb_pages_map(sizeof *p)) != NULL) {
        p->pid = (uint32_t)plumb_rt.pid;
        PLUMB_RELEASE(th->perf, p);
    }
    return p;
}

/* Threads wait for the collector's at most an eighth of the time, all together, plus WAIT_NS: on a
 * busy machine it may not run for milliseconds. Returns false when `*word` still is `seen`. */
static bool wait_for(uint32_t *word, uint32_t seen)
{
    static uint64_t first_ns, waited_ns; /* atomic */
    uint64_t none = 0, now = plumb_clock_gettime_ns(CLOCK_MONOTONIC), since = now;
    uint64_t budget = PLUMB_LOAD(first_ns);
    __atomic_compare_exchange_n(&first_ns, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    budget = budget ? (now - budget) / 8 + WAIT_NS : WAIT_NS;
    PLUMB_ADD(plumb_perf_asks, 1);
    plumb_futex_wake(&plumb_perf_asks);
    while (PLUMB_ACQUIRE(*word) == seen && now - since < WAIT_NS &&
           PLUMB_LOAD(waited_ns) <= budget && plumb_perf_is_on()) {
        plumb_futex_wait(word, seen, WAIT_NS - (now - since));
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    }
    PLUMB_ADD(waited_ns, now - since);
    return PLUMB_ACQUIRE(*word) != seen;
}

/* Asks for the events of this thread, once. */
static void want(struct plumb_perf_thread *p, const struct plumb_thread *th)
{
    uint32_t state = PLUMB_ACQUIRE(p->state);
    if (plumb_perf_plan.simulated || !plumb_perf_plan.events)
        return;
    if (state == PLUMB_PERF_BUSY || state == PLUMB_PERF_WANTED ||
        (state == PLUMB_PERF_OPEN && is_of(p, th)))
        return;
    /* While the old events are being closed, the next stage tries again. */
    if (!__atomic_compare_exchange_n(&p->state, &state, PLUMB_PERF_BUSY, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    p->tid = th->tid;
    p->generation = th->live->generation;
    /* Counts of the events before have nothing in common with those of the next. */
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++)
        p->own.value[i] = p->own.enabled[i] = p->own.running[i] = 0;
    PLUMB_RELEASE(p->state, PLUMB_PERF_WANTED);
    wait_for(&p->state, PLUMB_PERF_WANTED);
}

static bool is_open(const struct plumb_perf_thread *p, const struct plumb_thread *th)
{
    return PLUMB_ACQUIRE(p->state) == PLUMB_PERF_OPEN && is_of(p, th);
}

/* Has the collector's thread read those that it alone can read. */
static void ask(struct plumb_perf_thread *p, const struct plumb_thread *th)
{
    uint32_t before = PLUMB_LOAD(p->answered), ticket;
    p->slow.known = 0;
    if (!is_open(p, th) || !p->by_fd)
        return;
    /* After the last look at the answer before. */
    ticket = __atomic_add_fetch(&p->asked, 1, __ATOMIC_RELEASE);
    while (before != ticket && wait_for(&p->answered, before))
        before = PLUMB_ACQUIRE(p->answered);
    if (PLUMB_ACQUIRE(p->answered) == ticket)
        p->slow = p->answer;
}

/* ---- Readings -------------------------------------------------------------------------------- */

/* Reads what this thread can read itself. Inside enter. */
static void read_now(struct plumb_perf_reading *out, const struct plumb_perf_thread *p,
                     const struct plumb_thread *th)
{
    out->known = 0;
    plumb_perf_read_soft(out, plumb_perf_plan.soft);
    if (plumb_perf_plan.simulated)
        plumb_perf_read_simulated(out, plumb_perf_plan.events);
    if (!is_open(p, th))
        return;
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; i < PLUMB_PERF_COUNTERS; i++)
        if (p->by_page & PLUMB_PERF_BIT(i))
            plumb_perf_read_page(out, i, &p->event[i]);
}

static void add_slow(struct plumb_perf_reading *out, const struct plumb_perf_reading *slow)
{
    for (uint32_t i = PLUMB_PERF_FIRST_EVENT; slow->known && i < PLUMB_PERF_COUNTERS; i++) {
        if (!(slow->known & PLUMB_PERF_BIT(i)))
            continue;
        out->value[i] = slow->value[i];
        out->enabled[i] = slow->enabled[i];
        out->running[i] = slow->running[i];
        out->known |= PLUMB_PERF_BIT(i);
    }
}

/* Takes off plumb's own work. Counts of the descriptors' events have no such part: they are read
 * once in a boundary. */
static void settle(struct plumb_perf_reading *r, const struct plumb_perf_thread *p)
{
    plumb_perf_without(r, &p->own);
    add_slow(r, &p->slow);
}

void plumb_perf_before(struct plumb_thread *th)
{
    struct plumb_perf_thread *p;
    struct plumb_in in;
    if (!plumb_enter(&in, false))
        return;
    p = in.th == th && plumb_perf_is_on() ? counters_of(th) : NULL;
    if (p) {
        want(p, th);
        if (th->stages == 0)
            memset(&p->own, 0, sizeof p->own);
        read_now(&p->before, p, th);
        ask(p, th);
    }
    plumb_leave(in);
}

/* Begins an interval. The number of openings is read first: events that are opened in between are
 * then those of another one. */
static void begin(struct plumb_perf_begun *b, const struct plumb_perf_thread *p,
                  const struct plumb_thread *th)
{
    b->opened = PLUMB_LOAD(p->opened);
    read_now(&b->at, p, th);
}

void plumb_perf_begin(struct plumb_in in, uint32_t at)
{
    struct plumb_perf_thread *p = in.th->perf;
    struct plumb_perf_begun *b = &p->stage[at];
    b->at.known = 0;
    if (!plumb_perf_is_on() || p->pid != (uint32_t)plumb_rt.pid || !p->before.known)
        return;
    begin(b, p, in.th);
    plumb_perf_add_own(&p->own, &p->before, &b->at);
    p->before.known = 0;
    settle(&b->at, p);
}

/* Returns the counts since `begun`; another opening of the events has none in common with it. */
static bool since(struct plumb_perf_counts *out, const struct plumb_perf_thread *p,
                  const struct plumb_perf_begun *begun, struct plumb_perf_reading *now)
{
    if (begun->opened != PLUMB_LOAD(p->opened))
        now->known &= PLUMB_PERF_SOFT;
    plumb_perf_between(out, &begun->at, now);
    return out->known != 0;
}

bool plumb_perf_end(struct plumb_in in, uint32_t at, struct plumb_perf_counts *out)
{
    struct plumb_perf_thread *p = in.th->perf;
    struct plumb_perf_reading now;
    bool any;
    if (!plumb_perf_is_on() || p->pid != (uint32_t)plumb_rt.pid || !p->stage[at].at.known)
        return false;
    read_now(&now, p, in.th);
    p->before = now;
    ask(p, in.th);
    settle(&now, p);
    any = since(out, p, &p->stage[at], &now);
    p->stage[at].at.known = 0;
    return any;
}

void plumb_perf_after(struct plumb_thread *th)
{
    struct plumb_perf_thread *p;
    struct plumb_perf_reading now;
    struct plumb_in in;
    if (!plumb_enter(&in, true))
        return;
    p = in.th == th && plumb_perf_is_on() ? th->perf : NULL;
    if (p && p->pid == (uint32_t)plumb_rt.pid && p->before.known) {
        read_now(&now, p, th);
        plumb_perf_add_own(&p->own, &p->before, &now);
        p->before.known = 0;
    }
    plumb_leave(in);
}

/* ---- The ledger ------------------------------------------------------------------------------ */

/* Returns the entry of a kernel, or of a stage (`kernel` 0), made if needed; NULL: the mapping is
 * full. */
static struct plumb_live_perf *entry_of(struct plumb_run *run, uint64_t key, uint32_t kernel,
                                        bool staged)
{
    uint64_t id = (uint64_t)kernel << 40 | (staged ? key + 1 : 0);
    uint64_t known = plumb_map_get(&run->perfs, id);
    struct plumb_live_perf *e;
    if (known)
        return plumb_table_at(run, &run->h->perfs, (uint32_t)known - 1);
    if (kernel && kernel != OTHER && run->h->perfs.count >= PLUMB_LIVE_KERNELS)
        return entry_of(run, key, OTHER, staged);
    plumb_lock();
    e = plumb_table_add(run, &run->h->perfs);
    if (e && plumb_map_put(&run->perfs, id, run->h->perfs.count + 1) == PLUMB_OK) {
        memset(e, 0, sizeof *e);
        e->key = staged ? key : 0;
        e->kernel = kernel;
        e->staged = staged;
        plumb_table_commit(&run->h->perfs);
    } else {
        e = NULL;
    }
    plumb_unlock();
    return e;
}

static void add(struct plumb_run *run, struct plumb_live_perf *e,
                const struct plumb_perf_counts *counts)
{
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(run, plumb_key_group(e->key));
    uint32_t generation = PLUMB_LOAD(p->reset_generation);
    struct plumb_live_perf_figures *to = &e->copy[(e->shown + 1) & 1];
    *to = e->copy[e->shown & 1];
    if (e->shown == 0 || to->reset_generation != generation)
        memset(to, 0, sizeof *to);
    to->reset_generation = generation;
    to->runs++;
    for (uint32_t i = 0; i < PLUMB_PERF_COUNTERS; i++) {
        struct plumb_live_perf_sum *s = &to->counter[i];
        if (!(counts->known & PLUMB_PERF_BIT(i)))
            continue;
        s->total = plumb_total_add(s->total, counts->value[i]);
        s->runs++;
        s->scaled += (counts->scaled & PLUMB_PERF_BIT(i)) != 0;
        s->enabled_ns = plumb_total_add(s->enabled_ns, counts->enabled[i]);
        s->running_ns = plumb_total_add(s->running_ns, counts->running[i]);
    }
    PLUMB_RELEASE(e->shown, e->shown + 1);
}

void plumb_perf_enter(struct plumb_run *run, uint64_t key, const struct plumb_perf_counts *counts)
{
    struct plumb_live_perf *e = entry_of(run, key, 0, true);
    if (e)
        add(run, e, counts);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

void plumb_perf_kernel_begin(struct plumb_in in, uint64_t lane)
{
    struct plumb_perf_thread *p = plumb_perf_is_on() ? counters_of(in.th) : NULL;
    struct plumb_perf_kernel *k;
    if (!p)
        return;
    want(p, in.th);
    if (p->kernels == PLUMB_PERF_KERNELS) /* kernels that failed were never taken off */
        memmove(p->kernel, p->kernel + 1, --p->kernels * sizeof *p->kernel);
    k = &p->kernel[p->kernels++];
    k->lane = lane;
    k->ticks = plumb_ticks_from(in.th->clock);
    begin(&k->begun, p, in.th);
}

void plumb_perf_kernel_end(struct plumb_in in, uint64_t lane, uint64_t begin_ticks, uint32_t name,
                           uint64_t stage)
{
    struct plumb_perf_thread *p = plumb_perf_is_on() ? in.th->perf : NULL;
    struct plumb_perf_reading now;
    struct plumb_perf_counts counts;
    struct plumb_live_perf *e;
    uint32_t at;
    if (!p || p->pid != (uint32_t)plumb_rt.pid)
        return;
    read_now(&now, p, in.th);
    for (at = p->kernels; at > 0; at--)
        if (p->kernel[at - 1].lane == lane && p->kernel[at - 1].ticks <= begin_ticks)
            break;
    if (at == 0)
        return;
    p->kernels = at - 1;
    if (!since(&counts, p, &p->kernel[at - 1].begun, &now))
        return;
    plumb_ledger_lock();
    e = entry_of(in.run, stage ? stage - 1 : 0, name ? name : OTHER, stage != 0);
    if (e)
        add(in.run, e, &counts);
    plumb_ledger_unlock();
}
