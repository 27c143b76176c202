/* async.h: async spans. Defined in record/span/async.c. */
#ifndef PLUMB_RECORD_RUNTIME_ASYNC_H
#define PLUMB_RECORD_RUNTIME_ASYNC_H

#include "live/layout.h"
#include "record/runtime/thread.h"
#include <plumb/detail/types.h>

/* Waits for the device of the node, or without one for that of the thread's pipeline. Calls a
 * function of the program. */
void plumb_synchronise(struct plumb_thread *th, uint32_t node);
plumb_async plumb_async_begin_impl(plumb_node node);
/* `stage`: the fields `flags` to `rss`, which a stage's begin stores in the slot for its end. */
plumb_async plumb_async_begin_stage(plumb_node node, const struct plumb_live_async *stage);
void plumb_async_end_impl(plumb_async span, uint32_t mark, const char *why);

#endif
