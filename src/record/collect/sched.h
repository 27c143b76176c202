/* sched.h: when threads of the program were not running, and which spans that was in. The collector
 * `sched` (collect/sched.c) has the kernel write a record at each switch of a thread into memory
 * that is shared with it; here the records are read and attributed.
 *
 * A thread that is switched out writes no record of its own, so each interval lies between two
 * neighbouring records of its ring, and belongs to whatever was open between them. It is looked
 * up when these records are folded, which they are before they are overwritten: a span pays
 * nothing, and a fold one comparison. */
#ifndef PLUMB_RECORD_COLLECT_SCHED_H
#define PLUMB_RECORD_COLLECT_SCHED_H

#include "record/runtime/enter.h"

enum { PLUMB_SCHED_PENDING = 256 };

/* An interval in which a thread did not run. */
struct plumb_off {
    uint64_t out_ns, in_ns; /* CLOCK_MONOTONIC_RAW of the kernel */
    uint64_t out, in;       /* the same in ticks */
    bool preempted;         /* it could have run */
    bool moved;             /* it came back on another processor */
};

/* One thread that is watched. Whoever holds the thread (record/span/thread_lock.h) uses it. */
struct plumb_sched_watch {
    uint32_t pid, tid;
    void *page; /* of perf_event_open(): struct perf_event_mmap_page, and the records behind it */
    size_t page_bytes;
    bool is_out;
    uint32_t cpu; /* that it ran on last */
    struct plumb_off open;
    uint64_t lost; /* switches that found no room */
    uint32_t count;
    struct plumb_off pending[PLUMB_SCHED_PENDING]; /* not attributed yet, oldest first */
};

/* An attributed interval, for a trace. */
struct plumb_sched_event {
    uint32_t tid;
    bool preempted;
    uint64_t out, in; /* ticks */
};

/* Takes the records that the kernel has written; pure but for the watch and its page. */
void plumb_sched_read(struct plumb_sched_watch *w);
/* Reads, and attributes all intervals that have ended. For whoever holds the thread. Takes
 * plumb_rt.lock. */
void plumb_sched_settle(struct plumb_in in, struct plumb_sched_watch *w);
/* A fold is about to take blocks of the thread; it has a watch. */
void plumb_sched_fold(struct plumb_in in);
/* From here on attached threads are announced; events of before are gone. */
void plumb_sched_begin(void);
/* The next event for the trace; false: there is none. `lost` counts those that were overwritten. */
bool plumb_sched_next(struct plumb_sched_event *out, uint64_t *lost);
/* A thread has been attached: wakes the collector, if it runs. */
void plumb_sched_attached(void);
extern uint32_t plumb_sched_met; /* counts attached threads while `sched` runs; futex. Atomic */
extern uint32_t plumb_sched_on;  /* atomic */
/* How far the kernel's own CLOCK_MONOTONIC_RAW, which its records have, is behind the process's:
 * not 0 in a time namespace. Set before a thread is watched. */
extern int64_t plumb_sched_behind_ns;

#endif
