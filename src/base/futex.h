/* futex.h: waiting for a word of memory to change, or for some time, by the system call itself: no
 * cancellation point (libc's functions are), no lock, no memory from libc, and errno stays as it
 * was, so that a signal handler may. */
#ifndef PLUMB_BASE_FUTEX_H
#define PLUMB_BASE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns when `*word` is not `seen` any more and somebody said so, after `ns` at the latest, and
 * now and then for no reason: the caller looks again. UINT64_MAX: however long it takes. */
static inline void plumb_futex_wait(const uint32_t *word, uint32_t seen, uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns == UINT64_MAX ? NULL : &t, NULL, 0);
    errno = saved;
}

/* Wakes everybody who waits for `*word`, which the caller has changed. */
static inline void plumb_futex_wake(const uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

/* Sleeps for `ns`, however many signals come. */
static inline void plumb_nap(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    int saved = errno;
    while (syscall(SYS_nanosleep, &t, &t) < 0 && errno == EINTR)
        ;
    errno = saved;
}

#endif
