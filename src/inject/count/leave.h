/* leave.h: the functions that end a process, or its program, without its exit handlers: _exit(),
 * _Exit(), quick_exit() and those of exec. The forked children of many programs end so, and would
 * lose the calls that were counted since the last were passed on. So callers are given a stub that
 * tells libplumb first, and then jumps to the function. Any thread, also in a signal handler. */
#ifndef PLUMB_INJECT_COUNT_LEAVE_H
#define PLUMB_INJECT_COUNT_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether a function of this name is one of them. */
bool plumb_leave_is_name(const char *function);
/* Returns the address that callers are given instead of `target`. */
uintptr_t plumb_leave_bind(const char *function, uintptr_t target);
/* `exits` is plumb_api.leave, called before the process ends; `execs` is called before it becomes
 * another program, which may fail. */
void plumb_leave_tell(void (*exits)(void), void (*execs)(void));

#endif
