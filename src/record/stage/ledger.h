/* ledger.h: the ledger of stages, requests and memory, which several files write under one lock.
 *
 * The lock (plumb_rt.ledger_lock) is taken a few times a stage and once an allocator event. Its
 * holder is always inside the runtime (plumb_enter), so no signal handler on its thread can want
 * the lock, and the run stays open. Order: ledger_lock before lock. The helper takes it for
 * samples. It is never held during calls to code outside plumb.
 *
 * A *memory scope* is an interval whose memory is measured: a stage, a node that asks, a request;
 * and, at the bottom of each thread of control, its root. Scopes form trees: a block is allocated
 * in the innermost scope of its thread, and a worker that adopts a context works in the scope that
 * it was captured in. A scope sees the blocks that the scope around it saw when it was opened, and
 * those allocated in it since, until they are freed. On one thread these are all blocks of the
 * thread; blocks that a stage on another thread allocates are not among them. */
#ifndef PLUMB_RECORD_STAGE_LEDGER_H
#define PLUMB_RECORD_STAGE_LEDGER_H

#include "base/process/perf.h"
#include "record/runtime/enter.h"
#include <plumb/collector.h>
#include <plumb/memory.h>
#include <plumb/stage.h>
#include <plumb/value.h>

/* ---- ledger.c: lock and entries -------------------------------------------------------------- */

/* Enters the runtime and takes the lock. After true the caller must call plumb_ledger_leave();
 * false: not possible now. */
bool plumb_ledger_enter(struct plumb_in *in, bool even_if_off);
void plumb_ledger_leave(struct plumb_in in);
/* Open the ledger at the begin of a run, before threads can enter it, and close it at its end, when
 * they no longer can. */
void plumb_ledger_open(struct plumb_run *run);
void plumb_ledger_close(struct plumb_run *run);

/* Under the lock: returns the entry of a key, made if needed. NULL: the mapping is full. */
struct plumb_live_stage *plumb_ledger_stage(struct plumb_run *run, uint64_t key);
/* Publishes `m` as the new content of a pair. */
void plumb_ledger_show(struct plumb_live_memory_pair *pair, const struct plumb_live_memory *m);
/* Adds a run's memory to the published content of a pair. */
void plumb_ledger_add(struct plumb_live_memory_pair *pair, const struct plumb_live_memory *run,
                      uint32_t reset_generation);
/* The figures of a finished run of a stage. */
struct plumb_stage_entry {
    uint64_t key, begin_ticks, end_ticks, own_ticks;
    uint64_t self_ticks; /* without all nested spans; only set if the run has a signature */
    uint64_t device_ns, device_samples; /* of its node, recorded while it was open */
    uint64_t device_within_ns;          /* the same of other nodes */
    uint64_t request;
    int64_t step; /* -1: none, as of async spans */
    uint32_t tid, depth;
    uint64_t within; /* as of plumb_stage_within() */
    const char *why; /* of a failure; NULL: no reason was given */
    bool failed, stage, outermost;
    bool async;  /* it is an async span */
    bool tops;   /* no stage of the same request is around it */
    bool counts; /* set by plumb_ledger_stage_run(): the key's statistics include it */
    /* Counters of its thread (perf.h); NULL: nothing was counted, or a run of the same key is
     * around it, whose counts include these. */
    const struct plumb_perf_counts *perf;
    struct plumb_live_memory memory;
};
static inline uint64_t plumb_stage_took(const struct plumb_stage_entry *e)
{
    return e->end_ticks > e->begin_ticks ? e->end_ticks - e->begin_ticks : 0;
}
void plumb_ledger_stage_run(struct plumb_run *run, struct plumb_stage_entry *e);

/* step_figures.c, under the lock: add a run to the counts of its step: the peaks of pools, and what
 * `e->perf` has. */
void plumb_step_peaks(struct plumb_run *run, const struct plumb_stage_entry *e);
void plumb_step_counters(struct plumb_run *run, const struct plumb_stage_entry *e);

