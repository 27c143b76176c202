/* grpc_trace.c: Trace and KeepRing of plumb.v1.Profiler. The process ends a trace by itself after
 * its time or steps, so a server that is killed in between leaves nothing switched on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "grpc_profiler.h"
#include "grpc_session.h"
#include "log.h"
#include <proto/plumb/v1/profiler.pb-c.h>

enum { FILE_MAX = 4096, FOR_MAX_MS = 600000, FOR_DEFAULT_MS = 10000 };
static const uint64_t look_again_ns = 100000000;

struct window {
    plumb_control_trace options;
    char path[FILE_MAX];
    uint32_t pid;
    bool on;
};

static int switch_on(struct serve_session *session, void *arg, plumb_error *err)
{
    struct window *w = arg;
    w->pid = session->pid;
    return plumb_control_trace_on(w->path, sizeof w->path, session->control, &w->options, err);
}

/* Another front end may have switched its own on, since this one has ended by itself. */
static int switch_off(struct serve_session *session, void *arg, plumb_error *err)
{
    const struct window *w = arg;
    return plumb_control_trace_end(session->control, w->path, err);
}

static int look(struct serve_session *session, void *arg, plumb_error *err)
{
    struct window *w = arg;
    const plumb_process *p;
    int rc = plumb_control_status(&p, session->control, err);
    w->on = rc == PLUMB_OK && p->tracing;
    return rc;
}

/* The process may live in another mount namespace: its root shows its files. */
static int open_file(const struct window *w)
{
    char path[FILE_MAX + 64];
    snprintf(path, sizeof path, "/proc/%u/root%s", w->pid, w->path);
    int fd = w->path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    return fd >= 0 ? fd : open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Waits for the end of the time, or until the process has ended the trace. */
static bool wait_for_end(struct serve_call *c, const char *id, struct window *w)
{
    uint64_t waited = 0;
    w->on = true;
    while (w->on && waited < w->options.for_ns) {
        uint64_t left = w->options.for_ns - waited;
        uint64_t ns = !w->options.steps || left < look_again_ns ? left : look_again_ns;
        if (!serve_call_wait(c, ns) ||
            (w->options.steps && !serve_grpc_do(c, id, SERVE_QUICK, true, look, w)))
            return false;
        waited += ns;
    }
    return true;
}

static void end_early(struct serve_call *c, const char *id, struct window *w)
{
    plumb_error err = {0, ""};
    if (serve_session_run(c->serve->sessions, id, 0, false, switch_off, w, NULL, &err) < 0)
        serve_log("cannot switch the trace of session %s off: %s", id, err.message);
}

void serve_profiler_trace(struct serve_call *c, const void *request)
{
    const Plumb__V1__TraceRequest *r = request;
    uint32_t for_ms = r->for_ms ? r->for_ms : r->steps ? FOR_MAX_MS : FOR_DEFAULT_MS;
    struct window w = {.options = {.size = sizeof w.options,
                                   .for_ns = for_ms * 1000000ull,
                                   .steps = r->steps,
                                   .max_bytes = r->max_bytes,
                                   .regions = *r->regions ? r->regions : NULL,
                                   .nodes = *r->nodes ? r->nodes : NULL}};
    if (for_ms > FOR_MAX_MS) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "for_ms is at most %d, not %u", FOR_MAX_MS,
                        for_ms);
        return;
    }
    if (!serve_grpc_do(c, r->session_id, SERVE_SLOW, false, switch_on, &w))
        return;
    serve_log("Trace of session %s by %s: %s", r->session_id, c->peer, w.path);
    if (!wait_for_end(c, r->session_id, &w)) {
        end_early(c, r->session_id, &w);
        return;
    }
    if (!serve_grpc_do(c, r->session_id, SERVE_SLOW, false, switch_off, &w))
        return;
    int fd = open_file(&w);
    if (fd >= 0)
        serve_grpc_send_file(c, fd, w.path);
    else
        serve_call_fail(c, GRPC_STATUS_UNAVAILABLE, "cannot read '%s': %s", w.path,
                        strerror(errno));
}

/* ---- KeepRing -------------------------------------------------------------------------------- */

struct keep {
    const char *why;
    char path[FILE_MAX];
};

static int keep(struct serve_session *session, void *arg, plumb_error *err)
{
    struct keep *k = arg;
    return plumb_control_keep(k->path, sizeof k->path, session->control, k->why, err);
}

void serve_profiler_keep_ring(struct serve_call *c, const void *request)
{
    const Plumb__V1__KeepRingRequest *r = request;
    Plumb__V1__KeepRingResponse reply = PLUMB__V1__KEEP_RING_RESPONSE__INIT;
    struct keep k = {*r->why ? r->why : NULL, ""};
    if (!serve_grpc_do(c, r->session_id, SERVE_SLOW, false, keep, &k))
        return;
    serve_log("KeepRing of session %s by %s: %s", r->session_id, c->peer, k.path);
    reply.path = k.path;
    serve_call_send(c, &reply.base);
}
