/* ring.h: the blocks of a thread's ring, and the unfolded records in them.
 *
 * The thread appends to the newest block. Full blocks wait until there are several; then they are
 * folded together (fold.c), because a fold copies data for undo, and fetches it from memory, once
 * for all of them. Full blocks may be folded by any holder of the thread (thread_lock.h), the
 * newest only by the thread itself. A traced thread has one block at a time: its trace takes single
 * blocks, each with the spans that were open at its begin.
 *
 * So the folded data of a thread that does not hold itself may change, but only while full blocks
 * wait: only the thread itself adds more of them. */
#ifndef PLUMB_RECORD_SPAN_RING_H
#define PLUMB_RECORD_SPAN_RING_H

#include "record/runtime/enter.h"
#include "record/runtime/open_spans.h"
#include "record/span/thread_lock.h"

/* ---- For the thread, inside the runtime, or the one that ends it ----------------------------- */

/* Opens the first block of a thread in a run, after the last folded one. The caller holds the
 * thread. */
void plumb_ring_attach(struct plumb_in in, uint64_t ticks);
/* Sets how many blocks are folded together, and how many may wait: one where each goes into a
 * trace. The caller holds the thread, and need not be it. */
void plumb_ring_batches(struct plumb_in in);
/* Opens the next block, and folds waiting blocks if enough wait. Waits for the holder of the thread
 * only when the ring is full. */
void plumb_block_next(struct plumb_in in, uint64_t ticks);
/* Returns the place for `words` more words at `ticks`, in this block or the next. */
uint64_t *plumb_block_space(struct plumb_in in, uint32_t words, uint64_t ticks);
/* Returns the ticks of a record at `t`, shifted to their bits. If low bits are set, they do not
 * fit: the block's base is too far back (or, on a clock that jumped, ahead), and the record needs a
 * new block. */
static PLUMB_ALWAYS_INLINE uint64_t plumb_placed(const struct plumb_thread *th, uint64_t t)
{
    uint64_t dt = t - th->base;
    return plumb_opaque(dt << (64 - PLUMB_TICK_BITS) | dt >> PLUMB_TICK_BITS);
}
/* Returns the depth of an open span of the thread; 0 if it is not open there. */
uint32_t plumb_span_depth(const struct plumb_thread *th, plumb_span span);
/* Returns whether there is an unfolded record. */
bool plumb_ring_holds_any(const struct plumb_thread *th);

/* ---- For any thread -------------------------------------------------------------------------- */

/* Folds the full blocks that wait, unless another thread holds the thread. `in.th` need not be the
 * caller's, nor belong to the run any more; the run must stay during the call. Takes plumb_rt.lock
 * when a node is new, so the caller holds neither that nor a later lock. Returns whether nothing
 * waits now. */
bool plumb_fold_waiting(struct plumb_in in);

#endif
