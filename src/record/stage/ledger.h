/* ledger.h: what the files share that enter stages, requests and memory: one book, one lock.
 *
 * The lock (plumb_rt.ledger_lock) is taken a few times a stage and once an allocator event, always
 * by a thread that is inside the runtime (plumb_enter), so that no signal handler can want it while
 * its thread holds it, and the run stays where it is. Order: ledger_lock before lock. The control
 * thread takes it for samples. Nothing calls out while it is held.
 *
 * A *memory scope* is an interval whose memory is measured: a stage, a node that asks, a request;
 * and, at the bottom of each thread of control, its root. Scopes form trees: a block is allocated
 * in the innermost scope of its thread, and a worker that adopts a context works in the scope that
 * it was captured in. A scope sees the blocks that the scope around it saw when it was opened, and
 * those allocated in it since, until they are freed: on one thread all that the thread holds;
 * nothing that a stage on another thread allocates. */
#ifndef PLUMB_RECORD_STAGE_LEDGER_H
#define PLUMB_RECORD_STAGE_LEDGER_H

#include "record/runtime/enter.h"
#include <plumb/collector.h>
#include <plumb/memory.h>
#include <plumb/stage.h>
#include <plumb/value.h>

/* ---- ledger.c: the book itself --------------------------------------------------------------- */

/* Enters the runtime and takes the lock; false: not now. The caller must call plumb_ledger_leave().
 */
bool plumb_ledger_enter(struct plumb_in *in, bool even_if_off);
void plumb_ledger_leave(struct plumb_in in);
/* At the begin of a run, before anybody can enter it; at its end, when nobody can any more. */
void plumb_ledger_open(struct plumb_run *run);
void plumb_ledger_close(struct plumb_run *run);

/* Under the lock: the entry of a key, made when missing; NULL: no room. */
struct plumb_live_stage *plumb_ledger_stage(struct plumb_run *run, uint64_t key);
/* Shows `m` as the new content of a pair. */
void plumb_ledger_show(struct plumb_live_memory_pair *pair, const struct plumb_live_memory *m);
/* Adds a run's memory to what a pair shows. */
void plumb_ledger_add(struct plumb_live_memory_pair *pair, const struct plumb_live_memory *run,
                      uint32_t reset_generation);
/* What a run of a stage left. */
struct plumb_stage_entry {
    uint64_t key, begin_ticks, end_ticks, own_ticks;
    uint64_t self_ticks; /* without all nested spans; known where the run has a signature */
    uint64_t device_ns, device_samples; /* of its node, recorded while it was open */
    uint64_t device_within_ns;          /* the same of other nodes */
    uint64_t request;
    uint32_t tid, depth;
    bool failed, stage, outermost;
    bool async;  /* it held no thread */
    bool tops;   /* no stage of the same request is around it */
    bool counts; /* set by plumb_ledger_stage_run(): the statistics of the key hold it */
    struct plumb_live_memory memory;
};
static inline uint64_t plumb_stage_took(const struct plumb_stage_entry *e)
{
    return e->end_ticks > e->begin_ticks ? e->end_ticks - e->begin_ticks : 0;
}
void plumb_ledger_stage_run(struct plumb_run *run, struct plumb_stage_entry *e);

/* Resident set as read before the lock is taken. */
struct plumb_rss {
    uint64_t now, high; /* `high`: see plumb_resident_high(); with exact peaks VmHWM */
};
/* The helper reads it: at most 0.1 ms old, but with exact peaks; where it does not answer soon,
 * what it has read last. */
struct plumb_rss plumb_rss_read(void);
void plumb_rss_take(void);  /* PLUMB_JOB_RSS */
void plumb_rss_reset(void); /* PLUMB_JOB_RSS_RESET: the kernel's peak begins again */

/* ---- memory_series.c: memory over time, checkpoints ------------------------------------------ */

/* Reads the resident set and enters it, and the pools, at the present time. The helper's
 * sampling; takes the lock. Returns the pause until the next in ns, 0: none wanted. */
uint64_t plumb_series_sample(struct plumb_run *run);
/* Under the lock. */
void plumb_series_point(struct plumb_run *run, uint64_t ticks, uint64_t rss);
void plumb_checkpoint_impl(const char *name, uint32_t baseline);
/* Under the lock: the section that `request` takes over keeps no checkpoint. */
void plumb_checkpoints_drop(struct plumb_run *run, uint64_t request);
/* Under the lock: what is held now, and the highest since a scope last reset the peaks. */
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
    PLUMB_SCOPE_RUNNING_PEAK = 2 /* peaks go on from the scope before */
};
/* Under the lock. Opens a scope inside the thread's innermost one, and makes it that; 0: none to be
 * had. */
uint32_t plumb_scope_open(struct plumb_in in, uint32_t flags, const struct plumb_rss *rss);
/* Closes it; `out` is what it saw. The thread's innermost scope is then the one around it. */
void plumb_scope_close(struct plumb_in in, uint32_t scope, const struct plumb_rss *rss,
                       struct plumb_live_memory *out);
