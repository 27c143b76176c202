/* resident.h: how much of the machine's memory this process holds, according to the kernel. Bytes;
 * 0 where that is not known (no /proc). Reads files of /proc with the caller's errno kept; no
 * malloc. Any thread. */
#ifndef PLUMB_BASE_PROCESS_RESIDENT_H
#define PLUMB_BASE_PROCESS_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the resident set. Opens /proc/self/statm each time, about 2 us: a descriptor kept open
 * would give a forked child its parent's size, and could become another file where the host closes
 * all of them. */
uint64_t plumb_resident_now(void);
/* From now on the calling thread keeps that file open. The thread must have a descriptor table of
 * its own. */
void plumb_resident_keep(void);
/* Returns the peak that getrusage(2) reports. It is inherited through exec, so it only shows that a
 * peak was higher than an earlier one. About 0.3 us. */
uint64_t plumb_resident_high(void);
/* Returns the peak of this address space (VmHWM), since its start or the last reset. About 20
 * us. */
uint64_t plumb_resident_peak(void);
/* Makes the current size the peak from here on (/proc/self/clear_refs). False: not allowed. */
bool plumb_resident_reset(void);
/* Returns the memory of the machine, or of this process's control group (v2) if that allows
 * less. */
uint64_t plumb_resident_total(void);

#endif