/* The resident set, read before the lock is taken. */
struct plumb_rss {
    uint64_t now, high; /* `high`: see plumb_resident_high(); with exact peaks VmHWM */
};
/* Returns a reading by the helper that is at most 0.1 ms old, with exact peaks a new one. If the
 * helper does not answer soon, returns its last reading. */
struct plumb_rss plumb_rss_read(void);
void plumb_rss_take(void);  /* PLUMB_JOB_RSS */
void plumb_rss_reset(void); /* PLUMB_JOB_RSS_RESET: restarts the kernel's peak */

/* ---- memory_series.c: memory over time, checkpoints ------------------------------------------ */

/* Takes a sample: reads the resident set and stores it, and the pools, with the present time.
 * Called by the helper; takes the lock. Returns the pause until the next sample in ns, 0: no
 * further one. */
uint64_t plumb_series_sample(struct plumb_run *run);
/* Under the lock. */
void plumb_series_point(struct plumb_run *run, uint64_t ticks, uint64_t rss);
void plumb_checkpoint_impl(const char *name, uint32_t baseline);
/* Under the lock: drops the checkpoints of the section that `request` takes over. */
void plumb_checkpoints_drop(struct plumb_run *run, uint64_t request);
/* Under the lock: sets the memory held now, and its peak since a scope last reset the peaks. */
void plumb_memory_held(struct plumb_run *run, const struct plumb_rss *rss,
                       struct plumb_live_memory *out);

static inline void plumb_raise_to(int64_t *peak, int64_t now)
{
    if (now > *peak)
        *peak = now;
}

/* ---- memory.c: scopes ------------------------------------------------------------------------ */

enum plumb_scope_flags {
    PLUMB_SCOPE_RSS = 1,         /* the resident set is read at both ends */
    PLUMB_SCOPE_RUNNING_PEAK = 2 /* peaks continue from the previous scope */
};
/* Under the lock: opens a scope inside the thread's innermost one, and makes it the innermost.
 * Returns 0 if there is no memory for it. */
uint32_t plumb_scope_open(struct plumb_in in, uint32_t flags, const struct plumb_rss *rss);
/* Closes it and sets `out` to its figures. The thread's innermost scope is then the one around
 * it. */
void plumb_scope_close(struct plumb_in in, uint32_t scope, const struct plumb_rss *rss,
                       struct plumb_live_memory *out);
/* Returns the scope that an event of this thread counts for, made if the thread has none. */
uint32_t plumb_scope_of(struct plumb_in in);
/* Returns the number of scopes opened so far; a block stores it, with its scope. */
uint64_t plumb_scope_clock(void);
void plumb_scope_allocated(uint32_t scope, uint32_t pool, uint64_t bytes);
/* Removes a block of `scope`, allocated at plumb_scope_clock() `born`. O(open scopes of its thread
 * of control). */
void plumb_scope_freed(uint32_t scope, uint64_t born, uint32_t pool, uint64_t bytes);
/* Updates the scopes' peaks with the pool's present sums. */
void plumb_scopes_pool_peak(uint32_t pool, int64_t allocated, int64_t reserved);
/* Adds a block's reference to its scope, whose number is then not reused. */
void plumb_scope_hold(uint32_t scope);
void plumb_scope_release(uint32_t scope);
/* Returns a scope's number with part of its serial, for a context. A thread that adopts it works in
 * the innermost scope at or around that one which is still open. It works in its own root if none
 * is open, or if contexts were captured in more than 4096 other scopes since. Adopting returns the
 * scope to restore. */
uint32_t plumb_scope_capture(uint32_t scope);
uint32_t plumb_scope_adopt(struct plumb_thread *th, uint32_t token);
void plumb_scope_return(struct plumb_thread *th, uint32_t before);
/* The thread has left all contexts: closes its root. */
void plumb_scope_thread_ends(struct plumb_thread *th);
void plumb_scopes_sampled(struct plumb_run *run,
                          uint64_t rss); /* raises the peaks of open scopes */
void plumb_scopes_reset_peak(struct plumb_in in);
uint64_t plumb_scopes_rss_peak(void); /* since a scope last reset the peaks */
void plumb_scopes_open(void);         /* a new run */

