/* leave.c: see leave.h. */
#include "inject/count/leave.h"

#include "base/atomic.h"
#include "inject/count/bare.h"

enum { EXIT, ISO_EXIT, QUICK_EXIT, FUNCTIONS };

static const char *const names[FUNCTIONS] = {"_exit", "_Exit", "quick_exit"};
static uintptr_t targets[FUNCTIONS]; /* atomic; those of the object that was bound last */
static void (*tell_runtime)(void);   /* atomic; NULL: there is none */

static void leave(int function, int status)
{
    void (*tell)(void) = PLUMB_ACQUIRE(tell_runtime);
    if (tell)
        tell();
    ((void (*)(int))PLUMB_LOAD(targets[function]))(status);
}

static void leave_exit(int status)
{
    leave(EXIT, status);
}

static void leave_iso_exit(int status)
{
    leave(ISO_EXIT, status);
}

static void leave_quick_exit(int status)
{
    leave(QUICK_EXIT, status);
}

static int number_of(const char *name)
{
    int i = 0;
    while (i < FUNCTIONS && !plumb_bare_equal(names[i], name))
        i++;
    return i;
}

bool plumb_leave_is_name(const char *function)
{
    return number_of(function) < FUNCTIONS;
}

uintptr_t plumb_leave_bind(const char *function, uintptr_t target)
{
    static void (*const instead[FUNCTIONS])(int) = {leave_exit, leave_iso_exit, leave_quick_exit};
    int i = number_of(function);
    PLUMB_STORE(targets[i], target);
    return (uintptr_t)instead[i];
}

void plumb_leave_tell(void (*tell)(void))
{
    PLUMB_RELEASE(tell_runtime, tell);
}
