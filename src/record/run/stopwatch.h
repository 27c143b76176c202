/* stopwatch.h: how long something took and how much memory its devices held meanwhile. */
#ifndef PLUMB_RECORD_RUN_STOPWATCH_H
#define PLUMB_RECORD_RUN_STOPWATCH_H

#include <plumb/plumb.h>

int plumb_runtime_begin_impl(plumb_runtime_run **out, const plumb_runtime_options *options,
                             plumb_error *err);
int plumb_runtime_finish_impl(plumb_runtime_run *run, plumb_runtime_result *out, plumb_error *err);

#endif
