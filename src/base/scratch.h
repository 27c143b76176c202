/* scratch.h: large buffers for code that runs on the program's threads, whose stacks may be small
 * and whose malloc may be what called us. A few blocks wait for the next taker, so that one is had
 * for an atomic exchange; more come from the kernel and go back to it. Any thread, signal handlers
 * too. */
#ifndef PLUMB_BASE_SCRATCH_H
#define PLUMB_BASE_SCRATCH_H

enum { PLUMB_SCRATCH_BYTES = 32 * 1024 };

/* PLUMB_SCRATCH_BYTES of arbitrary contents, the caller's until they are given back. NULL: no
 * memory. */
void *plumb_scratch_take(void);
void plumb_scratch_give(void *scratch); /* NULL is fine */

#endif
