/* read_deep.h: what the files of the reading interface share of the peaks of this machine. */
#ifndef PLUMB_API_READ_DEEP_H
#define PLUMB_API_READ_DEEP_H

#include "analyze/roofline/peaks.h"
#include <plumb/read/deep.h>
#include <plumb/read/trace.h>

/* Opens the trace and what belongs to it, without peaks. */
int plumb_deep_open_trace(plumb_deep **out, const char *what, plumb_error *err);

/* These live as long as `deep`. The trace is NULL without a recording. */
const struct plumb_peaks *plumb_deep_peaks(const plumb_deep *deep);
const plumb_trace *plumb_deep_trace(const plumb_deep *deep);
/* The texts that name stages, of the run that the trace lies in; none if it lies in no run. */
const uint32_t *plumb_deep_stages(const plumb_deep *deep, size_t *count);

#endif
