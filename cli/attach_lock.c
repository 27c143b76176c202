/* attach_lock.c: the lock is that of a file next to the socket, whose folder is closed to all other
 * users: the name of an abstract socket, say, could be taken by anyone. The kernel releases it when
 * the command ends, in whatever way. The file of one that was killed is used again, or removed with
 * the socket of a process that is gone (src/read/control/find.c). */
#include "attach_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Returns a descriptor of the file with the lock, or -1 and errno; EWOULDBLOCK: another has it. */
static int take(const char *path)
{
    struct stat st = {.st_nlink = 0};
    int fd = -1, code = 0;
    /* The one who had the lock before removes the file: it may be one that is gone. */
    while (!code && st.st_nlink == 0) {
        if (fd >= 0)
            close(fd);
        fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
            code = errno;
    }
    if (!code)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = code;
    return -1;
}

int plumb_attach_lock(struct plumb_attach_lock *lock, unsigned pid, const char *socket)
{
    snprintf(lock->path, sizeof lock->path, "%s.attach", socket);
    lock->fd = take(lock->path);
    if (lock->fd >= 0)
        return PLUMB_EXIT_OK;
    if (errno == EWOULDBLOCK)
        plumb_cli_say(&plumb_cmd_attach,
                      "process %u has another 'plumb attach' at work: wait for its end", pid);
    else
        plumb_cli_say(&plumb_cmd_attach, "no lock on process %u: cannot make '%s': %s", pid,
                      lock->path, strerror(errno));
    return PLUMB_EXIT_TROUBLE;
}

void plumb_attach_unlock(struct plumb_attach_lock *lock)
{
    if (lock->fd < 0)
        return;
    unlink(lock->path); /* before it is released: afterwards it may be another's */
    close(lock->fd);
    lock->fd = -1;
}
