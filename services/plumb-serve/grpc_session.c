/* grpc_session.c: from plumb's statuses to those of gRPC. */
#include "grpc_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include <proto/plumb/v1/profiler.pb-c.h>

enum { QUICK_MS = 5000, SLOW_MS = 60000, CHUNK = 256 << 10 };

/* Connections are kept by their time limit, so there are few of them: the next lower step. */
static uint32_t limit_ms(uint32_t left_ms)
{
    static const uint32_t steps[] = {30000, 10000, 5000, 2500, 1000, 500, 250, 100, 50, 20};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (left_ms >= steps[i])
            return steps[i];
    return left_ms;
}

int serve_grpc_run(struct serve_call *c, const char *id, enum serve_pace pace, bool reads,
                   serve_command command, void *arg, bool *found, plumb_error *err)
{
    uint32_t most = pace == SERVE_SLOW ? SLOW_MS : QUICK_MS;
    uint32_t left = serve_call_left_ms(c, most);
    if (found)
        *found = true;
    if (left == 0 || !serve_call_alive(c)) {
        serve_call_fail(c, GRPC_STATUS_DEADLINE_EXCEEDED, "the deadline of the call has passed");
        return serve_fail(err, PLUMB_ERR_STATE, "%s", c->message);
    }
    return serve_session_run(c->serve->sessions, id, left >= most ? 0 : limit_ms(left), reads,
                             command, arg, found, err);
}

int serve_grpc_read_rows(struct serve_session *session, void *arg, plumb_error *err)
{
    struct serve_rows *r = arg;
    return plumb_control_summary(&r->rows, session->control, session->rows_of, r->phase, err);
}

void serve_grpc_fail(struct serve_call *c, int rc, const plumb_error *err)
{
    static const grpc_status_code codes[] = {
        [-PLUMB_ERR_ARG] = GRPC_STATUS_INVALID_ARGUMENT,
        [-PLUMB_ERR_MEMORY] = GRPC_STATUS_RESOURCE_EXHAUSTED,
        [-PLUMB_ERR_IO] = GRPC_STATUS_UNAVAILABLE,
        [-PLUMB_ERR_ABSENT] = GRPC_STATUS_UNIMPLEMENTED,
        [-PLUMB_ERR_STATE] = GRPC_STATUS_FAILED_PRECONDITION,
        [-PLUMB_ERR_FORMAT] = GRPC_STATUS_DATA_LOSS,
        [-PLUMB_ERR_NOT_FOUND] = GRPC_STATUS_NOT_FOUND,
    };
    size_t i = rc < 0 ? (size_t)-rc : 0;
    grpc_status_code code = i < sizeof codes / sizeof *codes ? codes[i] : GRPC_STATUS_OK;
    serve_call_fail(c, code != GRPC_STATUS_OK ? code : GRPC_STATUS_INTERNAL, "%s", err->message);
}

bool serve_grpc_do(struct serve_call *c, const char *id, enum serve_pace pace, bool reads,
                   serve_command command, void *arg)
{
    plumb_error err = {0, ""};
    bool found;
    int rc = serve_grpc_run(c, id, pace, reads, command, arg, &found, &err);
    if (rc == PLUMB_OK)
        return true;
    if (!found && rc == PLUMB_ERR_NOT_FOUND)
        serve_call_fail(c, GRPC_STATUS_NOT_FOUND, "Session %s not found: %s", id, err.message);
    else if (!found && rc == PLUMB_ERR_STATE)
        serve_call_fail(c, GRPC_STATUS_UNAVAILABLE, "%s", err.message);
    else if (rc == PLUMB_ERR_NOT_FOUND)
        serve_call_fail(c, GRPC_STATUS_FAILED_PRECONDITION, "%s", err.message);
    else
        serve_grpc_fail(c, rc, &err);
    return false;
}

static ssize_t read_all(int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -1 : (ssize_t)done;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

void serve_grpc_send_file(struct serve_call *c, int fd, const char *path)
{
    Plumb__V1__Chunk chunk = PLUMB__V1__CHUNK__INIT;
    uint8_t *bytes = malloc(CHUNK);
    chunk.path = (char *)path;
    for (bool more = bytes != NULL; more;) {
        ssize_t n = read_all(fd, bytes, CHUNK);
        if (n < 0) {
            serve_call_fail(c, GRPC_STATUS_UNAVAILABLE, "cannot read '%s': %s", path,
                            strerror(errno));
            break;
        }
        chunk.data = (ProtobufCBinaryData){(size_t)n, bytes};
        chunk.last = n < CHUNK;
        more = serve_call_send(c, &chunk.base) && !chunk.last;
        chunk.offset += (uint64_t)n;
        chunk.path = "";
    }
    if (!bytes)
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
    free(bytes);
    close(fd);
}
