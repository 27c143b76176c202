/* open_spans.h: the spans that a thread has open, from the frames of its last fold and the records
 * after it. Defined in record/span/ring.c. For the thread itself, inside the runtime. */
#ifndef PLUMB_RECORD_RUNTIME_OPEN_SPANS_H
#define PLUMB_RECORD_RUNTIME_OPEN_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/runtime/thread.h"

/* Reads the records that are not folded yet, block by block. Zero it, then call
 * plumb_unfolded_open(), which keeps other threads from folding until plumb_unfolded_close(), so
 * the folded data may be read too. */
struct plumb_unfolded {
    const uint64_t *at, *end; /* in the block: a zero word ends it early */
    uint64_t number;
    bool held;
};
void plumb_unfolded_open(struct plumb_unfolded *u, struct plumb_thread *th);
bool plumb_unfolded_next(struct plumb_unfolded *u, const struct plumb_thread *th);
void plumb_unfolded_close(const struct plumb_unfolded *u, struct plumb_thread *th);
/* Returns the key of the innermost span, which must exist. Inside enter. A few ns; more if a span
 * was open at this depth at the last fold. */
uint64_t plumb_ring_innermost(struct plumb_thread *th);
/* Returns when the open span at `depth` (1: the outermost) began, in ticks. Inside enter; costs the
 * same. */
uint64_t plumb_ring_began(struct plumb_thread *th, uint32_t depth);
/* Returns the node of the innermost open span, or without one of the adopted context; 0: none. */
uint32_t plumb_innermost_node(struct plumb_thread *th);

/* Folds every record and opens the next block. The folded data is then up to date, and does not
 * change until this thread has filled a block. */
void plumb_block_settle(struct plumb_in in, uint64_t ticks);

#endif
