/* trace.h: the trace of a run, for the recording threads and the run. The writer (writer.c) decides
 * what goes into the file and when. The part in the mapping is described in live/trace.h. */
#ifndef PLUMB_RECORD_TRACE_TRACE_H
#define PLUMB_RECORD_TRACE_TRACE_H

#include "live/trace_drops.h"
#include "record/runtime/enter.h"
#include "timeline/mapping.h"
#include <plumb/value.h>

/* ---- Of a thread, inside the runtime ----------------------------------------------------------
 */

/* Before a fold: copies block `number` to the thread's queue. Returns false if the queue is full.
 * Some 50 ns, no system call; the block is in the cache. */
bool plumb_trace_copy(struct plumb_in in, uint64_t number);
/* The three steps of losing a block: counting its spans, before the fold; logging the counts,
 * before the end of the fold is stored; and adding them, after it. */
void plumb_trace_count(struct plumb_in in, uint64_t number);
void plumb_trace_log(struct plumb_in in, uint64_t number);
void plumb_trace_apply(struct plumb_in in);

/* Gives a thread block that is being attached its queue, if the run is traced. Under the lock. The
 * second stores the thread's current name. */
void plumb_trace_attach(struct plumb_in in);
void plumb_trace_name(struct plumb_thread *th);

/* ---- A thread in a window, for switch.h ------------------------------------------------------ */

/* Makes the thread's queue, if it has none; under the lock. Returns false if the mapping is full.
 */
bool plumb_trace_prepare(struct plumb_in in);
/* Empties a queue that is not fed, for a window that begins on its thread at `from_ticks`; 0: with
 * the thread. The caller holds the thread. */
void plumb_trace_queue_begin(struct plumb_live_queue *q, uint32_t window, uint64_t from_ticks);
/* Ends a window on a thread: its blocks that were not folded become slots, with the newest as far
 * as it is written. The caller holds the thread. Returns false if they do not fit; then nothing has
 * changed. */
bool plumb_trace_queue_end(struct plumb_in in);

/* Returns whether records for the trace alone are made: instants, counters, flows. */
static inline bool plumb_traced(const struct plumb_thread *th)
{
    return PLUMB_LOAD(th->queue) != NULL;
}
/* Returns whether the trace includes `what` (enum plumb_live_trace_what). */
static inline bool plumb_traces(struct plumb_in in, uint32_t what)
{
    return plumb_traced(in.th) && PLUMB_LOAD(in.run->h->trace.what) & what;
}

/* Inside enter, before a span begins: records the address of the call and the return addresses that
 * the caller's frame leads to. Some 10 ns, plus 2 for each; reads /proc/self/maps the first time on
 * a stack. */
void plumb_trace_stack(struct plumb_in in, const struct plumb_caller *caller);
void plumb_trace_stacks_do_find(void); /* PLUMB_JOB_STACKS */
void plumb_trace_stacks_forget(void);  /* in the child of a fork */
/* Returns how many stacks since the last call have only their innermost address, because the helper
 * did not answer in time. */
uint64_t plumb_trace_stacks_late(void);

/* Records an input or output of an open stage as an argument of its span, "input.latents":
 * "float32[2,64]". */
void plumb_trace_shape(plumb_span stage, uint32_t part, const char *name, const plumb_value *value);

/* Records the present sums of a pool as counters. Inside enter. */
void plumb_trace_pool(struct plumb_in in, const char *device, const char *pool, int64_t allocated,
                      int64_t reserved);

void plumb_instant_impl(const char *name);
void plumb_gauge_set_impl(const char *name, double value);
/* Inside enter: records a value of a counter; `name_off`: text in the mapping. */
void plumb_trace_counter(struct plumb_in in, enum plumb_counter kind, uint64_t name_off,
                         uint64_t value);

/* Writes facts about the modules of the process, if the trace has call stacks; `told`: so many are
 * in the file already. Returns how many are in it now. */
uint32_t plumb_trace_modules(struct plumb_trace_file *f, uint32_t told);

/* ---- Of the run ------------------------------------------------------------------------------ */

/* Sets up the trace in a new mapping, from the settings; under the lock. Without a directory there
 * is no trace. */
void plumb_trace_begin(struct plumb_run *run);
/* Its parts: the zero of the trace's times on the kernel's clocks, and the optional contents that
 * the settings ask for. */
void plumb_trace_zero(struct plumb_run *run);
uint32_t plumb_trace_contents(void);

/* log.c: lines of the log, without locks. */
void plumb_trace_log_start(const struct plumb_run *run);
void plumb_trace_log_stop(const struct plumb_run *run);

/* Under life_lock: starts the writer, a thread that blocks all signals. */
void plumb_trace_writer_start(struct plumb_run *run);
/* The same for a window: makes its file, sets the mode of the trace, starts the writer. After an
 * error there is neither. */
int plumb_trace_writer_window(struct plumb_run *run, plumb_error *err);
/* After recording has ended: writes the rest, ends the file, and counts the spans that are not in
 * it. `settle`: the run goes on; called instead of plumb_trace_settle() when the trace has ended
 * early. */
void plumb_trace_writer_stop(struct plumb_run *run, const struct plumb_anchor *end,
                             void (*settle)(struct plumb_run *run));
void plumb_trace_writer_forget(void); /* in the child of a fork */
/* Before that, for plumb_give_back(): unmaps the memory of the parent's writer. */
void plumb_trace_writer_give_back(void);

/* Asks the writer to write the newest records to a file of their own (ring mode). Any thread, any
 * moment, signal handlers too. Returns 0, or PLUMB_ERR_STATE if no such trace is on. */
int plumb_trace_keep_impl(const char *why, plumb_error *err);

#endif
