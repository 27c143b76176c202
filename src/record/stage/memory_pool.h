/* memory_pool.h: what the two kinds of allocator events share (memory_pool.c, malloc_events.c), and
 * windows over the pools' sums: peaks of an interval that belongs to no thread. Under the ledger's
 * lock. */
#ifndef PLUMB_RECORD_STAGE_MEMORY_POOL_H
#define PLUMB_RECORD_STAGE_MEMORY_POOL_H

#include "record/runtime/enter.h"

/* ---- Pools and their owners ------------------------------------------------------------------ */

#define PLUMB_OUTSIDE UINT64_MAX /* the key of an owner that is no node */

/* The key of the node around the caller. Inside enter. A few ns; mostly up to 100 ns in a span that
 * is as deep as one that was open at the last fold. */
uint64_t plumb_innermost(struct plumb_thread *th);

/* The pool's number, -1: no room. The last number stands for all that come too late. */
int plumb_pool_of(struct plumb_run *run, const char *device, const char *pool);
/* The pool that malloc is counted in, made when missing, with `held` bytes in it; -1: no room. */
int plumb_pool_of_malloc(struct plumb_run *run, int64_t held);
bool plumb_pool_is_malloc(uint32_t pool); /* also without the lock */
/* `most`: the highest that the change of allocated bytes was on its way. */
void plumb_pool_change(struct plumb_run *run, uint32_t pool, int64_t allocated, int64_t reserved,
                       int64_t most);
/* The owner's number + 1; 0: no room. */
uint32_t plumb_owner_of(struct plumb_run *run, uint32_t pool, uint64_t key);
struct plumb_live_owner *plumb_owner_at(struct plumb_run *run, uint32_t i);

/* ---- Windows --------------------------------------------------------------------------------- */

struct plumb_window {
    struct plumb_window *next;
    uint32_t run; /* generation */
    int64_t peak_allocated[PLUMB_LIVE_POOLS + 1], peak_reserved[PLUMB_LIVE_POOLS + 1];
};

void plumb_window_open(struct plumb_window *w, struct plumb_run *run);
void plumb_window_close(struct plumb_window *w);
/* False: no pool of that device has been told of. */
bool plumb_window_peaks(const struct plumb_window *w, struct plumb_run *run, const char *device,
                        uint64_t *peak_allocated, uint64_t *peak_reserved);

#endif
