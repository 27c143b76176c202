/* mark.h: marks the runs of a bench in the recording of this process, if it records: each is a
 * stage "bench", a warm-up "bench.warmup". */
#ifndef PLUMB_ISOLATE_MARK_H
#define PLUMB_ISOLATE_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* Begins a run and returns the handle of its span; 0: nothing is recorded. */
uint64_t plumb_mark_begin(bool measured);
void plumb_mark_end(uint64_t mark);

#endif
