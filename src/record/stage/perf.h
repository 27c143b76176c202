/* perf.h: counters of the thread of a stage, and of a kernel that it runs: processor time, page
 * faults, context switches, and what perf_event_open(2) gives (base/process/perf.h). Off unless the
 * collector `perf` (collect/perf.c) runs: then a stage costs one load more, and a span nothing.
 *
 * They are read at the begin and the end of a stage, on its thread, between plumb's own work and
 * that of the program. plumb's work at these boundaries, such as the log lines of a stage, is
 * counted as well and taken off the stages around. So a stage has the counts of the program, with
 * those of the spans inside it.
 *
 * Only the thread of the stage is counted. Threads that it hands work to are not: PROCESS_CPU next
 * to TASK_CLOCK shows whether they did any. A stage that is an async span has no counts.
 *
 * Descriptors: the kernel gives each event a descriptor, which the program could close, or find
 * instead of the number it expects. So a thread of the collector opens them, in a table of its own.
 * Where the processor lets user code read a counter, the page that is shared with the kernel is
 * enough, and the descriptor is closed at once. Otherwise the thread asks the collector's thread,
 * which reads for it; this takes as long as a reading of the resident set, and is not done for
 * kernels, of which there may be thousands. */
#ifndef PLUMB_RECORD_STAGE_PERF_H
#define PLUMB_RECORD_STAGE_PERF_H

#include "base/process/perf.h"
#include "record/runtime/enter.h"
#include "record/stage/ledger.h"

enum plumb_perf_opened {
    PLUMB_PERF_CLOSED = 0,
    PLUMB_PERF_WANTED = 1, /* its thread asks for its events */
    PLUMB_PERF_OPEN = 2,   /* its thread may read them */
    PLUMB_PERF_BUSY = 3    /* the collector's thread closes them, or never can */
};
enum { PLUMB_PERF_KERNELS = 8 }; /* open ones inside each other, on a thread */

/* The counters of a thread. The collector's thread changes the events, but not while they are
 * open and their thread may read them. */
struct plumb_perf_thread {
    uint32_t state; /* enum plumb_perf_opened; atomic */
    /* That the events are for; `pid` is released, `generation` is that of the OS threads. */
    uint32_t pid, tid, generation;
    struct plumb_perf_event event[PLUMB_PERF_COUNTERS];
    uint32_t by_page, by_fd;  /* bits: how each open event is read */
    uint32_t opened;          /* how often; atomic: a difference of two openings means nothing */
    uint32_t asked, answered; /* atomic, futex: readings by descriptors */
    struct plumb_perf_reading answer;
    /* of its own thread */
    struct plumb_perf_reading own;    /* counted in plumb's boundaries of the open stages */
    struct plumb_perf_reading before; /* at the begin of such a boundary */
    struct plumb_perf_reading slow;   /* by descriptors, there */
    struct plumb_perf_begun {
        uint32_t opened;
        struct plumb_perf_reading at;
    } stage[PLUMB_STAGES_MAX];
    struct plumb_perf_kernel {
        uint64_t lane, ticks;
        struct plumb_perf_begun begun;
    } kernel[PLUMB_PERF_KERNELS];
    uint32_t kernels;
};

/* ---- The collector's side -------------------------------------------------------------------- */

/* The counters to read, set by the collector before it sets plumb_perf_pid. */
struct plumb_perf_plan {
    uint32_t soft, events; /* bits */
    bool simulated;
};
extern struct plumb_perf_plan plumb_perf_plan;
/* The process for which the collector runs; 0: it does not. Atomic. Pages are read inside enter,
 * after another look at it: cleared, and after a barrier, they may be unmapped once all threads
 * have left. */
extern uint32_t plumb_perf_pid;
extern uint32_t plumb_perf_asks; /* counts what threads have asked for; futex. Atomic */

static inline bool plumb_perf_is_on(void)
{
    uint32_t pid = PLUMB_ACQUIRE(plumb_perf_pid); /* and with it the plan */
    return PLUMB_UNLIKELY(pid) && pid == (uint32_t)plumb_rt.pid;
}

/* ---- The stage's side ------------------------------------------------------------------------ */

/* Outside enter, at the begin of the boundary that begins a stage. May wait up to 20 ms for the
 * collector's thread. */
void plumb_perf_before(struct plumb_thread *th);
/* The next two want th->perf.
 * Inside enter, just before the clock read of the stage that will be th->stage[at]. */
void plumb_perf_begin(struct plumb_in in, uint32_t at);
/* Inside enter, just after the clock read of its end. Waits as plumb_perf_before(). Returns false,
 * and leaves `out`, if nothing was counted. */
bool plumb_perf_end(struct plumb_in in, uint32_t at, struct plumb_perf_counts *out);
/* Outside enter: the boundary that ends a stage is over. Wants th->perf. */
void plumb_perf_after(struct plumb_thread *th);
/* Under the ledger's lock: adds the counts of a run to those of its key. */
void plumb_perf_enter(struct plumb_run *run, uint64_t key, const struct plumb_perf_counts *counts);

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Inside enter, on the thread that runs a kernel: it begins; it has ended, and `name` is its number
 * in the table of lane names. `stage`: key + 1 of the stage around, 0: none. Takes the ledger's
 * lock. */
void plumb_perf_kernel_begin(struct plumb_in in, uint64_t lane);
void plumb_perf_kernel_end(struct plumb_in in, uint64_t lane, uint64_t begin_ticks, uint32_t name,
                           uint64_t stage);

#endif
