/* whole_file.c: see whole_file.h.
 *
 * A temporary name that is in use is left to its owner, and the next one is tried. The owner may be
 * a process of the same number in another container, or a user who wants to own the written file.
 * The owner of the file that is replaced is compared with the owner of the new file, not with the
 * user of the process: file systems of containers and networks may map users differently. */
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/quiet_write.h"

enum { TRIES = 100 };

int plumb_write_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    struct plumb_quiet quiet;
    int code = 0;
    plumb_quiet_begin(&quiet);
    while (n && !code) {
        ssize_t done = write(fd, at, n);
        if (done > 0) {
            at += done;
            n -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            code = done ? errno : ENOSPC;
        }
    }
    plumb_quiet_end(&quiet);
    return code;
}

/* ---- Beginning ------------------------------------------------------------------------------- */

/* Returns whether the path names something that a new file must not replace. */
static bool is_written_through(const char *path, struct stat *now)
{
    return lstat(path, now) == 0 && !S_ISREG(now->st_mode);
}

static int open_through(struct plumb_whole_file *f, const char *path, mode_t mode)
{
    f->folder = -1;
    f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, mode);
    return f->fd < 0 ? errno : 0;
}

/* Opens a new file under an unused name in the folder. */
static int open_temporary(struct plumb_whole_file *f, mode_t mode)
{
    f->fd = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && f->fd < 0 && errno == EEXIST; i++) {
        int n = snprintf(f->temporary, sizeof f->temporary,
                         i ? "%.200s.%d-%d.tmp" : "%.200s.%d.tmp", f->name, (int)gettid(), i);
        (void)n;
        f->fd = plumb_new_file_at(f->folder, f->temporary, O_WRONLY, mode);
    }
    return f->fd < 0 ? errno : 0;
}

/* For a typed path: takes over the mode of the file there, or its refusal. */
static int follow_typed(struct plumb_whole_file *f, mode_t *keep)
{
    struct stat now;
    *keep = 0;
    if (fstatat(f->folder, f->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : errno;
    *keep = now.st_mode & 07777;
    return faccessat(f->folder, f->name, W_OK, 0) < 0 ? errno : 0;
}

static int begin_in_folder(struct plumb_whole_file *f, const char *name, mode_t mode)
{
    mode_t keep = 0;
    int code = 0;
    if (!*name)
        return EISDIR;
    if (snprintf(f->name, sizeof f->name, "%s", name) >= (int)sizeof f->name)
        return ENAMETOOLONG;
    if (f->flags & PLUMB_WHOLE_AS_TYPED)
        code = follow_typed(f, &keep);
    if (!code)
        code = open_temporary(f, mode);
    /* A file system without modes refuses, which is not an error. */
    if (!code && keep && fchmod(f->fd, keep) < 0)
        errno = 0;
    return code;
}

int plumb_whole_file_begin(struct plumb_whole_file *f, const char *path, unsigned flags,
                           mode_t mode)
{
    struct stat now;
    const char *name;
    int code;
    f->fd = -1;
    f->flags = flags;
    if (flags & PLUMB_WHOLE_AS_TYPED && is_written_through(path, &now))
        return open_through(f, path, mode);
    f->folder = plumb_open_folder(path, &name);
    if (f->folder < 0)
        return errno;
    code = begin_in_folder(f, name, mode);
    if (code)
        close(f->folder);
    return code;
}

int plumb_whole_file_put(struct plumb_whole_file *f, const void *bytes, size_t n)
{
    return plumb_write_all(f->fd, bytes, n);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Returns 0 if the file that has the name now may be replaced, otherwise an errno. */
static int may_replace(const struct plumb_whole_file *f)
{
    struct stat ours, theirs;
    if (fstat(f->fd, &ours) < 0)
        return errno;
    if (fstatat(f->folder, f->name, &theirs, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(theirs.st_mode))
        return S_ISDIR(theirs.st_mode) ? EISDIR : EEXIST;
    if (f->flags & PLUMB_WHOLE_FIRST)
        return EEXIST;
    if (f->flags & (PLUMB_WHOLE_ANY_OWNER | PLUMB_WHOLE_AS_TYPED))
        return 0;
    return theirs.st_uid == ours.st_uid ? 0 : EPERM;
}

/* Returns 0, or an errno with the temporary name still there. */
static int give_name(const struct plumb_whole_file *f)
{
    /* link() fails if the name has been taken in the meantime. File systems without links get a
     * rename. */
    if (f->flags & PLUMB_WHOLE_FIRST) {
        if (linkat(f->folder, f->temporary, f->folder, f->name, 0) == 0) {
            unlinkat(f->folder, f->temporary, 0);
            return 0;
        }
        if (errno == EEXIST)
            return EEXIST;
    }
    return renameat(f->folder, f->temporary, f->folder, f->name) < 0 ? errno : 0;
}

int plumb_whole_file_end(struct plumb_whole_file *f, bool good)
{
    bool through = f->folder < 0;
    int code = good && !through ? may_replace(f) : 0;
    if (close(f->fd) < 0 && !code)
        code = errno;
    if (through)
        return code;
    if (good && !code)
        code = give_name(f);
    if (!good || code)
        unlinkat(f->folder, f->temporary, 0);
    close(f->folder);
    return code;
}

int plumb_whole_file_write(const char *path, unsigned flags, mode_t mode, const void *bytes,
                           size_t n)
{
    struct plumb_whole_file f;
    int code = plumb_whole_file_begin(&f, path, flags, mode), ended;
    if (code)
        return code;
    code = plumb_whole_file_put(&f, bytes, n);
    ended = plumb_whole_file_end(&f, !code);
    return code ? code : ended;
}
