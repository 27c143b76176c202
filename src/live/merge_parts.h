/* merge_parts.h: whether a state counts, and the histogram of a merged channel: counts of all its
 * states and of single samples, added up group by group. Memory comes from the arena of `m`; a
 * failed allocation sets its `failed`. */
#ifndef PLUMB_LIVE_MERGE_PARTS_H
#define PLUMB_LIVE_MERGE_PARTS_H

#include "live/merge.h"

/* Returns whether plumb_merge_state() adds it: its key is valid, and it was not reset since. Makes
 * no row, so that the merge need not be open. */
bool plumb_merge_takes(const struct plumb_merge *m, const struct plumb_live_state *st);

/* Adds the lines of buckets in `lines` (as in struct plumb_live_state). `counts` are all buckets
 * or, if `packed`, only those of the lines, in order. Call it after the samples were added to
 * c->stats. */
void plumb_counts_lines(struct plumb_merge *m, struct plumb_merge_channel *c,
                        const uint64_t lines[PLUMB_SKETCH_LINE_WORDS], const uint32_t *counts,
                        bool packed);
/* Adds `n` samples to bucket `index`, likewise. */
void plumb_counts_add(struct plumb_merge *m, struct plumb_merge_channel *c, uint32_t index,
                      uint64_t n);

#endif
