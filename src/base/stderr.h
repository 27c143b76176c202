/* stderr.h: the one way to the program's stderr. Descriptor 2 is a number: a daemon that closes it
 * gives it to the next file it opens, and words of plumb's would end up in the program's data. */
#ifndef PLUMB_BASE_STDERR_H
#define PLUMB_BASE_STDERR_H

#include <stddef.h>

/* Remembers what descriptor 2 is now as the program's stderr; called when the library is loaded.
 * errno stays. */
void plumb_stderr_remember(void);
/* Writes with one call, to descriptor 2 while it is what was remembered, the controlling terminal
 * or the journal; to nothing otherwise. Before plumb_stderr_remember(): to descriptor 2. Any
 * thread, any signal handler; raises no signal, errno stays. Costs two system calls besides the
 * write. */
void plumb_stderr_write(const char *bytes, size_t n);

#endif
