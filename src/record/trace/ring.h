/* ring.h: ring mode (PLUMB_TRACE_MODE=ring): nothing is written while the program runs, and
 * the newest records become a file when something asks for them: a call, a signal, a slow span, the
 * end of the run.
 *
 * Threads: whoever asks may be any, a signal handler too; everything else is the writer's
 * (writer.c), or under life_lock while there is none. */
#ifndef PLUMB_RECORD_TRACE_RING_H
#define PLUMB_RECORD_TRACE_RING_H

#include "record/trace/keep.h"

/* `run` and `live` are the caller's to set, the rest is zero. */
struct plumb_trace_ring {
    struct plumb_run *run;
    struct plumb_trace_live *live; /* of the writer: its source, clock and filter count */
    struct plumb_keep_rules rules;
    struct plumb_keep_watch *watches; /* [WATCHES] */
    uint32_t watch_count;
    struct plumb_map watch_of; /* offset of a thread block -> index + 1 */
};

/* Takes the rules and the signal, in ring mode. */
void plumb_trace_ring_open(struct plumb_trace_ring *r);
/* From here on wishes are heard; until the close. */
void plumb_trace_ring_listen(void);
/* Looks for slow spans, and grants a wish. */
void plumb_trace_ring_pass(struct plumb_trace_ring *r);
/* The newest records become trace.pftrace. 0, or the errno that this failed with. */
int plumb_trace_ring_close(struct plumb_trace_ring *r);
/* In the child of a fork. */
void plumb_trace_ring_forget(void);

/* writer.c's: the writer looks again now. Any thread, any signal handler. */
void plumb_trace_writer_wake(void);

#endif
