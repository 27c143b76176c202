/* control_wanted.h: opening the control socket when a trace point is passed. Defined in
 * record/control/control.c. */
#ifndef PLUMB_RECORD_RUNTIME_CONTROL_WANTED_H
#define PLUMB_RECORD_RUNTIME_CONTROL_WANTED_H

/* Called by a trace point while plumb_rt.control_waits is set: starts the helper, which opens the
 * socket, unless this seems to be a signal handler. */
void plumb_control_by_point(void);

#endif
