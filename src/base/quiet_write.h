/* quiet_write.h: writes that never kill the program. A write to a pipe without a reader raises
 * SIGPIPE, one to a file that may not grow SIGXFSZ. Either would kill a program that did nothing
 * wrong: the message was plumb's. Any thread, any signal handler. */
#ifndef PLUMB_BASE_QUIET_WRITE_H
#define PLUMB_BASE_QUIET_WRITE_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"

struct plumb_quiet {
    sigset_t raised, before;
    struct plumb_cancel cancel;
};

/* Between the two calls such a write only fails with EPIPE or EFBIG, and is not a cancellation
 * point. A signal that was already pending is left to the program. The second call keeps errno. */
static inline void plumb_quiet_begin(struct plumb_quiet *q)
{
    sigset_t pending;
    q->cancel = plumb_cancel_off();
    sigemptyset(&q->raised);
    sigpending(&pending);
    if (!sigismember(&pending, SIGPIPE))
        sigaddset(&q->raised, SIGPIPE);
    if (!sigismember(&pending, SIGXFSZ))
        sigaddset(&q->raised, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &q->raised, &q->before);
}
static inline void plumb_quiet_end(const struct plumb_quiet *q)
{
    const struct timespec now = {0, 0};
    int saved = errno;
    while (sigtimedwait(&q->raised, NULL, &now) > 0 || errno == EINTR)
        errno = 0;
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
    errno = saved;
    plumb_cancel_on(q->cancel);
}

/* Writes once; bytes that the write does not accept are lost. Keeps errno. */
static inline void plumb_write_quietly(int fd, const void *bytes, size_t n)
{
    struct plumb_quiet quiet;
    int saved = errno;
    ssize_t written;
    plumb_quiet_begin(&quiet);
    written = write(fd, bytes, n);
    (void)written;
    plumb_quiet_end(&quiet);
    errno = saved;
}

#endif
