/* lane_drain.h: the events in the queues of collectors' lanes become packets of a trace.
 *
 * Their form in the file: a device is a track below the process. A lane is a track (values: a
 * counter track) below its parent lane, its device, or the process, the first of these that it has.
 * Spans that overlap go on tracks "<lane> 2", "<lane> 3", ... below it; a wait is a slice "waiting
 * for <node>" on the track "<lane>: thread <tid> waits"; instants are on "<lane>: marks". Spans
 * have the phase of their launch as category, the flow from its instant `plumb.capture`, and
 * arguments: the collector's own, `node`, `step`, `clock_bound_ns` (the true times lie within +-
 * this; not where the clock is the host's). Losses are instants `plumb.dropped` with `events`.
 * Facts plumb.clock.<name>.drift_ppm, .bound_ns, .anchors and .jumps come last.
 *
 * Events of a pass are put in order first, because many threads emit into one lane. Memory: some 3
 * KB a lane, and 48 bytes a slot of the largest queue.
 *
 * Threads: one at a time, that of the trace (mapping.h); other threads go on emitting. */
#ifndef PLUMB_TIMELINE_LANE_DRAIN_H
#define PLUMB_TIMELINE_LANE_DRAIN_H

#include "timeline/lane_work.h"
#include "timeline/perfetto.h"

struct plumb_drain_lane;
/* A child that is forked between any two stores unmaps the arrays here: a pointer that is set is
 * mapped, with its capacity or more. */
struct plumb_lane_drain {
    struct plumb_drain_lane *lanes; /* [PLUMB_LIVE_LANES], mapped at the first */
    uint32_t count;
    struct plumb_drain_entry *sorted;
    size_t sorted_cap;
    union plumb_live_slot *copy; /* ring mode: of the largest queue so far */
    size_t copy_cap;
    uint64_t events; /* written */
    /* Set by the caller, or NULL: gets each piece of work whose launch is known as well. */
    void (*also)(void *arg, const struct plumb_lane_work *work);
    void *also_arg;
};

/* Takes the events that the queues hold now. `last`: no thread emits any more, and positions that
 * were never published are skipped. Returns the largest part of a queue that was full, in 1/256. */
uint32_t plumb_lane_drain_take(struct plumb_lane_drain *d, struct plumb_trace_file *f, bool last);
/* Ring mode: writes the newest events of each lane's queue, once, into a file of its own. */
void plumb_lane_drain_collect(struct plumb_lane_drain *d, struct plumb_trace_file *f);
/* Called before and after the file's commit number `batch`, which makes the taken events durable,
 * is published. */
void plumb_lane_drain_commit(struct plumb_lane_drain *d, uint64_t batch);
void plumb_lane_drain_committed(struct plumb_lane_drain *d);
/* Facts of the clocks. */
void plumb_lane_drain_facts(struct plumb_trace_file *f);
void plumb_lane_drain_fini(struct plumb_lane_drain *d);

#endif
