/* scratch.h: large buffers for code that runs on the program's threads, whose stacks may be small
 * and whose malloc may be what called us. A few free blocks are kept, so taking one costs an atomic
 * exchange; further ones come from the kernel and go back to it. Any thread, signal handlers
 * too. */
#ifndef PLUMB_BASE_SCRATCH_H
#define PLUMB_BASE_SCRATCH_H

enum { PLUMB_SCRATCH_BYTES = 32 * 1024 };

/* Returns PLUMB_SCRATCH_BYTES of arbitrary contents, which belong to the caller until they are
 * given back. NULL when out of memory. */
void *plumb_scratch_take(void);
void plumb_scratch_give(void *scratch); /* NULL is fine */

#endif
