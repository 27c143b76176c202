/* futex.h: waiting for a word of memory to change, or for some time, by the system call itself. It
 * is not a cancellation point (libc's functions are), takes no lock and no memory from libc, and
 * keeps errno, so signal handlers may call it. */
#ifndef PLUMB_BASE_FUTEX_H
#define PLUMB_BASE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Waits while `*word` is `seen`, until a thread calls plumb_futex_wake(), or for `ns`. UINT64_MAX
 * waits without a limit. It may also return without a reason, so the caller checks the word
 * again. */
static inline void plumb_futex_wait(const uint32_t *word, uint32_t seen, uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns == UINT64_MAX ? NULL : &t, NULL, 0);
    errno = saved;
}

/* Wakes all threads that wait for `*word`, which the caller has changed. */
static inline void plumb_futex_wake(const uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

/* Sleeps for `ns`, regardless of signals. */
static inline void plumb_nap(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    int saved = errno;
    while (syscall(SYS_nanosleep, &t, &t) < 0 && errno == EINTR)
        ;
    errno = saved;
}

#endif
