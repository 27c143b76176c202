/* own_cpu.h: processor time of plumb's own threads. Each says when it begins and ends. */
#ifndef PLUMB_RECORD_RUNTIME_OWN_CPU_H
#define PLUMB_RECORD_RUNTIME_OWN_CPU_H

#include <stdint.h>

struct plumb_run;

void plumb_own_cpu_begin(void);
void plumb_own_cpu_end(void);
uint64_t plumb_own_cpu_ns(void); /* of all that there have been */
/* What they took since the run was opened, into its mapping. */
void plumb_own_cpu_store(struct plumb_run *run);
void plumb_own_cpu_forked(void); /* none of them is in the child */

#endif
