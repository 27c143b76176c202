/* trace_drops.h: what is not in a trace: counted by thread and node, exactly. */
#ifndef PLUMB_LIVE_TRACE_DROPS_H
#define PLUMB_LIVE_TRACE_DROPS_H

#include "live/view.h"

/* The spans that ended in one block, by key. */
struct plumb_trace_drops {
    uint32_t count;
    uint64_t spans;
    struct {
        uint64_t key;
        uint32_t spans;
    } key[PLUMB_BLOCK_WORDS];
};

/* The keys of the open spans, at [1 .. depth], which of them the selected regions take into the
 * trace, and where the thread is. */
struct plumb_trace_stack {
    const struct plumb_live_view *source;
    uint32_t depth;
    uint32_t group;
    bool path_inside; /* the thread works below a selected region of another */
    uint64_t open[PLUMB_TRACE_DEPTH];
    bool wanted[PLUMB_TRACE_DEPTH];
    bool left[PLUMB_TRACE_DEPTH]; /* PLUMB_TRACE_LEFT */
};

/* An empty stack of a thread below an adopted path, then its open spans, the outermost first. */
void plumb_trace_stack_open(struct plumb_trace_stack *stack, const struct plumb_live_view *s,
                            uint32_t group, const uint32_t *path, uint32_t path_depth);
void plumb_trace_stack_push(struct plumb_trace_stack *stack, uint64_t key, uint64_t begin_ticks);

/* Counts the spans that end in a block of `n` words, but for those that the selected regions leave
 * out of the trace, and moves `stack` over it. */
void plumb_trace_drops_count(struct plumb_trace_drops *drops, struct plumb_trace_stack *stack,
                             const uint64_t *words, uint32_t n);
/* Adds a block to a gap. */
void plumb_trace_gap_add(struct plumb_trace_gap *gap, const struct plumb_trace_drops *drops,
                         uint64_t block, uint64_t from_ticks, uint64_t through_ticks);

/* Nobody records any more, and folds that were cut short have been undone. What the process had
 * not said any more is counted; of a trace that has ended early, so is what its queues still hold.
 * Afterwards the queues are empty, and what was in them is in their gaps. Once. */
void plumb_trace_settle(const struct plumb_live_view *s);

/* The block that was not folded, as the slot that it never became. False: there is none, or it is
 * empty; then `out` is an empty one, which still tells what is open. */
bool plumb_trace_unfolded(const struct plumb_live_view *s, const struct plumb_live_thread *live,
                          const struct plumb_live_queue *q, struct plumb_trace_slot *out);
/* The state of a queue that belongs to the last commit; NULL: none. *which: of the two. */
const struct plumb_trace_state *plumb_trace_committed(const struct plumb_live_view *s,
                                                      const struct plumb_live_queue *q,
                                                      bool *which);
/* The gap that goes on; NULL: none. */
const struct plumb_trace_gap *plumb_trace_open_gap(const struct plumb_live_thread *live,
                                                   const struct plumb_live_queue *q);

/* Spans that ended and whose end is not in the trace. */
uint64_t plumb_trace_lost(const struct plumb_live_view *s, uint32_t *threads);

/* The sequences of the file from which something is missing: of threads, and of collectors' lanes.
 * Returns how many there are, also where `out` does not hold all of their numbers. `*count` gets
 * how many it holds. */
uint64_t plumb_trace_losers(const struct plumb_live_view *s, uint32_t *out, uint32_t most,
                            uint32_t *count);

/* Why the trace ends where it does: "complete", ... */
const char *plumb_trace_end_text(const struct plumb_live_header *h);

#endif
