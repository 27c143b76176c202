/* main.c: the life of plumb-serve. Parts start in the order of the table; SIGTERM or SIGINT drains
 * them: no new work, and running calls may end. After --drain seconds, or at a second signal, they
 * are ended. Signals are taken by this thread alone, with sigtimedwait(). */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "auth.h"
#include "fail.h"
#include "log.h"
#include "sessions.h"

static const struct serve_part *const parts[] = {
#if PLUMB_HAVE_SERVE_GRPC
    &serve_part_grpc,
#endif
#if PLUMB_HAVE_SERVE_HTTP
    &serve_part_http,
#endif
#if PLUMB_HAVE_SERVE_OTLP
    &serve_part_otlp,
#endif
    NULL, /* keeps the table from being empty */
};
enum { PARTS = sizeof parts / sizeof *parts - 1, LOOK_AGAIN_MS = 20, TIDY_MS = 1000 };
static const uint64_t give_up_ns = 1000000000u;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits for a signal to end, `ms` at most. Returns it, or 0. */
static int wait_signal(const sigset_t *ends, long ms)
{
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000};
    int got = sigtimedwait(ends, NULL, &limit);
    return got > 0 ? got : 0;
}

static bool all_drained(void *const *states, bool now)
{
    bool all = true;
    for (int i = 0; i < PARTS; i++)
        if (states[i] && !parts[i]->drained(states[i], now))
            all = false;
    return all;
}

/* A call that waits for a process ends within the time limit of its command. The server does not
 * wait for it longer than give_up_ns: the process goes on alone. */
static void drain(struct serve *s, void *const *states, const sigset_t *ends)
{
    uint64_t end_ns = now_ns() + s->options.drain_s * 1000000000u;
    bool now = false;
    atomic_store(&s->draining, true);
    while (!all_drained(states, now)) {
        bool signal = wait_signal(ends, LOOK_AGAIN_MS) > 0;
        if (!now && (signal || now_ns() >= end_ns)) {
            serve_log("ends the calls that still run");
            now = true;
            end_ns = now_ns() + give_up_ns;
        } else if (now && now_ns() >= end_ns) {
            serve_log("ended, with calls still under way");
            _exit(SERVE_EXIT_OK);
        }
    }
}

static int start(struct serve *s, void **states, plumb_error *err)
{
    bool any = false;
    for (int i = 0; i < PARTS; i++) {
        int rc = parts[i]->start(&states[i], s, err);
        if (rc < 0)
            return rc;
        any = any || states[i];
    }
    if (any)
        return PLUMB_OK;
    return serve_fail(err, PLUMB_ERR_ARG,
                      "nothing to serve: this plumb was built without gRPC, and no other option "
                      "asks for a service");
}

static int serve(struct serve *s, const sigset_t *ends, plumb_error *err)
{
    void *states[PARTS + 1] = {NULL};
    int rc = start(s, states, err);
    if (rc == PLUMB_OK) {
        int signal;
        while (!(signal = wait_signal(ends, TIDY_MS)))
            serve_sessions_tidy(s->sessions);
        serve_log("draining: got signal %d", signal);
    }
    drain(s, states, ends);
    for (int i = PARTS - 1; i >= 0; i--)
        if (states[i])
            parts[i]->stop(states[i]);
    if (rc == PLUMB_OK)
        serve_log("ended");
    return rc;
}

int main(int argc, char **argv)
{
    static struct serve s;
    plumb_error err = {0, ""};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    int rc = serve_options_read(&s.options, argc, argv, &err);
    if (rc == SERVE_HELP)
        return SERVE_EXIT_OK;
    if (rc == PLUMB_OK)
        rc = serve_auth_open(&s.auth, &s.options, &err);
    if (rc == PLUMB_OK && !(s.sessions = serve_sessions_open()))
        rc = serve_fail(&err, PLUMB_ERR_MEMORY, "out of memory");
    if (rc == PLUMB_OK)
        rc = serve(&s, &ends, &err);
    serve_sessions_close(s.sessions);
    serve_auth_close(s.auth);
    if (rc == PLUMB_OK)
        return SERVE_EXIT_OK;
    fprintf(stderr, "plumb serve: %s (see 'plumb serve --help')\n", err.message);
    return SERVE_EXIT_TROUBLE;
}
