/* thread.c: thread records: made at a thread's first span, reused when the thread has ended.
 *
 * A record and its block in the mapping outlive their thread: the next new thread takes both over,
 * statistics included, so ten thousand short threads cost as much as the few that lived at once. A
 * thread that records after its last destructor abandons its record. A thread that needs a record
 * checks a few at a time for owners that are gone, so the number of abandoned records stays in
 * proportion to the living threads. */
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/futex.h"
#include "base/pages.h"
#include "record/collect/sched.h"
#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/names.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/run_wanted.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/region.h"
#include "record/span/ring.h"
#include "record/span/scope.h"
#include "record/span/thread_lock.h"
#include "record/stage/ledger.h"
#include "record/stage/stage.h"
#include "record/trace/active_steps.h"
#include "record/trace/nvtx.h"
#include "record/trace/trace.h"

enum {
    LOOKS = 8,       /* checks for abandoned records, each time one is needed */
    SHARED_PART = 16 /* one part in so many of a run is not for threads */
};

__thread struct plumb_thread *plumb_tls __attribute__((tls_model("initial-exec")));

static uint32_t my_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

struct plumb_thread *plumb_thread_new(void)
{
    struct plumb_thread *th = plumb_pages_map(sizeof *th);
    if (th) {
        th->wiped = plumb_pages_wipe(th, PLUMB_THREAD_WIPED, true);
        th->step = -1;
        th->top = th->open;
        th->clock = plumb_rt.clock;
    }
    return th;
}

/* Ends a thread's recording and separates it from its record, which is then the caller's. Spans
 * that are still open are closed as unbalanced. */
static bool part(struct plumb_thread *th)
{
    struct plumb_in in = {th, NULL};
    /* Busy here means that the thread was cancelled asynchronously inside plumb: its work cannot be
     * finished. The record stays as it is, and the reader of the mapping repairs it. */
    if (PLUMB_LOAD(th->busy))
        return false;
    PLUMB_STORE(th->busy, 1);
    plumb_order();
    /* After busy is set: a run that ends now waits for this thread, one that has ended is not
     * touched. */
    in.run = plumb_is_attached(th) ? plumb_run_inside(th) : NULL;
    if (in.run) {
        if (PLUMB_LOAD(th->tid) == my_tid()) /* otherwise the record was abandoned, with its name */
            plumb_trace_name(th);
        if (plumb_depth(th)) {
            plumb_regions_closing(in, 0);
            plumb_close_to(in, 0, PLUMB_CLOSE_THREAD);
        }
        if (plumb_ring_holds_any(th))
            plumb_block_settle(in, plumb_ticks_from(th->clock));
        plumb_stages_closed(in, 0);
        th->unhooked = 0; /* the program's functions are not called from a thread's destructor */
        plumb_scopes_return(in, 0);
        plumb_ledger_lock();
        plumb_sized_flush(in);
        plumb_scope_thread_ends(th);
        plumb_ledger_unlock();
    }
    plumb_order();
    plumb_lock();
    PLUMB_STORE(th->gate, 0);
    if (in.run && plumb_belongs(th, plumb_rt.run))
        PLUMB_STORE(th->live->in_use, 0);
    th->scopes = th->path_depth = 0;
    th->group = 0;
    th->step = -1;
    th->stack.begin = th->stack.end = 0;
    th->memory = th->memory_root = 0;
    th->memory_adopted = 0;
    th->request = 0;
    th->nvtx_depth = 0;
    PLUMB_STORE(th->tid, 0);
    if (plumb_tls == th)
        plumb_tls = NULL;
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
    plumb_unlock();
    return true;
}

/* Under the lock. */
static void make_idle(struct plumb_thread *th)
{
    th->taken = false;
    th->next_idle = plumb_rt.idle;
    plumb_rt.idle = th;
}

/* Runs as a thread-specific destructor, also for threads that were cancelled; spans that later
 * destructors begin get a fresh attachment. */
void plumb_thread_release(struct plumb_thread *th)
{
    if (!part(th))
        return;
    plumb_lock();
    make_idle(th);
    plumb_unlock();
}

static void on_thread_exit(void *arg)
{
    plumb_nvtx_pop_to(arg, 0);
    plumb_thread_release(arg);
}

