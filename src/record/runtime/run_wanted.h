/* run_wanted.h: opening the wanted run, and noticing a fork that libc does not know of. Defined in
 * record/run/run.c and fork.c, and record/control/control.c. */
#ifndef PLUMB_RECORD_RUNTIME_RUN_WANTED_H
#define PLUMB_RECORD_RUNTIME_RUN_WANTED_H

#include <stdbool.h>
#include <stdint.h>

int plumb_run_open(void);        /* the wanted run, at the first span */
void plumb_run_open_early(void); /* the same, perhaps before main(); on the helper */
/* Has the run opened in `ms`, unless it is open by then. Any thread. */
void plumb_control_open_later(uint32_t ms);

/* In the child of a fork; `interrupted`: see plumb_threads_forget(). */
void plumb_run_forked(bool interrupted);

#endif
