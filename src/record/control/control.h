/* control.h: whether this process can be controlled from outside, and the socket by which it is.
 *
 * PLUMB_CONTROL=1 and plumb_control_open() ask for it. The helper opens the socket, so a process
 * without a helper has none. A forked child, and a process whose objects have no trace points when
 * the library is loaded, opens its own when it first passes a trace point: most of them call exec()
 * soon. docs/control.md describes the channel, and why it is a socket. */
#ifndef PLUMB_RECORD_CONTROL_CONTROL_H
#define PLUMB_RECORD_CONTROL_CONTROL_H

#include <plumb/error.h>

/* As the library is loaded, when the helper was or was not started. */
void plumb_control_loaded(void);
int plumb_control_open_impl(plumb_error *err);
void plumb_control_close_impl(void);
void plumb_control_do(void);     /* PLUMB_JOB_CONTROL */
void plumb_control_exit(void);   /* at the end of the process */
void plumb_control_forked(void); /* in the child of a fork */

#endif
