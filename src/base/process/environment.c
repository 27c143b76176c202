/* environment.c: whether plumb may obey the variables of the process. No state. */
#include "base/process/environment.h"

#include <sys/auxv.h>

bool plumb_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}
