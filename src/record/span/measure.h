/* measure.h: the careful way to time something, in one call. */
#ifndef PLUMB_RECORD_SPAN_MEASURE_H
#define PLUMB_RECORD_SPAN_MEASURE_H

#include <plumb/stopwatch.h>

int plumb_measure_impl(plumb_measured *out, void (*fn)(void *), void *arg,
                       const plumb_measure_options *options, plumb_error *err);

#endif
