/* environment_copy.h: the process's own variables, read while other threads may change them. */
#ifndef PLUMB_BASE_PROCESS_ENVIRONMENT_COPY_H
#define PLUMB_BASE_PROCESS_ENVIRONMENT_COPY_H

#include <stdbool.h>

/* Returns a copy of the variables that plumb obeys: the process's own, none in a privileged
 * process. Reading `environ` directly is a race with setenv() in another thread, which frees the
 * list. The copy is made through the kernel, so a list that is freed during the copy is noticed and
 * read again. Where the kernel refuses, it returns NULL, or with `direct` reads `environ` as
 * getenv() does. `direct` is for moments when the program is responsible for that race: while the
 * library is loaded, and inside a call that the program makes. No malloc. */
struct plumb_environment_copy *plumb_environment_copy(bool direct);
void plumb_environment_free(struct plumb_environment_copy *c);
/* Returns its list, ended by NULL; an empty list for NULL. */
char *const *plumb_environment_of(const struct plumb_environment_copy *c);

#endif
