/* new_file.c: making files next to files of others. See new_file.h. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum {
    NEW = O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
    FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC,
    PART_BYTES = 1024 /* of a path: the stacks of a program's threads may be small */
};

static void close_keeping_errno(int fd)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
}

/* Opens the folder that the first `n` bytes of `path` name in the folder `from`, and closes
 * `from`. */
static int descend(int from, const char *path, size_t n)
{
    char part[PART_BYTES];
    int fd;
    memcpy(part, path, n);
    part[n] = '\0';
    fd = openat(from, part, FOLDER);
    close_keeping_errno(from);
    return fd;
}

int plumb_open_folder(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    int fd = open(path[0] == '/' ? "/" : ".", FOLDER);
    *name = slash ? slash + 1 : path;
    while (fd >= 0 && slash && (path += strspn(path, "/")) < slash) {
        size_t n = (size_t)(slash - path);
        /* A part holds as many whole folders of the path as fit. */
        while (n >= PART_BYTES) {
            const char *before = memrchr(path, '/', n);
            if (!before) {
                close(fd);
                errno = ENAMETOOLONG;
                return -1;
            }
            n = (size_t)(before - path);
        }
        fd = descend(fd, path, n);
        path += n;
    }
    return fd;
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

int plumb_new_file_at(int folder, const char *name, int how, mode_t mode)
{
    return openat(folder, name, how | NEW, mode);
}

int plumb_new_file_again(const char *path, int how, mode_t mode)
{
    const char *name;
    int folder = plumb_open_folder(path, &name), fd = -1;
    if (folder >= 0)
        fd = plumb_new_file_at(folder, name, how, mode);
    if (folder >= 0 && fd < 0 && errno == EEXIST && is_own_file(folder, name) &&
        unlinkat(folder, name, 0) == 0)
        fd = plumb_new_file_at(folder, name, how, mode);
    close_keeping_errno(folder);
    return fd;
}

int plumb_make_above(char *path, mode_t mode, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (char *p = path[0] ? strchr(path + 1, '/') : NULL; p && rc == PLUMB_OK;
         p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(path, mode) < 0 && errno != EEXIST)
            rc = plumb_fail(err, PLUMB_ERR_IO, "cannot make directory '%s': %s", path,
                            strerror(errno));
        *p = '/';
    }
    return rc;
}
