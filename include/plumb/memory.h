/* memory.h: tell plumb what allocators do, and ask it what memory is held. Part of plumb.h.
 *
 * Without a call here the resident set of the process is read around every stage (PLUMB_MEMORY).
 * With the four events below, from an allocator of your own or from a device's, plumb also knows,
 * to the byte, what each stage and each thread of control holds and held at most, who held what
 * when a pool was at its peak, and what was never given back. A *thread of control* is a thread
 * with the workers that have adopted a context of it; two of them are never mixed. A stage sees the
 * blocks that its thread of control held when it began and those allocated in it, until they are
 * freed: it never shows more than its pool held. Reserved bytes are those of the whole pool.
 *
 * Cost of an event while recording: about 100 ns, under one lock of the process (docs/memory.md has
 * the measured figures); otherwise a load and a branch. Events of blocks that were allocated before
 * the recording began are counted as unknown and change nothing. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_MEMORY_H
#define PLUMB_MEMORY_H

#if !defined(PLUMB_DISABLE)
#ifdef __cplusplus
extern "C" {
#endif

static inline void plumb_mem_event_(uint32_t event, const char *device, const char *pool,
                                    const void *address, uint64_t bytes)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, mem_event))
        api->mem_event(event, device, pool, address, bytes);
}

/* A block of `bytes` at `address` was handed out. `device` ("cpu", "cuda:0"; NULL: "cpu") and
 * `pool` (NULL: "") name where it comes from; at most 16 pairs are told apart. A NULL address is an
 * allocation that failed, and none. */
static inline void plumb_mem_alloc(const char *device, const char *pool, const void *address,
                                   uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_ALLOC, device, pool, address, bytes);
}
/* ... and was given back, by any thread; `bytes` may be 0: plumb knows. */
static inline void plumb_mem_free(const char *device, const char *pool, const void *address,
                                  uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_FREE, device, pool, address, bytes);
}
/* The pool took a segment from the system, out of which it will hand out blocks. With an address
 * plumb can tell how much of it lies in holes; NULL where it has none. */
static inline void plumb_mem_reserve(const char *device, const char *pool, const void *address,
                                     uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_RESERVE, device, pool, address, bytes);
}
/* ... and gave it back. */
static inline void plumb_mem_release(const char *device, const char *pool, const void *address,
                                     uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_RELEASE, device, pool, address, bytes);
}
/* How much memory the device has. */
static inline void plumb_mem_total(const char *device, const char *pool, uint64_t bytes)
{
    plumb_mem_event_(PLUMB_MEM_TOTAL, device, pool, NULL, bytes);
}

/* What is held now, by the whole process: of one pool, of a device's pools together (`pool` NULL),
 * of all (`device` NULL). Zeros for what nobody told of. `out->size` must be set. */
static inline void plumb_memory_now(plumb_memory *out, const char *device, const char *pool)
{
    const struct plumb_api *api = plumb_api_();
    size_t size = out->size;
    memset(out, 0, size < sizeof *out ? size : sizeof *out);
    out->size = size;
    if (PLUMB_KNOWS_(api, memory_now))
        api->memory_now(out, device, pool);
}
/* Peaks count from here on, for this thread of control and for plumb_memory_now(). Each stage does
 * this at its begin, unless it is marked with PLUMB_STAGE_RUNNING_PEAK; peaks of the stages around
 * it, of requests and of the run are not lost by it. */
static inline void plumb_memory_reset_peak(void)
{
    plumb_mem_event_(PLUMB_MEM_RESET_PEAK, NULL, NULL, NULL, 0);
}

/* Keeps what is held now under a name; the same name later in the same request, or in none,
 * overwrites it. With PLUMB_MEMORY_CHECKPOINTS=1 stages do so by themselves, as before_<stage> and
 * after_<stage>. About 5 us. */
static inline void plumb_checkpoint(const char *name)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, checkpoint))
        api->checkpoint(name, 0);
}
/* What increases are counted from: the checkpoint "baseline". */
static inline void plumb_memory_baseline(void)
{
    const struct plumb_api *api = plumb_api_();
    if (PLUMB_KNOWS_(api, checkpoint))
        api->checkpoint("baseline", 1);
}

/* How long something took, and the highest its devices held meanwhile, whoever allocated it: also
 * across threads, and (without memory) when nothing is being recorded. The result names each device
 * once. Errors: PLUMB_ERR_ARG, PLUMB_ERR_MEMORY. */
static inline int plumb_runtime_begin(plumb_runtime_run **out, const plumb_runtime_options *options,
                                      plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    *out = NULL;
    return PLUMB_KNOWS_(api, runtime_begin) ? api->runtime_begin(out, options, err)
                                            : PLUMB_ERR_ABSENT;
}
/* Ends the measurement and frees it. `out->size` must be set. */
static inline int plumb_runtime_finish(plumb_runtime_run *run, plumb_runtime_result *out,
                                       plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return run && PLUMB_KNOWS_(api, runtime_finish) ? api->runtime_finish(run, out, err)
                                                    : PLUMB_ERR_ABSENT;
}
/* Sets `out` to what the process runs on: system, C library, compiler, plumb, GPUs and the commit
 * of the Git repository of the working directory, or else of the program. All of it is read from
 * files; no library is loaded and no program is run. `out->size` must be set. `framework` and
 * `version`: what the program computes with, e.g. "pytorch" and "2.4.0"; NULL: unknown. The open
 * run gets them for its timing.json, which has the rest already. Errors: PLUMB_ERR_ARG. Takes up to
 * 1 ms. */
static inline int plumb_runtime_environment_get(plumb_runtime_environment *out,
                                                const char *framework, const char *version,
                                                plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, runtime_environment)
               ? api->runtime_environment(out, framework, version, err)
               : PLUMB_ERR_ABSENT;
}

#ifdef __cplusplus
}
#endif
#endif
#endif
