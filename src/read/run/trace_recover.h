/* trace_recover.h: the trace of a run whose process was killed: what its file lacks lies in its
 * mapping. */
#ifndef PLUMB_READ_RUN_TRACE_RECOVER_H
#define PLUMB_READ_RUN_TRACE_RECOVER_H

#include "model/timing.h"

/* Makes <dir>/trace.pftrace whole: the bytes that the mapping knows to be good, and behind them
 * what had not reached the file. A new file takes the place of the old one in one step; what is
 * there stays when that cannot be written. What `t`, the run's report, says of the trace is brought
 * up to date. Does nothing for a run that was not traced. Errors: PLUMB_ERR_IO, _MEMORY, _FORMAT,
 * _NOT_FOUND. */
int plumb_trace_recover(struct plumb_timing *t, const char *dir, plumb_error *err);

#endif
