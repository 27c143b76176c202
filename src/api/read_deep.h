/* read_deep.h: what the files of the reading interface share of the peaks of this machine. */
#ifndef PLUMB_API_READ_DEEP_H
#define PLUMB_API_READ_DEEP_H

#include "analyze/roofline/peaks.h"
#include <plumb/read/deep.h>

/* Lives as long as `deep`. */
const struct plumb_peaks *plumb_deep_peaks(const plumb_deep *deep);

#endif
