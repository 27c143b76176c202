/* resident.h: how much of the machine's memory this process holds, as the kernel tells it. Bytes; 0
 * where the kernel does not say (no /proc). Reads files of /proc with the caller's errno kept; no
 * malloc. Any thread. */
#ifndef PLUMB_BASE_PROCESS_RESIDENT_H
#define PLUMB_BASE_PROCESS_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

/* The resident set. Opens /proc/self/statm each time, about 2 us: a descriptor kept open would tell
 * a forked child its parent's size, and could become another file where the host closes them all.
 */
uint64_t plumb_resident_now(void);
/* From here on the calling thread keeps open what it reads for that: it has descriptors of its own.
 */
void plumb_resident_keep(void);
/* The highest that getrusage(2) has seen; inherited through exec, so it only tells that a peak was
 * higher than one before. About 0.3 us. */
uint64_t plumb_resident_high(void);
/* The highest of this address space (VmHWM), since its start or the last reset. About 20 us. */
uint64_t plumb_resident_peak(void);
/* Makes the current size the peak from here on (/proc/self/clear_refs). False: not allowed. */
bool plumb_resident_reset(void);
/* Memory of the machine, or of this process's control group (v2) where that allows less. */
uint64_t plumb_resident_total(void);

#endif
