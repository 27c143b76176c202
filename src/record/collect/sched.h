/* sched.h: the intervals in which threads of the program were not running, and the spans around
 * them. The collector `sched` (collect/sched.c) has the kernel write a record at each switch of a
 * thread into shared memory. This file reads the records and attributes them.
 *
 * A thread that is switched out records nothing, so each interval lies between two neighbouring
 * records of its ring. It belongs to the spans that were open between them. The spans are looked up
 * when these records are folded, which always happens before they are overwritten. So a span pays
 * nothing, and a fold one comparison. */
#ifndef PLUMB_RECORD_COLLECT_SCHED_H
#define PLUMB_RECORD_COLLECT_SCHED_H

#include "record/runtime/enter.h"

enum { PLUMB_SCHED_PENDING = 256 };

/* An interval in which a thread did not run. */
struct plumb_off {
    uint64_t out_ns, in_ns; /* CLOCK_MONOTONIC_RAW of the kernel */
    uint64_t out, in;       /* the same in ticks */
    bool preempted;         /* it was runnable */
    bool moved;             /* it came back on another processor */
};

/* A watched thread. Used by the holder of the thread (record/span/thread_lock.h). */
struct plumb_sched_watch {
    uint32_t pid, tid;
    void *page; /* of perf_event_open(): struct perf_event_mmap_page, then the records */
    size_t page_bytes;
    bool is_out;
    uint32_t cpu; /* that it ran on last */
    struct plumb_off open;
    uint64_t lost; /* switches that did not fit */
    uint32_t count;
    struct plumb_off pending[PLUMB_SCHED_PENDING]; /* not attributed yet, oldest first */
};

/* An attributed interval, for a trace. */
struct plumb_sched_event {
    uint32_t tid;
    bool preempted;
    uint64_t out, in; /* ticks */
};

/* Takes the records that the kernel has written; changes only the watch and its page. */
void plumb_sched_read(struct plumb_sched_watch *w);
/* Reads the records, and attributes all intervals that have ended. The caller holds the thread.
 * Takes plumb_rt.lock. */
void plumb_sched_settle(struct plumb_in in, struct plumb_sched_watch *w);
/* Called when a fold is about to take blocks of the thread, which has a watch. */
void plumb_sched_fold(struct plumb_in in);
/* From now on attached threads are announced; earlier events are dropped. */
void plumb_sched_begin(void);
/* Returns the next event for the trace in `out`, false if there is none. `lost` counts overwritten
 * ones. */
bool plumb_sched_next(struct plumb_sched_event *out, uint64_t *lost);
/* A thread has been attached: wakes the collector, if it runs. */
void plumb_sched_attached(void);
extern uint32_t plumb_sched_met; /* counts attached threads while `sched` runs; futex. Atomic */
extern uint32_t plumb_sched_on;  /* atomic */
/* The process's CLOCK_MONOTONIC_RAW minus the kernel's own, which its records have: not 0 in a time
 * namespace. Set before a thread is watched. */
extern int64_t plumb_sched_behind_ns;

#endif
