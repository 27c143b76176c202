/* malloc_events.c: malloc events, which have only a size, from an interposer between a program and
 * its allocator.
 *
 * Events come by the million and from everywhere: inside locks of libc, in threads that live for a
 * microsecond, in signal handlers, between a fork and its child's first line. So
 *   - a thread sums up its own events, and passes the sum on under the ledger's lock when the node
 *     around it changes, after 256 events or 64 KiB. Figures are exact for a program with one
 *     thread; for others, peaks are exact to 64 KiB a thread.
 *   - an event never waits for a lock whose holder may wait for a lock of the caller. Code that
 *     needs a lock of ours is a *section*; fork and the opening of a run shut the sections before
 *     they take locks and call libc. Events during that time are kept aside (`aside`). The next
 *     thread to pass on a sum enters them, as made outside every node.
 *   - a handler that interrupted the runtime leaves its sums in its thread's record (`late`).
 *   - an allocation never opens a run. A wanted run opens with the first trace point, at the end of
 *     the process, or on a thread of plumb's a moment after the interposer's first event
 *     (PLUMB_MEM_HELD). Until then all events are kept aside. So a wrapper that soon execs another
 *     program leaves no run, and neither does a short helper program.
 * While no run is wanted, only the allocated bytes are counted, so a later run begins with the
 * right sum. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/count/count.h"
#include "record/runtime/count.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/run_wanted.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/stage/memory_pool.h"
#include "record/trace/trace.h"

enum {
    EVENTS = 256,
    BYTES = 65536,
    SHARDS = 16,
    SHUT_WAIT_US = 100000,
    SHUT_STEP_US = 50,
    OPEN_AFTER_MS = 100,       /* in the process that was asked to record */
    OPEN_BELOW_AFTER_MS = 1000 /* in the processes that it starts */
};
#define MOST_BYTES ((uint64_t)INT64_MAX / 4)

static struct {
    uint32_t told;    /* an interposer has reported itself */
    uint32_t asked;   /* this process is the one that was asked to record */
    uint32_t inside;  /* threads in sections */
    uint32_t shut;    /* threads that keep the sections shut */
    uint32_t no_room; /* generation of the run that another thread does not fit into */
    int64_t at_fork;  /* change of the allocated bytes in the run that the next child gives up */
    struct plumb_sized_sum aside;
    int64_t aside_most; /* the maximum of its net */
    struct {
        int64_t bytes;
        char alone[56]; /* in its cache line */
    } held[SHARDS];
} sized;

/* ---- Bytes that are allocated outside runs --------------------------------------------------- */

static void held_add(int64_t bytes)
{
    uintptr_t me = (uintptr_t)&plumb_tls;
    PLUMB_ADD(sized.held[(me >> 12 ^ me >> 6) % SHARDS].bytes, bytes);
}

/* Returns 0 without an interposer: only one reports the allocations as well as the releases. */
static int64_t held_now(void)
{
    int64_t sum = 0;
    if (!PLUMB_ACQUIRE(sized.told))
        return 0;
    for (int i = 0; i < SHARDS; i++)
        sum += PLUMB_LOAD(sized.held[i].bytes);
    return sum > 0 ? sum : 0;
}

static void held_event(uint32_t event, uint64_t bytes)
{
    held_add(event == PLUMB_MEM_ALLOC ? (int64_t)bytes : -(int64_t)bytes);
}

/* ---- Sections -------------------------------------------------------------------------------- */

static bool section_begin(void)
{
    __atomic_fetch_add(&sized.inside, 1, __ATOMIC_SEQ_CST);
    if (PLUMB_LIKELY(!__atomic_load_n(&sized.shut, __ATOMIC_SEQ_CST)))
        return true;
    __atomic_fetch_sub(&sized.inside, 1, __ATOMIC_RELEASE);
    return false;
}

static void section_end(void)
{
    __atomic_fetch_sub(&sized.inside, 1, __ATOMIC_RELEASE);
}

void plumb_sized_shut(void)
{
    __atomic_fetch_add(&sized.shut, 1, __ATOMIC_SEQ_CST);
    /* Bounded: this may be a handler that interrupted a section on its own thread. */
    for (int us = 0; us < SHUT_WAIT_US && PLUMB_ACQUIRE(sized.inside); us += SHUT_STEP_US)
        plumb_helper_pause(SHUT_STEP_US * 1000);
}

