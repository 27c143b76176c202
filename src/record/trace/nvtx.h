/* nvtx.h: spans as NVTX ranges for other tools (PLUMB_NVTX): Nsight, or whatever library
 * NVTX_INJECTION64_PATH names. Each span of a thread is a range that is pushed after its begin and
 * popped after its end, whatever ends it, so a thread's ranges nest as its spans do. The text is
 * the node's name; the payload is the step, where there is one. An async span is a range that is
 * started after its begin and ended after its end, on whichever threads these are. Whatever is open
 * when its run stops ends then.
 *
 * PLUMB_NVTX=1 emits ranges where a GPU of NVIDIA's is seen (base/process/nvidia.h),
 * PLUMB_NVTX=always on every machine, for tools that need none.
 *
 * Built where the nvtx3 headers are found (PLUMB_NVTX=auto|on|off of the build). Without a tool the
 * calls return at once; nothing at all is called unless PLUMB_NVTX is on: the gate of each thread
 * has a bit for it, so spans of other runs do not know. The tool is called outside the runtime, on
 * the span's thread. */
#ifndef PLUMB_RECORD_TRACE_NVTX_H
#define PLUMB_RECORD_TRACE_NVTX_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_thread;

/* Returns whether the settings ask for ranges, and a GPU is there unless they ask for them always.
 */
bool plumb_nvtx_emits(void);
/* When a run that wants it opens, outside locks: says so when it cannot be had. */
void plumb_nvtx_tell(void);
/* The thread's innermost span, of `node`, has begun. */
void plumb_nvtx_push(struct plumb_thread *th, uint32_t node);
/* Ranges that lie deeper than `depth` spans are popped. */
void plumb_nvtx_pop_to(struct plumb_thread *th, uint32_t depth);

/* An async span of `node` has begun, in a step, or below 0 in none. Outside the runtime. 0: no
 * range, nobody listens. */
uint64_t plumb_nvtx_start(uint32_t node, int64_t step);
void plumb_nvtx_end(uint64_t range); /* 0 is fine */
/* Inside the runtime: the range of the async span in a slot is kept, and taken when it ends. */
void plumb_nvtx_keep(uint32_t slot, uint64_t range);
uint64_t plumb_nvtx_take(uint32_t slot);
/* Nobody is inside the runtime: those that are kept end. */
void plumb_nvtx_end_all(void);
/* In a forked child, whose tool knows nothing of them. */
void plumb_nvtx_forked(void);

#endif
