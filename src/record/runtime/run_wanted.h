/* run_wanted.h: opening the wanted run, and noticing a fork that libc does not know of. Defined in
 * record/run/run.c and fork.c, and record/control/periodic.c. */
#ifndef PLUMB_RECORD_RUNTIME_RUN_WANTED_H
#define PLUMB_RECORD_RUNTIME_RUN_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

int plumb_run_open(void);        /* the wanted run, at the first span */
void plumb_run_open_early(void); /* the same, perhaps before main(); on the helper */
/* Has the run opened in `ms`, unless it is open by then. Any thread. */
void plumb_periodic_open_later(uint32_t ms);
/* Has the calls that were counted passed on, to a run that opens for them if need be. Any thread,
 * any signal handler, before the process becomes another program. */
void plumb_periodic_pass_on(void);
/* The same while a run is open, for a thread that asks for the counts. Returns false if that is not
 * possible, or calls are not counted. */
bool plumb_periodic_pass_on_now(void);

/* For a front end, on the helper: the first opens a run with the settings that the program took
 * last, changed by `settings` [n] "name=value", for this run alone and without an end block, and
 * sets `number` to its plumb_run.generation; the second ends the open run, or a wish for one;
 * `number`: if it is that of the open run, 0: whichever it is. Errors as plumb_control_start() and
 * plumb_control_stop(). */
int plumb_run_start_asked(uint32_t *number, const char *const *settings, size_t n,
                          plumb_error *err);
int plumb_run_stop_asked(uint32_t number, plumb_error *err);

/* In the child of a fork; `interrupted`: see plumb_threads_forget(). */
void plumb_run_forked(bool interrupted);

#endif