void plumb_sized_unshut(void)
{
    __atomic_fetch_sub(&sized.shut, 1, __ATOMIC_RELEASE);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void sum_event(struct plumb_sized_sum *s, uint32_t event, uint64_t bytes)
{
    bool alloc = event == PLUMB_MEM_ALLOC;
    PLUMB_ADD(*(alloc ? &s->allocs : &s->frees), 1);
    PLUMB_ADD(*(alloc ? &s->alloc_bytes : &s->free_bytes), bytes);
}

static uint64_t take(uint64_t *from)
{
    return PLUMB_LOAD(*from) ? __atomic_exchange_n(from, 0, __ATOMIC_RELAXED) : 0;
}

/* Moves a sum; other threads may be adding to both sums. */
static void sum_move(struct plumb_sized_sum *to, struct plumb_sized_sum *from)
{
    PLUMB_ADD(to->allocs, take(&from->allocs));
    PLUMB_ADD(to->alloc_bytes, take(&from->alloc_bytes));
    PLUMB_ADD(to->frees, take(&from->frees));
    PLUMB_ADD(to->free_bytes, take(&from->free_bytes));
}

static int64_t net_of(const struct plumb_sized_sum *s)
{
    return (int64_t)(s->alloc_bytes - s->free_bytes);
}

static bool is_empty(const struct plumb_sized_sum *s)
{
    return !(PLUMB_LOAD(s->allocs) | PLUMB_LOAD(s->frees));
}

static void owner_add(struct plumb_live_owner *o, const struct plumb_sized_sum *s)
{
    o->allocs += s->allocs;
    o->alloc_bytes += s->alloc_bytes;
    o->frees += s->frees;
    o->free_bytes += s->free_bytes;
}

static void count_sum(struct plumb_run *run, uint64_t key, int64_t step,
                      const struct plumb_sized_sum *s)
{
    struct plumb_count_event e = {.kind = PLUMB_COUNT_ALLOCATIONS,
                                  .group = key == PLUMB_OUTSIDE ? 0 : plumb_key_group(key),
                                  .node = key == PLUMB_OUTSIDE ? 0 : plumb_key_node(key),
                                  .step = step,
                                  .name = "cpu/malloc",
                                  .calls = s->allocs,
                                  .value = (int64_t)s->alloc_bytes};
    if (e.calls)
        plumb_cell_add(run, &e);
}

/* Under the lock. `most`: the maximum of the net of `s` over its events. */
static void enter_sum(struct plumb_run *run, uint64_t key, int64_t step,
                      const struct plumb_sized_sum *s, int64_t most)
{
    int i = plumb_pool_of_malloc(run, held_now());
    struct plumb_live_pool *p = i < 0 ? NULL : plumb_pool_at(run, (uint32_t)i);
    uint32_t owner = p ? plumb_owner_of(run, (uint32_t)i, key) : 0;
    if (!p) {
        plumb_drop(run, PLUMB_DROP_LOST);
        return;
    }
    if (owner)
        owner_add(plumb_owner_at(run, owner - 1), s);
    count_sum(run, key, step, s);
    p->allocs += s->allocs;
    p->alloc_bytes += s->alloc_bytes;
    p->frees += s->frees;
    p->free_bytes += s->free_bytes;
    plumb_pool_change(run, (uint32_t)i, net_of(s), 0, most);
}

static void raise_to(int64_t *most, int64_t now)
{
    int64_t seen = PLUMB_LOAD(*most);
    while (now > seen &&
           !__atomic_compare_exchange_n(most, &seen, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

static void aside_event(uint32_t event, uint64_t bytes)
{
    sum_event(&sized.aside, event, bytes);
    if (event == PLUMB_MEM_ALLOC)
        raise_to(&sized.aside_most, (int64_t)(PLUMB_LOAD(sized.aside.alloc_bytes) -
                                              PLUMB_LOAD(sized.aside.free_bytes)));
}

/* Under the lock. */
static void enter_aside(struct plumb_run *run)
{
    struct plumb_sized_sum s = {0, 0, 0, 0};
    int64_t most = PLUMB_LOAD(sized.aside_most);
    if (is_empty(&sized.aside))
        return;
    PLUMB_STORE(sized.aside_most, 0);
    sum_move(&s, &sized.aside);
    raise_to(&most, net_of(&s));
    enter_sum(run, PLUMB_OUTSIDE, -1, &s, most);
}

void plumb_sized_forget(void)
{
    struct plumb_sized_sum s = {0, 0, 0, 0};
    sum_move(&s, &sized.aside);
    PLUMB_STORE(sized.aside_most, 0);
    held_add(net_of(&s));
}

static void enter_part(struct plumb_in in, struct plumb_sized_part *part)
{
    int64_t net = net_of(&part->sum);
    if (!is_empty(&part->sum))
        enter_sum(in.run, plumb_key_node(part->key) ? part->key : PLUMB_OUTSIDE, part->step,
                  &part->sum, net > part->most ? net : part->most);
    memset(&part->sum, 0, sizeof part->sum);
    part->most = 0;
}

void plumb_sized_flush(struct plumb_in in)
{
    struct plumb_sized *s = &in.th->sized;
    enter_aside(in.run);
    for (uint32_t i = 0; i < s->parked_count; i++)
        enter_part(in, &s->parked[i]);
    s->parked_count = 0;
    if (!is_empty(&s->late))
        sum_move(&s->now.sum, &s->late);
    plumb_tally_pull(in.th);
    enter_part(in, &s->now);
    memset(&s->tallied, 0, sizeof s->tallied);
}

/* ---- The event ------------------------------------------------------------------------------- */

/* Keeps the sum of a node that has ended, while sections are shut. */
static void park(struct plumb_thread *th)
{
    struct plumb_sized *s = &th->sized;
    struct plumb_sized_part *to;
    int64_t most;
    uint32_t i = 0;
    while (i < s->parked_count &&
           (s->parked[i].key != s->now.key || s->parked[i].step != s->now.step))
        i++;
    to = i < PLUMB_SIZED_PARKED ? &s->parked[i] : NULL;
    if (to && i == s->parked_count) {
        memset(to, 0, sizeof *to);
        to->key = s->now.key;
        to->step = s->now.step;
        s->parked_count++;
    }
    most = (to ? net_of(&to->sum) : 0) + s->now.most;
    plumb_tally_pull(th);
    sum_move(to ? &to->sum : &sized.aside, &s->now.sum);
    memset(&s->tallied, 0, sizeof s->tallied);
    raise_to(to ? &to->most : &sized.aside_most, most);
    s->now.most = 0;
}

/* Under the lock, inside enter, on the thread itself: records the heap as a counter of the
 * trace. */
static void trace_heap(struct plumb_in in)
{
    int i =
        plumb_traces(in, PLUMB_TRACE_HAS_MEMORY) ? plumb_pool_of_malloc(in.run, held_now()) : -1;
    if (i >= 0)
        plumb_trace_pool(in, "cpu", "malloc", plumb_pool_at(in.run, (uint32_t)i)->allocated, 0);
}

/* Inside enter. `leaves`: the sum belongs to a node that has ended. */
static PLUMB_COLD void pass_on(struct plumb_thread *th, bool leaves)
{
    struct plumb_in in = {th, plumb_run_inside(th)};
    int saved = errno;
    if (in.run && section_begin()) {
        plumb_ledger_lock();
        plumb_sized_flush(in);
        trace_heap(in);
        plumb_ledger_unlock();
        section_end();
    } else if (leaves) {
        park(th);
    }
    errno = saved;
}

/* A record was written since the last event, so another node may be open now. */
static PLUMB_COLD void look_around(struct plumb_thread *th)
{
    struct plumb_sized *s = &th->sized;
    uint64_t key = plumb_innermost(th);
    if ((key != s->now.key || th->step != s->now.step) && !is_empty(&s->now.sum))
        pass_on(th, true);
    plumb_tally_settle(th);
    s->now.key = key;
    s->now.step = th->step;
    s->at = (uint64_t)(uintptr_t)th->head;
    s->base = th->base;
}

void plumb_sized_pass_on(struct plumb_in in)
{
    const struct plumb_sized *s = &in.th->sized;
    if (is_empty(&s->now.sum) && is_empty(&s->late) && is_empty(&sized.aside) && !s->parked_count)
        return;
    plumb_ledger_lock();
    plumb_sized_flush(in);
    plumb_ledger_unlock();
}

/* Inside enter. */
static PLUMB_ALWAYS_INLINE void count(struct plumb_thread *th, uint32_t event, uint64_t bytes)
{
    struct plumb_sized *s = &th->sized;
    struct plumb_sized_sum *sum = &s->now.sum;
    int64_t net;
    if (PLUMB_UNLIKELY(s->at != (uint64_t)(uintptr_t)th->head || s->base != th->base))
        look_around(th);
    if (event == PLUMB_MEM_ALLOC) {
        sum->allocs++;
        sum->alloc_bytes += bytes;
        net = net_of(sum);
        if (net > s->now.most)
            s->now.most = net;
    } else {
        sum->frees++;
        sum->free_bytes += bytes;
        net = net_of(sum);
    }
    if (PLUMB_UNLIKELY(sum->allocs + sum->frees >= EVENTS ||
                       (uint64_t)(net + BYTES) > 2 * (uint64_t)BYTES))
        pass_on(th, false);
}

/* Returns false if the thread was interrupted inside the runtime, or is not attached to an open
 * run. */
static PLUMB_ALWAYS_INLINE bool enter(struct plumb_thread *th)
{
    if (PLUMB_UNLIKELY(PLUMB_LOAD(th->busy)))
        return false;
    PLUMB_STORE(th->busy, PLUMB_BUSY_RECORDING);
    plumb_order();
    if (PLUMB_LIKELY(plumb_is_attached(th)))
        return true;
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
    return false;
}

static PLUMB_ALWAYS_INLINE void leave(struct plumb_thread *th)
{
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
}

/* Returns the thread's record, attached to the open run. NULL: not now, or never in this run. */
static struct plumb_thread *attach(void)
{
    struct plumb_thread *th = NULL;
    uint32_t generation = PLUMB_LOAD(plumb_rt.generation);
    if (PLUMB_LOAD(sized.no_room) == generation || !section_begin())
        return NULL;
    th = plumb_thread_self();
    if (th) {
        int rc = plumb_thread_attach_open(th);
        if (rc == PLUMB_ERR_MEMORY)
            PLUMB_STORE(sized.no_room, generation);
        if (rc < 0)
            th = NULL;
    }
    section_end();
    return th;
}

/* The first event of an interposer: `bytes` are already allocated. */
static void begin(uint64_t bytes)
{
    uint64_t asked = plumb_rt.settings.record_pid;
    held_add((int64_t)bytes);
    sized.asked = !asked || asked == plumb_rt.pid;
    PLUMB_RELEASE(sized.told, 1);
    if (plumb_wanted())
        plumb_periodic_open_later(sized.asked ? OPEN_AFTER_MS : OPEN_BELOW_AFTER_MS);
}

bool plumb_sized_waits(void)
{
    return PLUMB_ACQUIRE(sized.told) && sized.asked && !is_empty(&sized.aside);
}

static PLUMB_COLD void event_slow(uint32_t event, uint64_t bytes)
{
    struct plumb_thread *th = plumb_tls;
    if (bytes > MOST_BYTES)
        return;
    if (event == PLUMB_MEM_HELD) {
        begin(bytes);
        return;
    }
    if (event > PLUMB_MEM_FREE)
        return;
    /* plumb's own allocations are not the program's. */
    if (plumb_helper_is_me() || plumb_life_locked || !plumb_wanted()) {
        held_event(event, bytes);
        return;
    }
    if (!PLUMB_ACQUIRE(plumb_rt.recording)) {
        aside_event(event, bytes);
        return;
    }
    if (th && PLUMB_LOAD(th->busy) && plumb_is_attached(th)) {
        sum_event(&th->sized.late, event, bytes);
        return;
    }
    if ((th && PLUMB_LOAD(th->busy)) || plumb_locked || !(th = attach()) || !enter(th)) {
        aside_event(event, bytes);
        return;
    }
    count(th, event, bytes);
    leave(th);
}

void plumb_mem_sized_impl(uint32_t event, uint64_t bytes)
{
    struct plumb_thread *th = plumb_tls;
    if (PLUMB_LIKELY(th && event <= PLUMB_MEM_FREE && bytes <= MOST_BYTES && enter(th))) {
        count(th, event, bytes);
        leave(th);
    } else {
        int saved = errno;
        event_slow(event, bytes);
        errno = saved;
    }
}

/* ---- Samples, the end of a run, fork --------------------------------------------------------- */

void plumb_sized_sample(struct plumb_run *run)
{
    enter_aside(run);
}

/* Returns the change of the allocated bytes during the run. */
static int64_t change_of(struct plumb_run *run)
{
    int i = PLUMB_LOAD(sized.told) ? plumb_pool_of_malloc(run, held_now()) : -1;
    const struct plumb_live_pool *p = i < 0 ? NULL : plumb_pool_at(run, (uint32_t)i);
    return p ? p->allocated - p->held_before : 0;
}

void plumb_sized_close(struct plumb_run *run)
{
    enter_aside(run);
    held_add(change_of(run));
}

void plumb_sized_before_fork(void)
{
    struct plumb_thread *th = plumb_tls;
    struct plumb_run *run = plumb_rt.run;
    if (!run || !PLUMB_LOAD(plumb_rt.recording))
        return;
    if (th && !PLUMB_LOAD(th->busy) && plumb_is_attached(th) && plumb_belongs(th, run))
        plumb_sized_flush((struct plumb_in){th, run});
    sized.at_fork = change_of(run);
}

void plumb_sized_after_fork(void)
{
    sized.at_fork = 0;
}

void plumb_sized_forked(void)
{
    held_add(sized.at_fork);
    sized.at_fork = 0;
    sized.asked = sized.inside = sized.shut = 0;
    plumb_sized_forget();
}
