/* active.h: what ran in the steps that PLUMB_TRACE_STEPS names, for the table of a run whose trace
 * is kept to them. The statistics of the run have all steps; a table beside the trace has the same
 * spans as the trace, whether or not the trace had room for them.
 *
 * A span belongs to the step that it began in, as in the trace. Warm-up skips do not apply: the
 * list says what is measured. Private to the process: a killed run has the statistics alone. */
#ifndef PLUMB_CORE_ACTIVE_H
#define PLUMB_CORE_ACTIVE_H

#include "core/runtime.h"
#include "format/shape_times.h"

/* For a run that is being opened: reads the list; under the lock. Without steps there is nothing to
 * count. */
void plumb_active_open(struct plumb_run *run, const char *steps);
void plumb_active_close(struct plumb_run *run);
/* A thread attaches to the run, with no span open. */
void plumb_active_attach(struct plumb_thread *th);
/* Before a fold: counts what the block ends. */
void plumb_active_count(struct plumb_thread *th);
/* Whether step `step` of the run is in the list. */
bool plumb_active_has(const struct plumb_run *run, int64_t step);

/* Adds the figures to what is known by shapes; nobody records any more. Texts are the arena's. */
void plumb_active_report(const struct plumb_run *run, struct plumb_shape_times *out,
                         double tick_ns);

#endif
