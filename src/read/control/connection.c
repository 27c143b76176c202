/* connection.c: see connection.h. The process closes connections that were silent when it needs the
 * place; that is noticed before a request is sent, and the connection made again. A request is
 * never sent twice. */
#include "read/control/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/process/process.h"
#include "codec/protobuf.h"

enum { DIAL_PAUSE_NS = 2000000, END_PAUSES = 50, PART_BYTES = 64 * 1024 };

static uint64_t now_ns(void)
{
    return plumb_clock_gettime_ns(CLOCK_MONOTONIC);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int cannot_dial(const struct plumb_found *p, int code, plumb_error *err)
{
    if (code == ECONNREFUSED || code == ENOENT)
        return plumb_fail(err, PLUMB_ERR_NOT_FOUND, "process %u cannot be controlled any more",
                          p->pid);
    if (code == ENOTSOCK || code == EPERM)
        return plumb_fail(err, PLUMB_ERR_STATE, "'%.400s/%s' is not a socket of this user",
                          p->folder, p->name);
    if (code == EAGAIN)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "process %u accepts no connection: it is stopped, or too many wait",
                          p->pid);
    return plumb_fail(err, PLUMB_ERR_IO, "cannot connect to '%.380s/%s': %s", p->folder, p->name,
                      strerror(code));
}

static int check_peer(const struct plumb_found *p, int fd, plumb_error *err)
{
    uint32_t pid = 0;
    if (!plumb_control_peer(fd, &pid))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "the socket of process %u belongs to a process of another user", p->pid);
    if (pid != p->pid)
        return plumb_fail(err, PLUMB_ERR_STATE, "the socket of process %u belongs to process %u",
                          p->pid, pid);
    return PLUMB_OK;
}

static int dial(int *out, const struct plumb_found *p, uint64_t timeout_ns, plumb_error *err)
{
    uint64_t until = now_ns() + timeout_ns;
    int folder = plumb_control_folder_open(p->folder, false, err), fd, rc;
    if (folder < 0)
        return folder;
    while ((fd = plumb_control_dial(folder, p->name)) < 0 && errno == EAGAIN && now_ns() < until)
        plumb_nap(DIAL_PAUSE_NS);
    rc = fd < 0 ? cannot_dial(p, errno, err) : check_peer(p, fd, err);
    close(folder);
    if (rc == PLUMB_OK)
        *out = fd;
    else if (fd >= 0)
        close(fd);
    return rc;
}

int plumb_connection_open(struct plumb_connection *out, const struct plumb_found *process,
                          uint64_t timeout_ns, plumb_error *err)
{
    int fd, rc = dial(&fd, process, timeout_ns, err);
    if (rc == PLUMB_OK)
        *out = (struct plumb_connection){.process = *process, .fd = fd};
    return rc;
}

void plumb_connection_close(struct plumb_connection *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->bytes);
    c->bytes = NULL;
    c->fd = -1;
}

/* ---- A call ---------------------------------------------------------------------------------- */

static int too_late(const struct plumb_connection *c, uint64_t timeout_ns, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_STATE, "process %u has not answered within %.3g s",
                      c->process.pid, (double)timeout_ns * 1e-9);
}

/* Returns whether the process is over. One that was killed closes its sockets a moment before. */
static bool ends(const struct plumb_found *p)
{
    bool over;
    for (int i = 0; !(over = plumb_process_is_over(p->pid, p->start_time)) && i < END_PAUSES; i++)
        plumb_nap(DIAL_PAUSE_NS);
    return over;
}

static int hung_up(const struct plumb_connection *c, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_IO, "process %u has %s", c->process.pid,
                      ends(&c->process) ? "ended" : "closed the connection");
}

/* Waits until the socket can be used. Returns false at the time limit. */
static bool wait_for(int fd, short events, uint64_t until)
{
    uint64_t now = now_ns(), left = until > now ? until - now : 0;
    struct pollfd p = {fd, events, 0};
    struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    int n = ppoll(&p, 1, &t, NULL);
    return n > 0 || (n < 0 && errno == EINTR && left > 0);
}

struct limit {
    uint64_t until, timeout_ns;
};

static int send_all(struct plumb_connection *c, const unsigned char *bytes, size_t n,
                    struct limit limit, plumb_error *err)
{
    while (n > 0) {
        ssize_t sent = send(c->fd, bytes, n, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return PLUMB_OK; /* there may still be a response that says why */
        } else if (errno != EAGAIN && errno != EINTR) {
            return plumb_fail(err, PLUMB_ERR_IO, "cannot write to process %u: %s", c->process.pid,
                              strerror(errno));
        } else if (!wait_for(c->fd, POLLOUT, limit.until)) {
            return too_late(c, limit.timeout_ns, err);
        }
    }
    return PLUMB_OK;
}

