/* hold.c: see hold.h. */
#include "core/hold.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 200, PAUSE_NS = 20000 };

static bool spin(struct plumb_thread *th)
{
    for (int i = 0; i < SPINS; i++) {
        if (!PLUMB_LOAD(th->held) && plumb_hold_try(th))
            return true;
        plumb_spin();
    }
    return false;
}

void plumb_hold(struct plumb_thread *th)
{
    const struct timespec pause = {0, PAUSE_NS};
    int saved = errno;
    /* Sleeps, not yields: the holder may have a lower priority than this thread. */
    while (!spin(th))
        syscall(SYS_nanosleep, &pause, NULL);
    errno = saved;
}