/* ---- memory_pool.c: allocator events --------------------------------------------------------- */

void plumb_mem_event_impl(uint32_t event, const char *device, const char *pool, const void *address,
                          uint64_t bytes);
void plumb_memory_now_impl(plumb_memory *out, const char *device, const char *pool);
void plumb_pools_open(struct plumb_run *run);
/* After the run: determines leaks and holes. */
void plumb_pools_close(struct plumb_run *run);
/* Under the lock: determines the holes in the reserved segments. */
void plumb_pools_holes(struct plumb_run *run);
void plumb_pools_reset_peak(struct plumb_run *run);
/* Peaks of pool `i` since the last reset. */
void plumb_pool_peaks(uint32_t i, int64_t *allocated, int64_t *reserved);
static inline struct plumb_live_pool *plumb_pool_at(struct plumb_run *run, uint32_t i)
{
    return PLUMB_AT(run, struct plumb_live_pool, run->h->ledger.pools.off[i]);
}

/* ---- malloc_events.c: malloc ----------------------------------------------------------------- */

void plumb_mem_sized_impl(uint32_t event, uint64_t bytes);
/* Under the lock: passes on the thread's pending sums, and those that were kept aside. */
void plumb_sized_flush(struct plumb_in in);
/* Returns whether the ending process has sums for which no run has opened. */
bool plumb_sized_waits(void);
void plumb_sized_forget(void); /* no run is wanted any more: drops what was kept aside for it */
void plumb_sized_sample(struct plumb_run *run); /* under the lock: passes on what was kept aside */
void plumb_sized_close(struct plumb_run *run);  /* when the run is over, after the threads' sums */
/* Between the two no allocation waits for a lock of the runtime. Called before taking locks whose
 * holder may wait for others: libc's, or those of other fork handlers. */
void plumb_sized_shut(void);
void plumb_sized_unshut(void);
void plumb_sized_before_fork(void); /* under the lock */
void plumb_sized_after_fork(void);  /* in the parent */
void plumb_sized_forked(void);      /* in the child */

/* ---- signature.c: inputs and outputs of stages ----------------------------------------------- */

void plumb_stage_value_impl(plumb_span stage, uint32_t part, const char *name,
                            const plumb_value *value);
/* Under the lock, after plumb_ledger_stage_run(): enters the signature of a run that ended without
 * failure. */
struct plumb_pack;
void plumb_signature_enter(struct plumb_run *run, const struct plumb_stage_entry *e,
                           const struct plumb_pack *pack);

/* ---- device.c: launches, device time and waits ----------------------------------------------- */

/* Record that a piece of work was launched; that it has finished, after `ns`; that the calling
 * thread has waited `ns` for it. Each takes the lock. Inside enter. */
void plumb_device_launched(struct plumb_in in, const plumb_origin *origin);
void plumb_device_done(struct plumb_in in, const plumb_origin *origin, uint64_t ns);
void plumb_device_waited(struct plumb_in in, const plumb_origin *origin, uint64_t ns);

/* ---- request.c ------------------------------------------------------------------------------- */

plumb_request plumb_request_begin_impl(const char *id, const plumb_pair *metadata);
void plumb_request_end_impl(plumb_request request, uint32_t failed, const char *why);
/* Under the lock: returns the serial of the request that the thread works for; 0: none, or it is
 * over. */
uint64_t plumb_request_current(struct plumb_in in);
/* Under the lock: returns the section of a request; NULL: it is not kept. */
struct plumb_live_section *plumb_request_section(struct plumb_run *run, uint64_t request);
/* Under the lock: adds a finished run of a stage to its request. */
void plumb_request_stage(struct plumb_run *run, const struct plumb_stage_entry *e);
/* Under the lock: adds the time of stages inside a dropped one. */
void plumb_request_took(struct plumb_run *run, uint64_t request, uint64_t ticks);
/* Under the lock: returns the device figures of a stage of a request; NULL: they are not kept. */
struct plumb_live_device_use *plumb_request_use(struct plumb_run *run, uint64_t request,
                                                uint64_t key);

#endif
