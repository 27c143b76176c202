/* file.c: the file of the records, opened so that no two processes write over each
 * other. Programs that a launcher starts with one environment name the same file, and so do the
 * workers that a program spawns. A file that is being written is left to its writer, which holds a
 * lock (flock: it ends with its process, however that ends). Processes that append share the
 * lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "record/activation/activation.h"
#include "record/runtime/paths.h"

enum { TRIES = 100 };

/* Returns whether another process has the file. Pipes and devices are shared; on a file system
 * without locks it is not known, and false. */
static bool is_taken(int fd, bool append)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           flock(fd, (append ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Writes the name number `number`: 0 is the file that was asked for, the others are this process's
 * own. More than one is needed only if processes of several machines or containers have one
 * number. */
static bool name_try(char *out, size_t size, const char *path, int number)
{
    char tag[32];
    snprintf(tag, sizeof tag, number > 1 ? ".%u-%d" : ".%u", plumb_rt.pid, number);
    return snprintf(out, size, "%s", path) < (int)size &&
           (number == 0 || plumb_path_insert(out, size, tag));
}

/* Takes `fd` for the file, unless another process has it. */
static int take(struct plumb_act_file *file, int fd, bool *taken)
{
    struct stat st;
    int code = 0;
    *taken = is_taken(fd, file->append);
    if (*taken || fstat(fd, &st) < 0)
        code = *taken ? 0 : errno;
    else if (!file->append && S_ISREG(st.st_mode) && st.st_uid != geteuid())
        code = EPERM;
    /* Only now: before the lock it may have been another process's. */
    else if (!file->append && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
        code = errno;
    if (*taken || code) {
        close(fd);
        return code;
    }
    file->fd = fd;
    return 0;
}

int plumb_act_file_open(struct plumb_act_file *out, const char *path, bool append, mode_t mode,
                        plumb_error *err)
{
    int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | (append ? O_APPEND : 0);
    out->fd = -1;
    out->append = append;
    for (int i = 0; i < TRIES; i++) {
        bool taken = false;
        int fd, code;
        if (!name_try(out->name, sizeof out->name, path, i))
            break;
        fd = open(out->name, how, mode);
        code = fd < 0 ? errno : take(out, fd, &taken);
        if (code)
            return plumb_fail(err, PLUMB_ERR_IO, "cannot write '%s': %s", out->name,
                              code == ELOOP   ? "it is a symbolic link"
                              : code == EPERM ? "it is a file of another user"
                                              : strerror(code));
        if (taken)
            continue;
        if (i > 0)
            plumb_say("plumb: '%s' is being written to; the activation records of this process go "
                      "to '%s'",
                      path, out->name);
        return PLUMB_OK;
    }
    return plumb_fail(err, PLUMB_ERR_STATE, "'%s' is being written to", path);
}

void plumb_act_file_close(struct plumb_act_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
