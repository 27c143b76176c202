/* own_cpu.h: processor time of plumb's own threads. Each reports its begin and its end. */
#ifndef PLUMB_RECORD_RUNTIME_OWN_CPU_H
#define PLUMB_RECORD_RUNTIME_OWN_CPU_H

#include <stdint.h>

struct plumb_run;

void plumb_own_cpu_begin(void);
void plumb_own_cpu_end(void);
uint64_t plumb_own_cpu_ns(void); /* of all of them so far */
/* Stores their time since the run was opened in its mapping. */
void plumb_own_cpu_store(struct plumb_run *run);
void plumb_own_cpu_forked(void); /* the child has none of these threads */

#endif