void plumb_barrier(void)
{
    if (plumb_rt.membarrier && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    /* Without membarrier(), a store of another processor becomes visible when its store buffer
     * drains, which takes far less than a switch away and back. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    plumb_nap(1000000);
}

bool plumb_thread_is_gone(const struct plumb_thread *th)
{
    int saved = errno;
    uint32_t tid = PLUMB_LOAD(th->tid);
    bool gone = tid && syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) < 0 && errno == ESRCH;
    errno = saved;
    return gone;
}

bool plumb_thread_await(const struct plumb_thread *th, uint64_t deadline_ns)
{
    /* A thread that only holds the lock reads the run from plumb_rt.run, and will find none. */
    while (PLUMB_ACQUIRE(th->busy) == PLUMB_BUSY_RECORDING) {
        if (PLUMB_ACQUIRE(th->frozen) || plumb_thread_is_gone(th))
            return true;
        if (th == plumb_tls || plumb_clock_gettime_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return false;
        plumb_helper_pause(1000000);
    }
    return true;
}

/* Under the lock: returns an abandoned record, now the caller's, who must separate it from its
 * thread. */
static struct plumb_thread *left_behind(void)
{
    struct plumb_thread *th = NULL;
    for (int i = 0; i < LOOKS && !th && plumb_rt.threads; i++) {
        th = plumb_rt.looked_at;
        th = plumb_rt.looked_at = th && th->next ? th->next : plumb_rt.threads;
        if (PLUMB_LOAD(th->busy) || !plumb_thread_is_gone(th))
            th = NULL;
        else
            PLUMB_STORE(th->tid, 0); /* no other thread will take it */
    }
    return th;
}

/* Returns a record without a thread, now the caller's: an idle one, otherwise an abandoned one. An
 * idle one is taken when it is seen, and an abandoned one is not made idle first: another thread
 * could take it in between, and the caller would make a new one, again and again. */
static struct plumb_thread *spare_record(void)
{
    struct plumb_thread *th, *left = NULL;
    plumb_lock();
    th = plumb_rt.idle;
    if (th)
        plumb_rt.idle = th->next_idle;
    else
        left = left_behind();
    if (th || left)
        (th ? th : left)->taken = true;
    plumb_unlock();
    return left && part(left) ? left : th;
}

/* Returns `th`, an idle record, or a new one. Under the lock. */
static struct plumb_thread *take_record(struct plumb_thread *th)
{
    if (!plumb_rt.exit_key_made)
        plumb_rt.exit_key_made = pthread_key_create(&plumb_rt.exit_key, on_thread_exit) == 0;
    if (th) {
        /* already the caller's */
    } else if ((th = plumb_rt.idle) != NULL) {
        plumb_rt.idle = th->next_idle;
    } else if ((th = plumb_thread_new()) != NULL) {
        th->next = plumb_rt.threads;
        PLUMB_RELEASE(plumb_rt.threads, th);
    }
    if (th) {
        th->taken = false;
        th->clock = plumb_rt.clock;
        PLUMB_STORE(th->tid, my_tid());
    }
    return th;
}

struct plumb_thread *plumb_thread_self(void)
{
    struct plumb_thread *th = plumb_tls, *spare;
    if (th || plumb_locked)
        return th;
    spare = spare_record();
    plumb_lock();
    th = plumb_tls;
    if (th && spare) /* a handler ran in between and has taken one */
        make_idle(spare);
    else if (!th && (th = take_record(spare)) != NULL)
        plumb_lock_is_of(th);
    plumb_unlock();
    if (th && plumb_rt.exit_key_made)
        pthread_setspecific(plumb_rt.exit_key, th);
    return th;
}

void plumb_thread_gate(struct plumb_thread *th)
{
    const struct plumb_pipeline *p = &plumb_rt.pipelines[PLUMB_LOAD(th->group) >> 8];
    uint32_t set = 0;
    /* Scopes may outlive a run; an ended run has no data to read. */
    if (!plumb_is_attached(th))
        return;
    set |= p->enabled ? 0 : PLUMB_GATE_OFF;
    set |= p->sync ? PLUMB_GATE_SYNC : 0;
    set |= plumb_rt.settings.memory == PLUMB_MEMORY_ALL ? PLUMB_GATE_MEMORY : 0;
    set |= plumb_nvtx_emits() ? PLUMB_GATE_NVTX : 0;
    set |= plumb_traces((struct plumb_in){th, plumb_rt.run}, PLUMB_TRACE_HAS_STACK)
               ? PLUMB_GATE_STACK
               : 0;
    /* Two steps, so that the other bits, which their owners change, are never written back. */
    __atomic_fetch_or(&th->gate, set, __ATOMIC_RELAXED);
    __atomic_fetch_and(&th->gate,
                       ~((PLUMB_GATE_OFF | PLUMB_GATE_SYNC | PLUMB_GATE_MEMORY | PLUMB_GATE_NVTX |
                          PLUMB_GATE_STACK) &
                         ~set),
                       __ATOMIC_RELAXED);
}

/* The size of a thread in docs/how-it-works.md and docs/environment.md. */
_Static_assert(sizeof(struct plumb_live_thread) + (16 << 10) +
                           64 * sizeof(struct plumb_live_tree) <=
                       160 * 1000 &&
                   sizeof(struct plumb_live_queue) <= 32 * 1000 &&
                   sizeof(struct plumb_live_state) <= 11 * 1000,
               "the documentation of PLUMB_MAX_STATE is out of date");

/* Returns a block in the mapping: one whose thread has ended, or a new one. */
static struct plumb_live_thread *live_thread(struct plumb_run *run, struct plumb_thread *th)
{
    struct plumb_live_thread *live;
    uint64_t off, ring;
    uint32_t blocks = (uint32_t)(plumb_rt.settings.ring_bytes / (PLUMB_BLOCK_WORDS * 8));
    size_t ring_bytes;
    if (blocks < 4)
        blocks = 4;
    ring_bytes = (size_t)blocks * PLUMB_BLOCK_WORDS * 8;
    /* A record that was attached to this run before returns to its own block. */
    if (plumb_belongs(th, run) && !th->live->in_use)
        return th->live;
    /* Threads leave a part of the mapping for shared objects: pools, names, nodes. A traced thread
     * has a queue too, at least to count its losses. */
    if (plumb_carve_left(run) < sizeof *live + ring_bytes +
                                    (PLUMB_LOAD(run->h->trace.mode) == PLUMB_LIVE_TRACE_NONE
                                         ? 0
                                         : sizeof(struct plumb_live_queue)) +
                                    run->mapped / SHARED_PART)
        return NULL;
    off = plumb_carve(run, sizeof *live);
    ring = off ? plumb_carve(run, ring_bytes) : 0;
    if (!ring)
        return NULL;
    live = PLUMB_AT(run, struct plumb_live_thread, off);
    live->ring_off = ring;
    live->blocks = blocks;
    live->tree.element_bytes = sizeof(struct plumb_live_tree);
    live->context.step = -1;
    live->next_off = run->h->thread_off;
    PLUMB_RELEASE(run->h->thread_off, off);
    run->h->threads++;
    return live;
}

/* Makes the fold's private memory: empty for a new block. */
static int fold_memory(struct plumb_thread *th, struct plumb_run *run)
{
    struct plumb_live_tree *root;
    plumb_map_fini(&th->tree_node_of);
    plumb_map_fini(&th->state_of);
    th->tree_count = 0;
    th->last_state = NULL;
    if (!th->tree) {
        PLUMB_RELEASE(th->tree, plumb_pages_map(64 * sizeof *th->tree));
        if (!th->tree)
            return PLUMB_ERR_MEMORY;
        th->tree_cap = 64;
    }
    root = plumb_table_add(run, &th->live->tree);
    if (!root)
        return PLUMB_ERR_MEMORY;
    root->parent = UINT32_MAX;
    plumb_table_commit(&th->live->tree);
    th->tree[0] = (struct plumb_tree_node){root, NULL, UINT64_MAX, UINT32_MAX, 0, 0, 0, 0, {0}};
    th->tree_count = 1;
    return PLUMB_OK;
}

static int attach_held(struct plumb_thread *th, struct plumb_run *run)
{
    struct plumb_live_thread *live = live_thread(run, th);
    const struct plumb_in in = {th, run};
    bool again = live && live == th->live && plumb_belongs(th, run);
    if (!live)
        return PLUMB_ERR_MEMORY;
    if (!again) {
        PLUMB_STORE(th->generation, 0);
        th->memory = th->memory_root = 0; /* numbers of an earlier run */
        th->memory_adopted = 0;
        th->request = 0;
        memset(&th->sized, 0, sizeof th->sized);
        th->live = live;
        if (fold_memory(th, run) < 0)
            return PLUMB_ERR_MEMORY;
    }
    PLUMB_STORE(live->tid, th->tid);
    PLUMB_STORE(live->generation, live->generation + 1);
    PLUMB_STORE(live->in_use, 1);
    plumb_trace_attach(in);
    plumb_active_attach(in);
    th->top = th->open;
    th->stages = th->unhooked = 0;
    memset(&th->regions, 0, sizeof th->regions);
    plumb_ring_attach(in, plumb_ticks_from(th->clock));
    /* Last: a thread that reads the generation then sees the rest. */
    PLUMB_RELEASE(th->generation, run->generation);
    return PLUMB_OK;
}

int plumb_thread_attach_to(struct plumb_thread *th, struct plumb_run *run)
{
    int rc;
    plumb_hold(th);
    rc = attach_held(th, run);
    plumb_hold_release(th);
    return rc;
}

static int attach(struct plumb_thread *th)
{
    int rc = PLUMB_OK;
    PLUMB_STORE(th->busy, PLUMB_BUSY_RECORDING);
    plumb_order();
    /* After busy is set: a handler, or a reported allocation of our own, may have attached the
     * thread. */
    if (plumb_is_attached(th))
        goto out;
    plumb_nvtx_pop_to(th, 0); /* ranges of an earlier run's spans that never ended */
    plumb_hold(th);           /* before the lock, which a holder of the thread may need */
    plumb_lock();
    th->clock = plumb_rt.clock;
    PLUMB_STORE(th->tid, my_tid());
    rc = plumb_rt.recording ? attach_held(th, plumb_rt.run) : PLUMB_ERR_STATE;
    if (rc == PLUMB_OK) {
        plumb_scopes_announce((struct plumb_in){th, plumb_rt.run});
        PLUMB_RELEASE(th->gate, PLUMB_GATE_OPEN);
        plumb_thread_gate(th);
    } else if (rc == PLUMB_ERR_MEMORY) {
        plumb_drop(plumb_rt.run, PLUMB_DROP_LOST);
    }
    plumb_unlock();
    plumb_hold_release(th);
    plumb_sched_attached();
out:
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
    return rc;
}

int plumb_thread_attach(struct plumb_thread *th)
{
    if (PLUMB_UNLIKELY(plumb_rt.pid != (uint32_t)getpid()))
        plumb_run_forked(false);
    if (!plumb_wanted() || (!PLUMB_LOAD(plumb_rt.recording) && plumb_run_open() < 0))
        return PLUMB_ERR_STATE;
    return attach(th);
}

int plumb_thread_attach_open(struct plumb_thread *th)
{
    if (plumb_rt.pid != (uint32_t)getpid() || !PLUMB_ACQUIRE(plumb_rt.recording))
        return PLUMB_ERR_STATE;
    return attach(th);
}

void plumb_thread_keep(struct plumb_thread *th, bool keep)
{
    if (th && th->wiped)
        plumb_pages_wipe(th, PLUMB_THREAD_WIPED, !keep);
}

void plumb_threads_forget(bool interrupted)
{
    struct plumb_thread *th = plumb_tls;
    plumb_rt.threads = plumb_rt.looked_at = NULL;
    plumb_rt.idle = NULL;
    if (interrupted) {
        if (th) {
            PLUMB_STORE(th->gate, 0);
            plumb_hold_release(th); /* perhaps held by a thread that is not in the child */
        }
        plumb_tls = NULL;
        return;
    }
    if (!th)
        return;
    /* If the kernel has not wiped the record, it is wiped here: its run was the parent's. */
    memset(th, 0, PLUMB_THREAD_WIPED);
    th->top = th->open;
    th->step = -1;
    th->next = NULL;
    PLUMB_STORE(th->tid, my_tid());
    plumb_rt.threads = th;
}
