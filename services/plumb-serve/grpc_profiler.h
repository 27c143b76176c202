/* grpc_profiler.h: the handlers of plumb.v1.Profiler, whose table is in grpc_profiler.c. Contracts:
 * share/proto/plumb/v1/profiler.proto. */
#ifndef PLUMB_SERVE_GRPC_PROFILER_H
#define PLUMB_SERVE_GRPC_PROFILER_H

#include "grpc_call.h"

/* grpc_steer.c */
void serve_profiler_start(struct serve_call *c, const void *request);
void serve_profiler_stop(struct serve_call *c, const void *request);
void serve_profiler_configure(struct serve_call *c, const void *request);
/* grpc_trace.c */
void serve_profiler_trace(struct serve_call *c, const void *request);
void serve_profiler_keep_ring(struct serve_call *c, const void *request);
/* grpc_runs.c */
void serve_profiler_list_runs(struct serve_call *c, const void *request);
void serve_profiler_get_run(struct serve_call *c, const void *request);
void serve_profiler_get_run_file(struct serve_call *c, const void *request);

#endif
