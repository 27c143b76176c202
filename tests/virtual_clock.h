/* virtual_clock.h: the clock of libplumb, moved by the test (PLUMB_CLOCK=virtual), so that every
 * duration is known. */
#ifndef TESTS_VIRTUAL_CLOCK_H
#define TESTS_VIRTUAL_CLOCK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

static inline uint64_t clock_now(void)
{
    return __atomic_load_n(&plumb_clock_virtual_ns, __ATOMIC_RELAXED);
}

static inline void clock_move(uint64_t ns)
{
    __atomic_fetch_add(&plumb_clock_virtual_ns, ns, __ATOMIC_RELAXED);
}

/* Starts the test again with the virtual clock: libplumb chooses its clock when it is loaded. Call
 * it first in main(). */
static inline void clock_make_virtual(char **argv)
{
    if (getenv("PLUMB_CLOCK"))
        return;
    setenv("PLUMB_CLOCK", "virtual", 1);
    execv("/proc/self/exe", argv);
    perror("the test cannot start itself again with PLUMB_CLOCK=virtual");
    exit(1);
}

#endif
