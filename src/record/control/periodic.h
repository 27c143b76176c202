/* periodic.h: the periodic work of the helper while a run is open, and the ends of a process that
 * come without exit handlers. */
#ifndef PLUMB_RECORD_CONTROL_PERIODIC_H
#define PLUMB_RECORD_CONTROL_PERIODIC_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_run;

/* Does the work that is due, on the helper. Returns ns until the next, UINT64_MAX: never. */
uint64_t plumb_periodic_turn(void);
/* A run is open. `early`: the program may not have set its handlers yet. */
void plumb_periodic_start(struct plumb_run *run, bool early);
void plumb_periodic_stop(void);
/* plumb_api.leave */
void plumb_periodic_leave(void);
/* The job of the helper that plumb_periodic_pass_on() asks for. */
void plumb_periodic_do_pass_on(void);
/* Returns whether the run ends without exit handlers: a thread waits, perhaps in a handler. */
bool plumb_periodic_was_signalled(void);
void plumb_periodic_forget(void); /* in the child of a fork: the run is the parent's */

#endif
