/* memory_pool.h: functions for both kinds of allocator events (memory_pool.c, malloc_events.c), and
 * windows over the pools' sums: peaks of an interval that belongs to no thread. Under the ledger's
 * lock. */
#ifndef PLUMB_RECORD_STAGE_MEMORY_POOL_H
#define PLUMB_RECORD_STAGE_MEMORY_POOL_H

#include "record/runtime/enter.h"

/* ---- Pools and their owners ------------------------------------------------------------------ */

#define PLUMB_OUTSIDE UINT64_MAX /* the key of the owner of blocks outside every node */

/* Returns the key of the node around the caller. Inside enter. A few ns; usually up to 100 ns if a
 * span was open at this depth at the last fold. */
uint64_t plumb_innermost(struct plumb_thread *th);

/* Returns the pool's number, -1: the mapping is full. The last number is shared by all later
 * pools. */
int plumb_pool_of(struct plumb_run *run, const char *device, const char *pool);
/* Returns the pool of malloc; if missing, makes it with `held` bytes in it. -1: the mapping is
 * full. */
int plumb_pool_of_malloc(struct plumb_run *run, int64_t held);
bool plumb_pool_is_malloc(uint32_t pool); /* also without the lock */
/* Returns "device/pool", or the device of a pool called "", for the life of the run. */
const char *plumb_pool_name(struct plumb_run *run, uint32_t pool);
/* Adds a change to a pool's sums. `most`: the maximum of the change of allocated bytes over its
 * events. */
void plumb_pool_change(struct plumb_run *run, uint32_t pool, int64_t allocated, int64_t reserved,
                       int64_t most);
/* Returns the owner's number + 1; 0: the mapping is full. */
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
/* Returns the peaks of the window. False: no pool of that device has been reported. */
bool plumb_window_peaks(const struct plumb_window *w, struct plumb_run *run, const char *device,
                        uint64_t *peak_allocated, uint64_t *peak_reserved);

#endif
