/* own_file.c: see own_file.h. */
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file `path` below the folder `at`; "" and AT_EMPTY_PATH: descriptor `at`. */
static bool look(struct plumb_own_file *out, int at, const char *path, int flags)
{
    struct stat st;
    struct statx more;
    memset(out, 0, sizeof *out);
    if ((path[0] ? fstatat(at, path, &st, flags) : fstat(at, &st)) < 0)
        return false;
    out->known = true;
    out->device = (uint64_t)st.st_dev;
    out->inode = (uint64_t)st.st_ino;
    if (S_ISREG(st.st_mode) && statx(at, path, flags, STATX_BTIME, &more) == 0 &&
        more.stx_mask & STATX_BTIME) {
        out->born_s = more.stx_btime.tv_sec;
        out->born_ns = more.stx_btime.tv_nsec;
    }
    return true;
}

static bool is_same(const struct plumb_own_file *a, const struct plumb_own_file *b)
{
    return a->known && b->known && a->device == b->device && a->inode == b->inode &&
           a->born_s == b->born_s && a->born_ns == b->born_ns;
}

bool plumb_own_file_remember(struct plumb_own_file *out, int fd)
{
    return look(out, fd, "", AT_EMPTY_PATH);
}

bool plumb_own_file_is(const struct plumb_own_file *file, int fd)
{
    struct plumb_own_file now;
    return look(&now, fd, "", AT_EMPTY_PATH) && is_same(file, &now);
}

bool plumb_own_file_is_at(const struct plumb_own_file *file, const char *path)
{
    struct plumb_own_file now;
    return path[0] && look(&now, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) && is_same(file, &now);
}

int plumb_own_file_open(const struct plumb_own_file *file, const char *path, int how)
{
    int fd = open(path, how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || plumb_own_file_is(file, fd))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}
