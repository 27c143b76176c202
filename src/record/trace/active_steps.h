/* active_steps.h: the figures of the steps that PLUMB_TRACE_STEPS selects, for the table of a run
 * whose trace is restricted to them. The statistics of the run cover all steps. The table next to
 * the trace covers the trace's spans, including those that the trace has dropped.
 *
 * A span belongs to the step that it began in, as in the trace. Warm-up skips do not apply: the
 * list is the selection. The figures are private to the process: a killed run has only the
 * statistics. */
#ifndef PLUMB_RECORD_TRACE_ACTIVE_STEPS_H
#define PLUMB_RECORD_TRACE_ACTIVE_STEPS_H

#include "live/shape_times.h"
#include "record/runtime/enter.h"

/* Reads the list for a run that is being opened; under the lock. Without steps nothing is counted.
 */
void plumb_active_open(struct plumb_run *run, const char *steps);
void plumb_active_close(struct plumb_run *run);
/* Attaches a thread, with no span open, to the run. */
void plumb_active_attach(struct plumb_in in);
void plumb_active_forget(struct plumb_thread *th); /* unmaps its data of the thread */
/* Counts the spans that the block ends; before its fold. */
void plumb_active_count(struct plumb_in in);
/* Returns whether step `step` of the run is in the list. */
bool plumb_active_has(const struct plumb_run *run, int64_t step);

/* Adds the figures to the table by shapes, after recording has stopped. Texts are the arena's. */
void plumb_active_report(struct plumb_run *run, struct plumb_shape_times *out, double tick_ns);

#endif
