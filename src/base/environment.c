/* environment.c: whose variables plumb obeys. No state. */
#include "base/environment.h"

#include <sys/auxv.h>

extern char **environ;

bool plumb_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

char *const *plumb_environment(void)
{
    static char *const none[] = {NULL};
    return plumb_is_privileged() ? none : environ;
}