static int receive(struct plumb_connection *c, unsigned char *bytes, size_t n, struct limit limit,
                   plumb_error *err)
{
    while (n > 0) {
        ssize_t got = recv(c->fd, bytes, n, 0);
        if (got > 0) {
            bytes += got;
            n -= (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return hung_up(c, err);
        } else if (!wait_for(c->fd, POLLIN, limit.until)) {
            return too_late(c, limit.timeout_ns, err);
        }
    }
    return PLUMB_OK;
}

/* Memory grows with what arrives, not with what is announced. */
static int receive_message(struct plumb_connection *c, size_t n, struct limit limit,
                           plumb_error *err)
{
    size_t got = 0;
    int rc = PLUMB_OK;
    while (rc == PLUMB_OK && got < n) {
        size_t part = got > PART_BYTES ? got : PART_BYTES;
        part = n - got < part ? n - got : part;
        unsigned char *grown = realloc(c->bytes, got + part);
        if (!grown)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a response");
        c->bytes = grown;
        rc = receive(c, c->bytes + got, part, limit, err);
        got += part;
    }
    return rc;
}

static int make_request(unsigned char **out, size_t *n, const struct plumb_control_request *request,
                        plumb_error *err)
{
    const size_t cap = PLUMB_CONTROL_HEAD_BYTES + PLUMB_CONTROL_REQUEST_MAX;
    unsigned char *bytes = malloc(cap);
    struct plumb_pb w;
    if (!bytes)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a request");
    w = (struct plumb_pb){bytes + PLUMB_CONTROL_HEAD_BYTES, bytes + cap, false};
    plumb_control_put_request(&w, request);
    if (w.full) {
        free(bytes);
        return plumb_fail(err, PLUMB_ERR_ARG, "a request has at most %d KiB",
                          PLUMB_CONTROL_REQUEST_MAX / 1024);
    }
    *n = (size_t)(w.p - bytes);
    plumb_control_put_length(bytes, (uint32_t)(*n - PLUMB_CONTROL_HEAD_BYTES));
    *out = bytes;
    return PLUMB_OK;
}

/* Connects again if the process has closed the connection. */
static int renew(struct plumb_connection *c, uint64_t timeout_ns, plumb_error *err)
{
    char byte;
    int fd, rc;
    if (c->broken)
        return plumb_fail(err, PLUMB_ERR_IO, "the connection to process %u is broken",
                          c->process.pid);
    if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
        return PLUMB_OK;
    rc = dial(&fd, &c->process, timeout_ns, err);
    if (rc < 0)
        return rc == PLUMB_ERR_NOT_FOUND && ends(&c->process) ? hung_up(c, err) : rc;
    close(c->fd);
    c->fd = fd;
    return PLUMB_OK;
}

/* A connection on which a call has failed half way cannot be used again. */
static int broken(struct plumb_connection *c, int rc)
{
    c->broken = rc < 0;
    return rc;
}

static int request_until(struct plumb_connection *c, const struct plumb_control_request *request,
                         struct limit limit, plumb_error *err)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    int rc = make_request(&bytes, &n, request, err);
    if (rc < 0)
        return rc;
    rc = renew(c, limit.timeout_ns, err);
    if (rc == PLUMB_OK)
        rc = send_all(c, bytes, n, limit, err);
    free(bytes);
    return broken(c, rc);
}

static int read_response(size_t *n, struct plumb_connection *c, struct limit limit,
                         plumb_error *err)
{
    unsigned char head[PLUMB_CONTROL_HEAD_BYTES];
    int rc = receive(c, head, sizeof head, limit, err);
    if (rc < 0)
        return rc;
    *n = plumb_control_length(head);
    if (*n > PLUMB_CONTROL_RESPONSE_MAX)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "process %u answers with %zu MiB: it is not plumb",
                          c->process.pid, *n >> 20);
    return receive_message(c, *n, limit, err);
}

/* Lines that do not fit are left out. */
static void note(struct plumb_connection *c, const char *notes)
{
    size_t at = strlen(c->notes), n = notes ? strlen(notes) : 0;
    if (at + n < sizeof c->notes)
        memcpy(c->notes + at, notes ? notes : "", n + 1);
}

static int response_until(struct plumb_control_response *out, struct plumb_connection *c,
                          struct plumb_arena *a, struct limit limit, plumb_error *err)
{
    size_t n = 0;
    int rc = read_response(&n, c, limit, err);
    if (rc == PLUMB_OK)
        rc = plumb_control_get_response(out, a, c->bytes, n, err);
    free(c->bytes);
    c->bytes = NULL;
    if (broken(c, rc) < 0)
        return rc;
    note(c, out->notes);
    if (out->status < PLUMB_ERR_CHECK)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "process %u answers with an unknown status %d",
                          c->process.pid, (int)out->status);
    return out->status < 0
               ? plumb_fail(err, out->status, "%s", out->message ? out->message : "it has failed")
               : PLUMB_OK;
}

int plumb_connection_request(struct plumb_connection *c,
                             const struct plumb_control_request *request, uint64_t timeout_ns,
                             plumb_error *err)
{
    return request_until(c, request, (struct limit){now_ns() + timeout_ns, timeout_ns}, err);
}

int plumb_connection_response(struct plumb_control_response *out, struct plumb_connection *c,
                              struct plumb_arena *a, uint64_t timeout_ns, plumb_error *err)
{
    return response_until(out, c, a, (struct limit){now_ns() + timeout_ns, timeout_ns}, err);
}

int plumb_connection_call(struct plumb_control_response *out, struct plumb_connection *c,
                          struct plumb_arena *a, const struct plumb_control_request *request,
                          uint64_t timeout_ns, plumb_error *err)
{
    struct limit limit = {now_ns() + timeout_ns, timeout_ns};
    int rc = request_until(c, request, limit, err);
    return rc < 0 ? rc : response_until(out, c, a, limit, err);
}
