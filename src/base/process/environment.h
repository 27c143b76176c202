/* environment.h: reading a list of "NAME=value" strings, the process's own or one under test. */
#ifndef PLUMB_BASE_PROCESS_ENVIRONMENT_H
#define PLUMB_BASE_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the value of the first entry called `name`, like getenv(); NULL if there is none. */
static inline const char *plumb_environment_get(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (char *const *e = environment; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

/* Returns whether the process has rights that the user who started it lacks (AT_SECURE: a
 * set-user-ID program, file capabilities). Variables of such a process must not be obeyed. */
bool plumb_is_privileged(void);

#endif
