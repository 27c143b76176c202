/* stopwatch.h: elapsed time and the peak of device memory in an interval. */
#ifndef PLUMB_RECORD_RUN_STOPWATCH_H
#define PLUMB_RECORD_RUN_STOPWATCH_H

#include <plumb/plumb.h>

int plumb_stopwatch_start_impl(plumb_stopwatch **out, const plumb_stopwatch_options *options,
                               plumb_error *err);
int plumb_stopwatch_stop_impl(plumb_stopwatch_result *out, plumb_stopwatch *run, plumb_error *err);

#endif
