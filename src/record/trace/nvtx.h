/* nvtx.h: spans as NVTX ranges for other tools (PLUMB_NVTX): Nsight, or the library that
 * NVTX_INJECTION64_PATH names. Each span of a thread is a range that is pushed after its begin and
 * popped after its end, whatever ends it, so a thread's ranges nest like its spans. The text is the
 * node's name; the payload is the step, if there is one. An async span is a range that is started
 * after its begin and ended after its end, on any threads. Ranges that are open when their run
 * stops end then.
 *
 * PLUMB_NVTX=1 emits ranges where a GPU of NVIDIA's is seen (base/process/nvidia.h),
 * PLUMB_NVTX=always on every machine, for tools that need none.
 *
 * Built where the nvtx3 headers are found (PLUMB_NVTX=auto|on|off of the build). Without a tool the
 * calls return at once; nothing at all is called unless PLUMB_NVTX is on: the gate of each thread
 * has a bit for it, so other runs pay nothing. The tool is called outside the runtime, on the
 * span's thread. */
#ifndef PLUMB_RECORD_TRACE_NVTX_H
#define PLUMB_RECORD_TRACE_NVTX_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_thread;

/* Returns whether the settings ask for ranges, and a GPU is there unless they ask for them always.
 */
bool plumb_nvtx_emits(void);
/* When a run with PLUMB_NVTX opens, outside locks: reports if ranges are not available. */
void plumb_nvtx_warn(void);
/* Logs, at info, which GPU the process of a rank works on, if ranges are emitted and there is one.
 * Without them no file is read. */
void plumb_nvtx_receipt(int32_t rank, int32_t local_rank);
/* Pushes the range of the thread's innermost span, of `node`, which has begun. */
void plumb_nvtx_push(struct plumb_thread *th, uint32_t node);
/* Pops the ranges of spans deeper than `depth`. */
void plumb_nvtx_pop_to(struct plumb_thread *th, uint32_t depth);

/* Starts the range of an async span of `node`, which has begun; `step` below 0: none. Outside the
 * runtime. Returns 0 without a range, because no tool listens. */
uint64_t plumb_nvtx_start(uint32_t node, int64_t step);
void plumb_nvtx_end(uint64_t range); /* 0 is fine */
/* Inside the runtime: store the range of the async span in a slot, and take it out at its end. */
void plumb_nvtx_keep(uint32_t slot, uint64_t range);
uint64_t plumb_nvtx_take(uint32_t slot);
/* Ends the stored ranges, when no thread is inside the runtime. */
void plumb_nvtx_end_all(void);
/* In a forked child, whose tool does not know the ranges: forgets them. */
void plumb_nvtx_forked(void);

#endif
