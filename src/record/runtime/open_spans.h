/* open_spans.h: which spans a thread has open: in what folds keep, and in the records that no fold
 * has read. Defined in record/span/ring.c. By the thread itself, inside the runtime. */
#ifndef PLUMB_RECORD_RUNTIME_OPEN_SPANS_H
#define PLUMB_RECORD_RUNTIME_OPEN_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/runtime/thread.h"

/* The records that no fold has read, block by block. Zeroed; then plumb_unfolded_open(), which
 * keeps others from folding until plumb_unfolded_close(): what folds keep may be read, too. */
struct plumb_unfolded {
    const uint64_t *at, *end; /* of the block: a zero word ends it early */
    uint64_t number;
    bool held;
};
void plumb_unfolded_open(struct plumb_unfolded *u, struct plumb_thread *th);
bool plumb_unfolded_next(struct plumb_unfolded *u, const struct plumb_thread *th);
void plumb_unfolded_close(const struct plumb_unfolded *u, struct plumb_thread *th);
/* The key of the innermost span; the thread has one. Inside enter. A few ns; more in a span that is
 * as deep as one that was open at the last fold. */
uint64_t plumb_ring_innermost(struct plumb_thread *th);
/* The node of the innermost open span, else of what the thread has adopted; 0: none.
 */
uint32_t plumb_innermost_node(struct plumb_thread *th);

/* Folds every record and opens the next block: what folds keep is then up to date, and nobody
 * changes it until this thread has filled a block. */
void plumb_block_settle(struct plumb_in in, uint64_t ticks);

#endif
