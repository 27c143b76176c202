/* mapping.h: from the trace queues of a whole mapping to a file. A live run's writer does a part of
 * this work each time it wakes, and the rest when the run has stopped. Recovery does the same with
 * the mapping of a killed process.
 *
 * Threads: only one at a time uses a struct plumb_trace_live; owners of queues go on writing to
 * them, as live/trace.h describes. */
#ifndef PLUMB_TIMELINE_MAPPING_H
#define PLUMB_TIMELINE_MAPPING_H

#include "timeline/lane_drain.h"
#include "timeline/perfetto.h"

struct plumb_trace_live {
    struct plumb_trace_file file;
    const struct plumb_trace_filter *filter; /* of the caller; NULL: everything */
    /* Set by the caller, or NULL: gets each slot as well, with the number of its track. */
    void (*also)(void *arg, uint32_t track, const struct plumb_trace_slot *slot);
    void *also_arg;
    bool commits; /* set by the caller: slots that are taken and in the file are published in the
                   * mapping */
    struct plumb_thread_track **tracks;
    uint32_t track_count, track_cap;
    uint32_t touched_from, touched_to; /* tracks with something to commit are among these */
    struct plumb_map track_of;         /* thread block offset -> index + 1 */
    uint64_t known_off;                /* thread block from which on all have tracks */
    struct plumb_lane_drain drain;     /* of collectors */
    uint32_t fullest; /* of the pass: the largest part of a queue that was full, in 1/256 */
};

/* `t->file.source`, `.out`, `.write`, `.arg` are set, the rest is zero. `continues`: the file ends
 * where the mapping's last commit says. */
int plumb_trace_live_open(struct plumb_trace_live *t, bool continues);
void plumb_trace_live_fini(struct plumb_trace_live *t);

/* Takes what the queues hold, up to what was there when it began. Returns the largest part of a
 * queue that was full, in 1/256. */
uint32_t plumb_trace_live_pass(struct plumb_trace_live *t);

/* Called when no thread records any more: takes the rest of the queues, the blocks that were not
 * folded, gaps that go on, and async spans that are open. Folds that were interrupted must have
 * been undone before. In a trace that has ended early, plumb_trace_settle() has left the gaps
 * alone. */
void plumb_trace_live_finish(struct plumb_trace_live *t);

/* Ring mode: the newest records of every thread, with those of the block that is being filled where
 * it can be had whole, and the newest events of every lane of a collector. */
void plumb_trace_live_collect(struct plumb_trace_live *t);

/* Spans that are in the file with their ends, those of earlier commits included. */
uint64_t plumb_trace_live_spans(const struct plumb_trace_live *t);

/* A copy of slot `number` (from 1); false: it has been overwritten, or is being. */
bool plumb_trace_copy_slot(const struct plumb_live_view *s, const struct plumb_live_queue *q,
                           uint64_t number, struct plumb_trace_slot *out);

#endif
