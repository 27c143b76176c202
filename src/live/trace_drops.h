/* trace_drops.h: exact counts, by thread and node, of the spans that are not in a trace. */
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

/* The keys of the open spans, at [1 .. depth], whether the selected regions take each into the
 * trace, and the state of the thread. */
struct plumb_trace_stack {
    const struct plumb_live_view *source;
    uint64_t from_ticks; /* spans that end before are not to be counted; 0: all are */
    uint32_t depth;
    uint32_t group;
    bool path_inside; /* the thread works below a selected region of another */
    uint64_t open[PLUMB_TRACE_DEPTH];
    bool wanted[PLUMB_TRACE_DEPTH];
    bool left[PLUMB_TRACE_DEPTH]; /* PLUMB_TRACE_LEFT */
};

/* The first makes the empty stack of a thread below an adopted path. The second adds its open
 * spans, the outermost first. */
void plumb_trace_stack_open(struct plumb_trace_stack *stack, const struct plumb_live_view *s,
                            uint32_t group, const uint32_t *path, uint32_t path_depth);
void plumb_trace_stack_push(struct plumb_trace_stack *stack, uint64_t key, uint64_t begin_ticks);

/* Counts the spans that end in a block of `n` words, without those that the selected regions leave
 * out of the trace, and updates `stack`. */
void plumb_trace_drops_count(struct plumb_trace_drops *drops, struct plumb_trace_stack *stack,
                             const uint64_t *words, uint32_t n);
/* Adds a block to a gap. */
void plumb_trace_gap_add(struct plumb_trace_gap *gap, const struct plumb_trace_drops *drops,
                         uint64_t block, uint64_t from_ticks, uint64_t through_ticks);

/* Completes the counts after recording has ended and interrupted folds have been undone. Counts the
 * losses that the process had not counted yet and, if the trace has ended early, the slots that its
 * queues still hold. Afterwards the queues are empty, and their contents are in their gaps. Call it
 * once. */
void plumb_trace_settle(const struct plumb_live_view *s);

/* Settles one queue of a trace that has ended early, as the above does all of them: its slots, and
 * the blocks that were not folded while it is fed, become counts. The thread is not folding: the
 * caller holds it, or it records no more. */
void plumb_trace_settle_queue(const struct plumb_live_view *s, struct plumb_live_thread *live,
                              struct plumb_live_queue *q);

/* The same for a queue whose writer goes on and has no space for the blocks that were not folded:
 * these become counts, and the slots stay. */
void plumb_trace_settle_unfolded(const struct plumb_live_view *s, struct plumb_live_thread *live,
                                 struct plumb_live_queue *q);

/* Fills `out` with the slot that block `number`, which was not folded, would have become. Returns
 * false if there is none, or if it is empty; then `out` is an empty slot. The slot of the first
 * such block lists the spans that were open when it began. A thread that is traced has one; more
 * wait for a moment after a window was switched on. */
bool plumb_trace_unfolded(const struct plumb_live_view *s, const struct plumb_live_thread *live,
                          const struct plumb_live_queue *q, uint64_t number,
                          struct plumb_trace_slot *out);
/* Returns whether a queue takes part in the present trace. */
bool plumb_trace_takes_part(const struct plumb_live_view *s, const struct plumb_live_queue *q);
/* Returns the state of a queue that belongs to the last commit, or NULL. *which: index of the
 * two. */
const struct plumb_trace_state *plumb_trace_committed(const struct plumb_live_view *s,
                                                      const struct plumb_live_queue *q,
                                                      bool *which);
/* Returns the open gap, or NULL. */
const struct plumb_trace_gap *plumb_trace_open_gap(const struct plumb_live_thread *live,
                                                   const struct plumb_live_queue *q);

/* Returns the number of ended spans whose end is not in the trace. */
uint64_t plumb_trace_lost(const struct plumb_live_view *s, uint32_t *threads);

/* The same, of the present window alone. */
uint64_t plumb_trace_lost_here(const struct plumb_live_view *s);

/* Lists the sequences of the file that lack data: of threads, and of collectors' lanes. Returns how
 * many there are, even if `out` cannot hold all of them. Sets `*count` to the number that it
 * holds. */
uint64_t plumb_trace_losers(const struct plumb_live_view *s, uint32_t *out, uint32_t most,
                            uint32_t *count);

/* Returns why a trace ends where it does, enum plumb_live_trace_end: "complete", ... */
const char *plumb_trace_end_name(uint32_t end);
const char *plumb_trace_end_text(const struct plumb_live_header *h);

#endif
