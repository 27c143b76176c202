/* ring.h: ring mode (PLUMB_TRACE_MODE=ring): nothing is written while the program runs. The newest
 * records are written to a file on request: by a call, a signal, a slow span, or the end of the
 * run.
 *
 * Threads: any thread and any signal handler may make a request. Everything else is called by the
 * writer (writer.c), or under life_lock while there is none. */
#ifndef PLUMB_RECORD_TRACE_RING_H
#define PLUMB_RECORD_TRACE_RING_H

#include "record/trace/keep.h"

/* The caller sets `run` and `live`; the rest is zero. */
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
/* Accepts requests from now on, until the close. */
void plumb_trace_ring_listen(void);
/* Looks for slow spans, and serves a request. */
void plumb_trace_ring_pass(struct plumb_trace_ring *r);
/* Writes the newest records to trace.pftrace. Returns 0 or an errno. */
int plumb_trace_ring_close(struct plumb_trace_ring *r);
/* In the child of a fork: forgets the parent's requests. */
void plumb_trace_ring_forget(void);

/* Defined in writer.c: wakes the writer. Any thread, any signal handler. */
void plumb_trace_writer_wake(void);

#endif
