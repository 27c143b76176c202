/* memory.h: report events of allocators, and query allocated memory. Part of plumb.h.
 *
 * Without any call of this header plumb reads the resident set of the process around every stage
 * (PLUMB_MEMORY). With the four events below, from a custom allocator or a device allocator, plumb
 * also records to the byte the current and peak memory of each stage and each thread of control,
 * the owners at the peak of a pool, and blocks that were never freed. A *thread of control* is a
 * thread and the workers that have adopted a context of it; two threads of control are never mixed.
 * A stage sees the blocks that its thread of control held when it began and those allocated in it,
 * until they are freed: it never shows more than its pool held. Reserved bytes are those of the
 * whole pool.
 *
 * Cost of an event while recording: about 100 ns, under one lock of the process (docs/memory.md has
 * the measured figures); otherwise a load and a branch. Events of blocks that were allocated before
 * the recording began are counted as unknown and change nothing.
 *
 * Any thread may call, also inside an allocator: no function here allocates. In a signal handler
 * that interrupted plumb an event is not counted. `device` ("cpu", "cuda:0"; NULL: "cpu") and
 * `pool` (NULL: "") name the pool that an event belongs to; at most 16 different pairs, events of
 * further ones are counted as lost. Sizes are bytes; an event of 2^61 bytes or more is ignored. */
#ifndef PLUMB_MEMORY_H
#define PLUMB_MEMORY_H

#include <plumb/detail/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that allocators reported, in bytes: of one pool, of all pools of a device, or of all
 * pools. */
struct plumb_memory {
    size_t size;                            /* sizeof(plumb_memory) */
    uint64_t allocated, reserved;           /* now */
    uint64_t peak_allocated, peak_reserved; /* since the last plumb_memory_reset_peak() */
    uint64_t overhead;                      /* reserved and not allocated */
    double overhead_percent;                /* of reserved; 0 when nothing is reserved */
    uint64_t rss, peak_rss; /* resident set of the process, whatever was asked for; 0: unknown */
};
enum plumb_mem_event {
    PLUMB_MEM_ALLOC = 0,
    PLUMB_MEM_FREE = 1,
    PLUMB_MEM_RESERVE = 2,
    PLUMB_MEM_RELEASE = 3,
    PLUMB_MEM_TOTAL = 4, /* of the device */
    PLUMB_MEM_RESET_PEAK = 5,
    /* Passed to mem_sized() once, before main(): from here on an interposer reports malloc events;
     * `bytes` are already allocated. If recording is switched on, this opens the run. */
    PLUMB_MEM_HELD = 6
};

static inline void plumb_mem_event_(uint32_t event, const char *device, const char *pool,
                                    const void *address, uint64_t bytes)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, mem_event))
        api->mem_event(event, device, pool, address, bytes);
}

/* Records that a block of `bytes` was allocated at `address`, which is never read. A NULL address
 * is a failed allocation and is ignored. */
static inline void plumb_mem_alloc(const char *device, const char *pool, const void *address,
                                   uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_ALLOC, device, pool, address, bytes);
}
/* Records that the block at `address` was freed, by any thread; `bytes` may be 0, as plumb has the
 * size. Call it before the allocator can give the address out again. NULL is ignored. */
static inline void plumb_mem_free(const char *device, const char *pool, const void *address,
                                  uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_FREE, device, pool, address, bytes);
}
/* Records that the pool reserved a segment of `bytes` from the system, from which it will allocate
 * blocks. With an address plumb can compute the fragmentation of the segment; NULL if it has no
 * address. The same address again: the segment has this size now. */
static inline void plumb_mem_reserve(const char *device, const char *pool, const void *address,
                                     uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_RESERVE, device, pool, address, bytes);
}
/* Records that the pool released the segment at `address`, or, where that is NULL or unknown,
 * `bytes` of what it has reserved. */
static inline void plumb_mem_release(const char *device, const char *pool, const void *address,
                                     uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_RELEASE, device, pool, address, bytes);
}
/* Sets the total memory of the device, in bytes, which reports show next to the pool's peak. */
static inline void plumb_mem_total(const char *device, const char *pool, uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_TOTAL, device, pool, NULL, bytes);
}

/* Fills `out` with the memory that the whole process holds now: in one pool, in all pools of a
 * device (`pool` NULL), or in all pools (`device` NULL). `out->size` must be set. Fields without
 * any event are 0; without a recording all are but the resident set, without a runtime all are.
 * 0.2 us, and 5 us more where the resident set has to be read: a reading is used for 0.1 ms. */
static inline void plumb_memory_now(plumb_memory *out, const char *device, const char *pool)
{
    const struct plumb_api *api = plumb_api_();
    size_t i, size = out->size;
    for (i = 0; i < size && i < sizeof *out; i++)
        ((unsigned char *)out)[i] = 0;
    out->size = size;
    if (PLUMB_KNOWS_(api, memory_now))
        api->memory_now(out, device, pool);
}
/* Resets the peaks of this thread of control and of plumb_memory_now(). Each stage does this at its
 * begin, unless it is marked with PLUMB_STAGE_RUNNING_PEAK. Peaks of outer stages, of requests and
 * of the run are not affected. 50 ns. */
static inline void plumb_memory_reset_peak(void)
{
    plumb_mem_event_(PLUMB_MEM_RESET_PEAK, NULL, NULL, NULL, 0);
}

/* Records the memory held now under a name (NULL: ""). The same name again in the same request, or
 * again outside any request, overwrites it. Those that find no space are counted. With
 * PLUMB_MEMORY_CHECKPOINTS=1 every stage records before_<stage> and after_<stage>. Cost: as
 * plumb_memory_now(), and the fragmentation of each pool with segments. */
static inline void plumb_checkpoint(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, checkpoint))
        api->checkpoint(name, 0);
}
/* Records the checkpoint "baseline", from which increases are computed. Cost: as
 * plumb_checkpoint(). */
static inline void plumb_memory_baseline(void)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, checkpoint))
        api->checkpoint("baseline", 1);
}

#ifdef __cplusplus
}
#endif
#endif
