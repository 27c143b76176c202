/* trace.h: the trace of a run, as the recording threads and the run see it. What goes into the file
 * and when is the writer's business (writer.c); what the mapping holds, live/trace.h.
 */
#ifndef PLUMB_RECORD_TRACE_TRACE_H
#define PLUMB_RECORD_TRACE_TRACE_H

#include "live/trace_drops.h"
#include "record/runtime/enter.h"
#include "timeline/mapping.h"
#include <plumb/value.h>

/* ---- Of a thread, inside the runtime ----------------------------------------------------------
 */

/* Before a fold: copies the block to the thread's queue. False: there is no room. Some 50 ns, no
 * system call; the block is warm. */
bool plumb_trace_copy(struct plumb_in in);
/* The three steps of losing a block: what is in it, before the fold; where that will be counted,
 * before the fold is said to be done; counting it, after. */
void plumb_trace_count(struct plumb_in in);
void plumb_trace_log(struct plumb_in in);
void plumb_trace_apply(struct plumb_in in);

/* Gives a thread block that is being attached its queue, when the run is traced. Under the lock.
 * The second: the thread's name, as it is now. */
void plumb_trace_attach(struct plumb_in in);
void plumb_trace_name(struct plumb_thread *th);

/* Whether what only a trace shows is to be recorded: instants, counters, flows. */
static inline bool plumb_traced(const struct plumb_thread *th)
{
    return th->queue != NULL;
}
/* Whether the trace has `what` (enum plumb_live_trace_what) in it. */
static inline bool plumb_traces(struct plumb_in in, uint32_t what)
{
    return in.th->queue && in.run->h->trace.what & what;
}

/* Inside enter, before a span begins: the address of the call and the return addresses that the
 * caller's frame leads to. Some 10 ns, and 2 for each; a look at /proc/self/maps the first time on
 * a stack. */
void plumb_trace_stack(struct plumb_in in, const struct plumb_caller *caller);
void plumb_trace_stacks_do_find(void); /* PLUMB_JOB_STACKS */
void plumb_trace_stacks_forget(void);  /* in the child of a fork */
/* How many have their innermost address alone because the helper did not answer in time; from the
 * last call on. */
uint64_t plumb_trace_stacks_late(void);

/* An input or output of an open stage as an argument of its span, "input.latents": "float32[2,64]".
 */
void plumb_trace_shape(plumb_span stage, uint32_t part, const char *name, const plumb_value *value);

/* What a pool holds now, as counters. Inside enter. */
void plumb_trace_pool(struct plumb_in in, const char *device, const char *pool, int64_t allocated,
                      int64_t reserved);

void plumb_instant_impl(const char *name);
void plumb_gauge_set_impl(const char *name, double value);
/* Inside enter: a value of a counter; `name_off`: text in the mapping. */
void plumb_trace_counter(struct plumb_in in, enum plumb_counter kind, uint64_t name_off,
                         uint64_t value);

/* Facts about the modules of the process, where the trace has call stacks; `told`: so many are in
 * the file already. Returns how many are now. */
uint32_t plumb_trace_modules(struct plumb_trace_file *f, uint32_t told);

/* ---- Of the run ------------------------------------------------------------------------------ */

/* In a new mapping, from the settings; under the lock. Without a directory there is no trace. */
void plumb_trace_begin(struct plumb_run *run);

/* log.c: lines of the log, without locks. */
void plumb_trace_tell_start(const struct plumb_run *run);
void plumb_trace_tell_stop(const struct plumb_run *run);

/* Under life_lock. The writer: a thread of its own that blocks all signals. */
void plumb_trace_writer_start(struct plumb_run *run);
/* Nobody records any more: writes the rest, ends the file, and counts what is not in it. */
void plumb_trace_writer_stop(struct plumb_run *run, const struct plumb_anchor *end);
void plumb_trace_writer_forget(void); /* in the child of a fork */
/* Before that, for plumb_give_back(): what the parent's writer has mapped. */
void plumb_trace_writer_give_back(void);

/* Asks for the newest records to be written to a file of their own (ring mode). Any thread, any
 * moment, signal handlers too: the writer does it. 0, or PLUMB_ERR_STATE: no such trace is on. */
int plumb_trace_keep_impl(const char *why, plumb_error *err);

#endif
