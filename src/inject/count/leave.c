/* leave.c: see leave.h. Each function has a stub, also each of several that have one name: a
 * library that dlmopen() loaded has a libc of its own, with its own environment and handlers. */
#include "inject/count/leave.h"

#include <stddef.h>

#include "base/atomic.h"
#include "inject/count/bare.h"
#include "inject/count/trampoline.h"

static const char *const exits[] = {"_exit", "_Exit", "quick_exit"};
static const char *const execs[] = {"execve", "execv",  "execvp",  "execvpe", "execl",
                                    "execlp", "execle", "fexecve", "execveat"};
enum { EXITS = sizeof exits / sizeof *exits, EXECS = sizeof execs / sizeof *execs };

PLUMB_BARE_HIDDEN uintptr_t plumb_leave_targets[PLUMB_LEAVE_STUBS]; /* atomic; 0: free */

static uint8_t is_exec[PLUMB_LEAVE_STUBS];              /* atomic */
static void (*report_exit)(void), (*report_exec)(void); /* atomic; NULL: none yet */

static bool is_of(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (plumb_bare_equal(names[i], name))
            return true;
    return false;
}

bool plumb_leave_is_name(const char *function)
{
    return is_of(exits, EXITS, function) || is_of(execs, EXECS, function);
}

/* Every binding of a target finds the same stub. */
uintptr_t plumb_leave_bind(const char *function, uintptr_t target)
{
    for (uint32_t i = 0; i < PLUMB_LEAVE_STUBS; i++) {
        uintptr_t found = 0;
        if (__atomic_compare_exchange_n(&plumb_leave_targets[i], &found, target, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            found == target) {
            PLUMB_STORE(is_exec[i], (uint8_t)is_of(execs, EXECS, function));
            return plumb_leave_stub(i);
        }
    }
    return target;
}

void plumb_leave_tell(void (*of_exit)(void), void (*of_exec)(void))
{
    PLUMB_RELEASE(report_exit, of_exit);
    PLUMB_RELEASE(report_exec, of_exec);
}

PLUMB_BARE_HIDDEN __attribute__((used)) void plumb_leave_now(uint32_t stub)
{
    void (*tell)(void) =
        PLUMB_LOAD(is_exec[stub]) ? PLUMB_ACQUIRE(report_exec) : PLUMB_ACQUIRE(report_exit);
    if (tell)
        tell();
}
