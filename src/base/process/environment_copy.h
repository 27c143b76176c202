/* environment_copy.h: the process's own variables, read while other threads may change them. */
#ifndef PLUMB_BASE_PROCESS_ENVIRONMENT_COPY_H
#define PLUMB_BASE_PROCESS_ENVIRONMENT_COPY_H

#include <stdbool.h>

/* A copy of the variables that plumb obeys: the process's own, none in a privileged one. Reading
 * `environ` itself is a race with setenv() in another thread, which frees the list. The copy is
 * made through the kernel, so that a list that is freed meanwhile is noticed and read again.
 * Returns NULL where that cannot be done; `direct`: then `environ` is read as getenv() does, for
 * the moments in which the program answers for that (as the library is loaded, and inside a call
 * that the program makes). No malloc. */
struct plumb_environment_copy *plumb_environment_copy(bool direct);
void plumb_environment_free(struct plumb_environment_copy *c);
/* Returns its list, ended by NULL; of NULL an empty one. */
char *const *plumb_environment_of(const struct plumb_environment_copy *c);

#endif
