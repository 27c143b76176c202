/* listen.h: the thread that accepts connections to the control socket, reads requests and writes
 * responses. A front end that is slow, silent, hostile or floods the socket costs this thread its
 * time, and no other thread. A connection has one request at a time; its size and the time that it
 * may take to arrive are bounded, as are the connections. The thread pauses when it and the
 * commands have used more than their part of a processor.
 *
 * Requests for the state of the process are answered here, so that they are answered also while the
 * helper writes the files of a run; all others are executed by the helper, one a turn. */
#ifndef PLUMB_RECORD_CONTROL_LISTEN_H
#define PLUMB_RECORD_CONTROL_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts the thread on a socket of `user`, which it closes at its end. On the helper. Returns 0 or
 * an errno. */
int plumb_control_listen_start(int fd, uid_t user);
/* Ends it, and drops the connections; what is leased to them ends too, unless the process `exits`.
 * On the helper, which does urgent jobs in the meantime. */
void plumb_control_listen_stop(bool exits);
/* Executes the next request that waits. On the helper. */
void plumb_control_listen_serve(void);
/* Returns whether the process has had another user than that of the socket for a second: it does
 * not obey the socket's user any more. On the helper. */
bool plumb_control_user_changed(void);
void plumb_control_listen_forget(void); /* in the child of a fork */

#endif