/* The scope that an event of this thread counts for; made when the thread has none. */
uint32_t plumb_scope_of(struct plumb_in in);
/* The number of scopes opened so far: a block remembers it, with its scope. */
uint64_t plumb_scope_clock(void);
void plumb_scope_allocated(uint32_t scope, uint32_t pool, uint64_t bytes);
/* Removes a block of `scope`, allocated at plumb_scope_clock() `born`. O(open scopes of its thread
 * of control). */
void plumb_scope_freed(uint32_t scope, uint64_t born, uint32_t pool, uint64_t bytes);
/* The pool as a whole was this high just now. */
void plumb_scopes_pool_peak(uint32_t pool, int64_t allocated, int64_t reserved);
/* A block keeps its scope's number from being given to another. */
void plumb_scope_hold(uint32_t scope);
void plumb_scope_release(uint32_t scope);
/* Returns a scope's number with part of its serial, for a context. A thread that adopts it works in
 * the innermost scope at or around that one which is still open. It works in its own root when none
 * is open, or when contexts were captured in more than 4096 other scopes since. Adopting returns
 * what to come back to. */
uint32_t plumb_scope_capture(uint32_t scope);
uint32_t plumb_scope_adopt(struct plumb_thread *th, uint32_t token);
void plumb_scope_return(struct plumb_thread *th, uint32_t before);
/* The thread works for nobody else; its root is closed. */
void plumb_scope_thread_ends(struct plumb_thread *th);
void plumb_scopes_sampled(struct plumb_run *run,
                          uint64_t rss); /* raises the peaks of what is open */
void plumb_scopes_reset_peak(struct plumb_in in);
uint64_t plumb_scopes_rss_peak(void); /* since the last scope that started peaks again */
void plumb_scopes_open(void);         /* a new run */

/* ---- memory_pool.c: allocator events --------------------------------------------------------- */

void plumb_mem_event_impl(uint32_t event, const char *device, const char *pool, const void *address,
                          uint64_t bytes);
void plumb_memory_now_impl(plumb_memory *out, const char *device, const char *pool);
void plumb_pools_open(struct plumb_run *run);
/* When the run is over: leaks and holes. */
void plumb_pools_close(struct plumb_run *run);
/* Under the lock: holes in the reserved segments, as they are now. */
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
/* Under the lock. What events a thread has not passed on yet, and what was kept aside. */
void plumb_sized_flush(struct plumb_in in);
/* Whether the process, which ends, has something to tell that no run has opened for. */
bool plumb_sized_waits(void);
void plumb_sized_forget(void); /* no run is wanted any more: what was kept aside for it */
void plumb_sized_sample(struct plumb_run *run); /* under the lock: what was kept aside */
void plumb_sized_close(struct plumb_run *run);  /* when the run is over, behind the threads' sums */
/* Between the two no allocation waits for a lock of the runtime. Before locks are taken that are
 * held while others are waited for: libc's, or those of other fork handlers. */
void plumb_sized_shut(void);
void plumb_sized_unshut(void);
void plumb_sized_before_fork(void); /* under the lock */
void plumb_sized_after_fork(void);  /* in the parent */
void plumb_sized_forked(void);      /* in the child */

/* ---- signature.c: inputs and outputs of stages ----------------------------------------------- */

void plumb_stage_value_impl(plumb_span stage, uint32_t part, const char *name,
                            const plumb_value *value);
/* Under the lock, after plumb_ledger_stage_run(): a run of a stage ended well, which had this. */
struct plumb_pack;
void plumb_signature_enter(struct plumb_run *run, const struct plumb_stage_entry *e,
                           const struct plumb_pack *pack);

/* ---- device.c: launches, device time and waits ----------------------------------------------- */

/* Each takes the lock. Inside enter. A piece of work was launched; it is done, after `ns`; the
 * calling thread has waited `ns` for it. */
void plumb_device_launched(struct plumb_in in, const plumb_origin *origin);
void plumb_device_done(struct plumb_in in, const plumb_origin *origin, uint64_t ns);
void plumb_device_waited(struct plumb_in in, const plumb_origin *origin, uint64_t ns);

/* ---- request.c ------------------------------------------------------------------------------- */

plumb_request plumb_request_begin_impl(const char *id, const plumb_pair *metadata);
void plumb_request_end_impl(plumb_request request, uint32_t failed, const char *why);
/* Under the lock: the serial of the request that the thread works for; 0: none, or it is over. */
uint64_t plumb_request_current(struct plumb_in in);
/* Under the lock: the section of a request; NULL: it is not kept. */
struct plumb_live_section *plumb_request_section(struct plumb_run *run, uint64_t request);
/* Under the lock: a stage's run ended in request `serial`. */
void plumb_request_stage(struct plumb_run *run, const struct plumb_stage_entry *e);
/* Under the lock: stages inside one that leaves nothing took so long. */
void plumb_request_took(struct plumb_run *run, uint64_t request, uint64_t ticks);
/* Under the lock: what a stage of a request has used of devices; NULL: it is not kept. */
struct plumb_live_device_use *plumb_request_use(struct plumb_run *run, uint64_t request,
                                                uint64_t key);

#endif
