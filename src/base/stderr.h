/* stderr.h: the one way to the program's stderr. Descriptor 2 is a number: a daemon that closes it
 * gives it to the next file it opens, and plumb's messages would end up in the program's data. */
#ifndef PLUMB_BASE_STDERR_H
#define PLUMB_BASE_STDERR_H

#include <stddef.h>

/* Remembers the current file of descriptor 2 as the program's stderr; called when the library is
 * loaded. Keeps errno. */
void plumb_stderr_remember(void);
/* Writes with one call to descriptor 2, if that is the remembered file, the controlling terminal or
 * the journal. Otherwise it writes nothing. Before plumb_stderr_remember(): to descriptor 2. Any
 * thread, any signal handler; raises no signal, errno stays. Costs two system calls besides the
 * write. */
void plumb_stderr_write(const char *bytes, size_t n);

#endif
