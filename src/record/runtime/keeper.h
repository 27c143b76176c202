/* keeper.h: a thread of plumb's that shares the program's descriptors, for two tasks that the
 * helper cannot do. It calls functions of the program that may use its descriptors. It ends the
 * process when main() has left by pthread_exit() and all other threads have ended.
 *
 * It is started when it is needed, by a thread of the program: most processes have none. */
#ifndef PLUMB_RECORD_RUNTIME_KEEPER_H
#define PLUMB_RECORD_RUNTIME_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* Called when the library is loaded, and in the child of a fork: watches for the first thread to
 * leave. */
void plumb_keeper_watch(void);
/* Called when the helper has started: starts the keeper if a subsystem needs it from the
 * beginning. */
void plumb_keeper_needed(void);
/* Starts the keeper unless there is one. On a thread of the program. Returns whether there is
 * one. */
bool plumb_keeper_start(void);
bool plumb_keeper_is_there(void);
/* Calls fn(arg) on the keeper, or without one on this thread. */
void plumb_keeper_call(void (*fn)(void *arg), void *arg);
/* On the helper, periodically: ends the process if only plumb's threads are left. Returns ns until
 * the next check, UINT64_MAX: none is needed. */
uint64_t plumb_keeper_look(void);
void plumb_keeper_forget(void); /* in the child of a fork */

#endif
