/* stderr.c: whether descriptor 2 is the program's stderr. The state is written once, when the
 * library is loaded, before other threads can use it.
 *
 * The stream that it was at load is recognised by base/own_file.h. A stream that was put there
 * later may be a pipe, socket or pseudo terminal for the program's own data. So only the terminal
 * that controls the process and a connection to the journal count as a stderr. */
#include "base/stderr.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/own_file.h"
#include "base/quiet_write.h"

static struct {
    bool done; /* `stream` is what stderr was at load, or nothing */
    struct plumb_own_file stream;
} remembered;

void plumb_stderr_remember(void)
{
    int saved = errno;
    plumb_own_file_remember(&remembered.stream, STDERR_FILENO);
    remembered.done = true;
    errno = saved;
}

/* The other side of a pseudo terminal is a terminal too, but of another session. */
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
    if (!remembered.done || plumb_own_file_is(&remembered.stream, STDERR_FILENO) ||
        is_own_terminal() || is_journal())
        plumb_write_quietly(STDERR_FILENO, bytes, n);
    errno = saved;
}
