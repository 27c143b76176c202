/* place.c: see place.h. /proc/thread-self, not /proc/self: plumb's threads have a descriptor table
 * of their own. */
#include "control/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

bool plumb_control_folder_path(char *out, size_t size, size_t i, const char *runtime_dir, bool all)
{
    unsigned uid = (unsigned)geteuid();
    int n;
    if (runtime_dir && runtime_dir[0] == '/' && i-- == 0)
        n = snprintf(out, size, "%s/plumb", runtime_dir);
    else if (all && i-- == 0)
        n = snprintf(out, size, "/run/user/%u/plumb", uid);
    else if (i == 0)
        n = snprintf(out, size, "/tmp/plumb-%u", uid);
    else
        return false;
    if (n < 0 || (size_t)n >= size)
        out[0] = '\0'; /* which cannot be opened */
    return true;
}

static int check_folder(int fd, const char *path, plumb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (st.st_uid != geteuid())
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s' belongs to user %u: it is not used for control sockets", path,
                          (unsigned)st.st_uid);
    if (st.st_mode & 077)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "others have rights in '%s': it is not used for control sockets (chmod "
                          "700)",
                          path);
    return PLUMB_OK;
}

int plumb_control_folder_open(const char *path, bool make, plumb_error *err)
{
    int fd, rc;
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot make directory '%s': %s", path,
                          strerror(errno));
    fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "directory '%s' does not exist", path);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s' is not a directory: it is not used for control sockets", path);
    if (fd < 0)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    rc = check_folder(fd, path, err);
    if (rc == PLUMB_OK)
        return fd;
    close(fd);
    return rc;
}

/* ---- Names ----------------------------------------------------------------------------------- */

void plumb_control_name(char out[PLUMB_CONTROL_NAME], uint32_t pid, uint64_t start_time)
{
    snprintf(out, PLUMB_CONTROL_NAME, "%" PRIu32 ".%" PRIu64, pid, start_time);
}

bool plumb_control_parse(const char *name, uint32_t *pid, uint64_t *start_time)
{
    char again[PLUMB_CONTROL_NAME];
    char *end;
    unsigned long long number = strtoull(name, &end, 10);
    if (*end != '.' || number == 0 || number > INT32_MAX)
        return false;
    *pid = (uint32_t)number;
    *start_time = strtoull(end + 1, &end, 10);
    plumb_control_name(again, *pid, *start_time);
    return *start_time != 0 && strcmp(again, name) == 0;
}

/* ---- Sockets --------------------------------------------------------------------------------- */

static struct sockaddr_un address(int fd, const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "/proc/thread-self/fd/%d%s%s", fd, name ? "/" : "",
             name ? name : "");
    return a;
}

static int closed(int fd, int code)
{
    if (fd >= 0)
        close(fd);
    errno = code;
    return -1;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int plumb_control_listen(int folder, const char *name, int waiting)
{
    struct sockaddr_un a = address(folder, name);
    int fd = new_socket();
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, waiting) < 0)
        return closed(fd, errno);
    return fd;
}

int plumb_control_dial(int folder, const char *name)
{
    struct sockaddr_un a;
    struct stat st;
    int fd = -1, file = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), code = 0;
    if (file < 0)
        return -1;
    if (fstat(file, &st) < 0)
        code = errno;
    else if (!S_ISSOCK(st.st_mode))
        code = ENOTSOCK;
    else if (st.st_uid != geteuid())
        code = EPERM;
    a = address(file, NULL);
    if (!code && ((fd = new_socket()) < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0))
        code = errno;
    close(file);
    return code ? closed(fd, code) : fd;
}

bool plumb_control_peer(int fd, uint32_t *pid)
{
    struct ucred peer = {0, 0, 0};
    socklen_t n = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || n != sizeof peer)
        return false;
    *pid = peer.pid > 0 ? (uint32_t)peer.pid : 0;
    return peer.uid == geteuid();
}
