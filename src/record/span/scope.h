/* scope.h: the context of a thread: pipeline, phase, step, adopted context. */
#ifndef PLUMB_RECORD_SPAN_SCOPE_H
#define PLUMB_RECORD_SPAN_SCOPE_H

#include "record/runtime/thread.h"
#include <plumb/context.h>

plumb_scope plumb_phase_begin_impl(const char *name);
plumb_scope plumb_step_begin_impl(int64_t step);
void plumb_step_set_impl(plumb_scope scope, int64_t step);
plumb_scope plumb_pipeline_begin_impl(plumb_pipeline *pipeline);
void plumb_context_capture_impl(plumb_context *out);
plumb_scope plumb_context_adopt_impl(const plumb_context *context);
void plumb_scope_end_impl(plumb_scope scope);
void plumb_scopes_announce(struct plumb_in in); /* reports the thread's context to a new run */
/* Inside enter: releases what the scopes above `down_to` have adopted in the ledger. */
void plumb_scopes_return(struct plumb_in in, uint32_t down_to);

#endif
