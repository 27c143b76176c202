/* _calls_other.c: a library, whose source fv_23_calls.sh puts into a folder of its own. */
#include "_calls_other.h"

int other(int x)
{
    return 2 * x;
}
