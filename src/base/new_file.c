/* new_file.c: making files next to files of others.
 *
 * A temporary name that is taken is left to whoever took it, who may be a process of the same
 * number in another container, or a user who wants to own what is written; the next one is tried.
 * Whose file has the name in the end is compared with what was made here, not with the user of the
 * process: file systems of containers and networks show users of their own. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW = O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, TRIES = 100, FOLDER_BYTES = 1500 };

/* Opens the folder of `path`; `*name` is the rest. */
static int open_folder(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char folder[FOLDER_BYTES];
    size_t n = slash ? (size_t)(slash - path) : 0;
    *name = slash ? slash + 1 : path;
    if (n >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, path, n);
    folder[n] = '\0';
    return open(n ? folder : slash ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void close_keeping_errno(int fd)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
}

static bool is_own_file(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_uid == geteuid();
}

int plumb_new_file(const char *path, int how, mode_t mode)
{
    return open(path, how | NEW, mode);
}

int plumb_new_file_again(const char *path, int how, mode_t mode)
{
    const char *name;
    int folder = open_folder(path, &name), fd = -1;
    if (folder >= 0)
        fd = openat(folder, name, how | NEW, mode);
    if (folder >= 0 && fd < 0 && errno == EEXIST && is_own_file(folder, name) &&
        unlinkat(folder, name, 0) == 0)
        fd = openat(folder, name, how | NEW, mode);
    close_keeping_errno(folder);
    return fd;
}

/* A name in the folder that nobody has. */
static int open_temporary(struct plumb_new_file *f, mode_t mode)
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && fd < 0 && errno == EEXIST; i++) {
        int n = snprintf(f->temporary, sizeof f->temporary,
                         i ? "%.200s.%d-%d.tmp" : "%.200s.%d.tmp", f->name, (int)gettid(), i);
        (void)n;
        fd = openat(f->folder, f->temporary, O_WRONLY | NEW, mode);
    }
    return fd;
}

int plumb_new_file_begin(struct plumb_new_file *f, const char *path, mode_t mode)
{
    const char *name;
    int code = 0;
    f->fd = -1;
    f->folder = open_folder(path, &name);
    if (f->folder < 0)
        return errno;
    if (snprintf(f->name, sizeof f->name, "%s", name) >= (int)sizeof f->name)
        code = ENAMETOOLONG;
    else if ((f->fd = open_temporary(f, mode)) < 0)
        code = errno;
    if (code)
        close(f->folder);
    return code;
}

/* What has the name now may be replaced: nothing, or a file of whoever owns the new one. */
static int may_replace(const struct plumb_new_file *f)
{
    struct stat ours, theirs;
    if (fstat(f->fd, &ours) < 0)
        return errno;
    if (fstatat(f->folder, f->name, &theirs, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(theirs.st_mode))
        return S_ISDIR(theirs.st_mode) ? EISDIR : EEXIST;
    return theirs.st_uid == ours.st_uid ? 0 : EPERM;
}

int plumb_new_file_end(struct plumb_new_file *f, bool good)
{
    int code = good ? may_replace(f) : 0;
    if (close(f->fd) < 0 && !code)
        code = errno;
    if (good && !code && renameat(f->folder, f->temporary, f->folder, f->name) < 0)
        code = errno;
    if (!good || code)
        unlinkat(f->folder, f->temporary, 0);
    close(f->folder);
    return code;
}

int plumb_new_file_write(const char *path, const void *bytes, size_t n, mode_t mode)
{
    struct plumb_new_file f;
    const char *at = bytes;
    int code = plumb_new_file_begin(&f, path, mode), ended;
    if (code)
        return code;
    while (n && !code) {
        ssize_t done = write(f.fd, at, n);
        if (done < 0 && errno != EINTR)
            code = errno;
        at += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    ended = plumb_new_file_end(&f, !code);
    return code ? code : ended;
}
