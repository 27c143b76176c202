/* keeper.h: a thread of plumb's that shares the program's descriptors, for what the helper cannot
 * do: call functions of the program's that may know its descriptors, and be the one that is left
 * when main() has left by pthread_exit() and all other threads have ended.
 *
 * It is made where it is needed, by a thread of the program's: most processes have none. */
#ifndef PLUMB_RECORD_RUNTIME_KEEPER_H
#define PLUMB_RECORD_RUNTIME_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* The library is here: the first thread of the process is to be seen leaving. In the child of a
 * fork as well. */
void plumb_keeper_watch(void);
/* The helper has been made: makes the keeper where something needs it from the beginning. */
void plumb_keeper_needed(void);
/* Makes it, unless there is one. On a thread of the program's. False: there is none. */
bool plumb_keeper_start(void);
bool plumb_keeper_is_there(void);
/* Calls fn(arg) on the keeper, or on this thread where there is no keeper. */
void plumb_keeper_call(void (*fn)(void *arg), void *arg);
/* On the helper, now and then: ends the process where only plumb's threads are left. Returns ns
 * until the next look, UINT64_MAX: none is needed. */
uint64_t plumb_keeper_look(void);
void plumb_keeper_forget(void); /* in the child of a fork */

#endif
