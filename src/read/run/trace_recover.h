/* trace_recover.h: completes the trace of a killed process from its mapping. */
#ifndef PLUMB_READ_RUN_TRACE_RECOVER_H
#define PLUMB_READ_RUN_TRACE_RECOVER_H

#include "model/timing.h"

/* Makes <dir>/trace.pftrace whole: the bytes that the mapping knows to be good, followed by the
 * packets that had not reached the file. A new file replaces the old one in one step; if it cannot
 * be written, the old one stays. Updates what `t`, the run's report, says of the trace. Does
 * nothing for a run that was not traced. Errors: PLUMB_ERR_IO, _MEMORY, _FORMAT, _NOT_FOUND. */
int plumb_trace_recover(struct plumb_timing *t, const char *dir, plumb_error *err);

#endif
