/* active_steps.h: what ran in the steps that PLUMB_TRACE_STEPS names, for the table of a run whose
 * trace is kept to them. The statistics of the run have all steps; a table beside the trace has the
 * same spans as the trace, whether or not the trace had room for them.
 *
 * A span belongs to the step that it began in, as in the trace. Warm-up skips do not apply: the
 * list says what is measured. Private to the process: a killed run has the statistics alone. */
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
void plumb_active_forget(struct plumb_thread *th); /* unmaps what it has of it */
/* Counts what the block ends; before its fold. */
void plumb_active_count(struct plumb_in in);
/* Returns whether step `step` of the run is in the list. */
bool plumb_active_has(const struct plumb_run *run, int64_t step);

/* Adds the figures to what is known by shapes. Recording has stopped. Texts are the arena's. */
void plumb_active_report(struct plumb_run *run, struct plumb_shape_times *out, double tick_ns);

#endif
