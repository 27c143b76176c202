/* count.h: named counters (record/span/count.c), and allocations that a thread has summed up
 * (record/stage/malloc_events.c). */
#ifndef PLUMB_RECORD_RUNTIME_COUNT_H
#define PLUMB_RECORD_RUNTIME_COUNT_H

#include <stdint.h>

#include "record/runtime/thread.h"

void plumb_counter_add_impl(const char *name, int64_t n);
int64_t plumb_count_value(const char *name); /* of the thread's pipeline; 0 if never counted */
/* Passes on the allocations that the calling thread has summed up, if there are any. Inside enter,
 * without locks. */
void plumb_sized_pass_on(struct plumb_in in);

#endif
