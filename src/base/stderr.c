/* stderr.c: whether descriptor 2 is the program's stderr. Written once, when the library is loaded,
 * before other threads know of it.
 *
 * What it was at load is recognised by device and inode, and files by the time of their birth too,
 * because a file system gives the inode of a removed one to the next. Of streams that came later,
 * a program's own pipe, socket or pseudo terminal cannot be told from a stderr; so only the
 * terminal that controls the process, and a connection to the journal, are taken for one. */
#include "base/stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/quiet_write.h"

struct stream {
    dev_t device;
    ino_t inode;
    struct statx_timestamp born;
};

static struct {
    bool known;  /* `stream` is that of stderr at load */
    bool closed; /* there was none */
    struct stream stream;
} remembered;

static bool look(struct stream *out)
{
    struct stat st;
    struct statx more;
    memset(out, 0, sizeof *out);
    if (fstat(STDERR_FILENO, &st) < 0)
        return false;
    out->device = st.st_dev;
    out->inode = st.st_ino;
    if (S_ISREG(st.st_mode) && statx(STDERR_FILENO, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
        more.stx_mask & STATX_BTIME)
        out->born = more.stx_btime;
    return true;
}

void plumb_stderr_remember(void)
{
    int saved = errno;
    remembered.closed = !look(&remembered.stream);
    remembered.known = true;
    errno = saved;
}

static bool is_remembered(void)
{
    struct stream now;
    return !remembered.closed && look(&now) && now.device == remembered.stream.device &&
           now.inode == remembered.stream.inode &&
           now.born.tv_sec == remembered.stream.born.tv_sec &&
           now.born.tv_nsec == remembered.stream.born.tv_nsec;
}

/* The other side of a pseudo terminal is one as well, but that of another session. */
static bool is_own_terminal(void)
{
    return isatty(STDERR_FILENO) && tcgetsid(STDERR_FILENO) == getsid(0);
}

static bool is_journal(void)
{
    static const char journal[] = "/run/systemd/journal/stdout";
    struct sockaddr_un peer;
    socklen_t n = sizeof peer;
    return getpeername(STDERR_FILENO, (struct sockaddr *)(void *)&peer, &n) == 0 &&
           n >= offsetof(struct sockaddr_un, sun_path) + sizeof journal &&
           peer.sun_family == AF_UNIX && memcmp(peer.sun_path, journal, sizeof journal) == 0;
}

void plumb_stderr_write(const char *bytes, size_t n)
{
    int saved = errno;
    if (!remembered.known || is_remembered() || is_own_terminal() || is_journal())
        plumb_write_quietly(STDERR_FILENO, bytes, n);
    errno = saved;
}
