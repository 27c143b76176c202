/* sessions.h: connections to recorded processes, by session.
 *
 * A session is a pipeline of a process: "PID" or the name of a program is its default pipeline,
 * "PID/PIPELINE" another. Connections are kept for some seconds after a call, so that a client that
 * asks again and again does not connect each time. Any thread; a session belongs to one. */
#ifndef PLUMB_SERVE_SESSIONS_H
#define PLUMB_SERVE_SESSIONS_H

#include <plumb/control.h>

#include "serve.h"

struct serve_session {
    plumb_control *control;
    const char *pipeline; /* NULL: the default one */
    const char
        *rows_of; /* the same, but for the default one its name: plumb_control_summary() takes
                             NULL for all */
    uint32_t pid;
    struct serve_connection *connection;
};

/* Returns the sessions of a server without any; NULL: out of memory. */
struct serve_sessions *serve_sessions_open(void);
/* Closes all connections. No session is open. NULL is ignored. */
void serve_sessions_close(struct serve_sessions *sessions);

/* A command to a session. Returns a status. */
typedef int (*serve_command)(struct serve_session *session, void *arg, plumb_error *err);

/* Connects to the process of a session, or takes a connection that is open, notes the time, and
 * runs `command`. If the process has ended, it connects once more: a command that only `reads`, or
 * that another process of this name has not seen, is run again.
 *   timeout_ms  how long connecting, and each command, may take; 0: the defaults of plumb/control.h
 *   errors      those of plumb_control_connect() and of the command; PLUMB_ERR_NOT_FOUND with
 *               `found` false: the session does not exist. `found` may be NULL */
int serve_session_run(struct serve_sessions *sessions, const char *id, uint32_t timeout_ms,
                      bool reads, serve_command command, void *arg, bool *found, plumb_error *err);
/* Returns when a client last asked for a process, ns since 1970; 0: not within the last 1024
 * processes. */
int64_t serve_sessions_last_access(struct serve_sessions *sessions, uint32_t pid,
                                   uint64_t start_time);
/* Closes connections that were not used for some seconds. Call it about once a second. */
void serve_sessions_tidy(struct serve_sessions *sessions);

#endif
