/* trace_threads.h: each thread into and out of a window of the trace (trace_switch.c). On the
 * helper, under life_lock. */
#ifndef PLUMB_RECORD_SPAN_TRACE_THREADS_H
#define PLUMB_RECORD_SPAN_TRACE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/runtime/thread.h"

/* Takes the thread into the window that is on. `highest` becomes its step, if that is higher.
 * Returns false if it could not be held in time: then it is not in the window. */
bool plumb_trace_thread_on(struct plumb_in in, int64_t *highest);
/* Takes the thread out of the window, with what it recorded. Returns false if it could not be held
 * until `deadline_ns` (CLOCK_MONOTONIC): then its last blocks are not in the file. */
bool plumb_trace_thread_off(struct plumb_in in, uint64_t deadline_ns);
/* Counts what the file of a window that has ended early lacks. */
void plumb_trace_threads_settle(struct plumb_run *run);

#endif
