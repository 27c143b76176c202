/* ring.h: the blocks of a thread's ring, and the records in them that no fold has read.
 *
 * The thread appends to the newest block. One that is full waits until several do; then they are
 * folded together (fold.c), because what a fold copies for undo, and fetches from memory, it does
 * once for all of them. Whole blocks may be folded by anybody who holds the thread (thread_lock.h),
 * the newest by its thread alone. A thread that is traced has one block at a time: its trace takes
 * blocks, each with what was open when it began.
 *
 * So what folds keep may change under a thread that does not hold itself, but only while whole
 * blocks wait: only the thread itself makes more of them. */
#ifndef PLUMB_RECORD_SPAN_RING_H
#define PLUMB_RECORD_SPAN_RING_H

#include "record/runtime/enter.h"
#include "record/runtime/open_spans.h"
#include "record/span/thread_lock.h"

/* ---- By the thread, inside the runtime, or by whoever ends it -------------------------------- */

/* At the first block of a thread in a run: behind the last one folded. Holding the thread. */
void plumb_ring_attach(struct plumb_in in, uint64_t ticks);
/* Opens the next block. Of those that wait, folds what is due. Waits for the thread only when the
 * ring is full. */
void plumb_block_next(struct plumb_in in, uint64_t ticks);
/* Room for `words` more records at `ticks`, in this block or the next; returns where. */
uint64_t *plumb_block_room(struct plumb_in in, uint32_t words, uint64_t ticks);
/* Whether there is a record that no fold has read. */
bool plumb_ring_holds_any(const struct plumb_thread *th);

/* ---- By anybody ------------------------------------------------------------------------------ */

/* Folds the whole blocks that wait, unless somebody holds the thread. `in.th` need not be the
 * caller's, nor belong to the run any more, which must stay meanwhile. Takes plumb_rt.lock when a
 * node is new, so the caller has neither that nor a lock that comes after it. Returns whether
 * nothing waits now. */
bool plumb_fold_waiting(struct plumb_in in);

#endif
