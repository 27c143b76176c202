/* grpc_session.h: commands to sessions, for the handlers of the services. */
#ifndef PLUMB_SERVE_GRPC_SESSION_H
#define PLUMB_SERVE_GRPC_SESSION_H

#include "grpc_call.h"
#include "sessions.h"

enum serve_pace {
    SERVE_QUICK, /* answered at once */
    SERVE_SLOW   /* opens or ends a run or a trace, and waits for files */
};

/* As serve_session_run(), within the deadline of the call. */
int serve_grpc_run(struct serve_call *c, const char *id, enum serve_pace pace, bool reads,
                   serve_command command, void *arg, bool *found, plumb_error *err);
/* The same for a call of plumb.v1: after an error the call has failed. */
bool serve_grpc_do(struct serve_call *c, const char *id, enum serve_pace pace, bool reads,
                   serve_command command, void *arg);
/* The summary of a session. `rows` is freed by the caller, and NULL after an error. */
struct serve_rows {
    const char *phase; /* NULL: all */
    plumb_control_rows *rows;
};
/* A command for the two above, with a struct serve_rows. */
int serve_grpc_read_rows(struct serve_session *session, void *arg, plumb_error *err);
/* Fails a call of plumb.v1 with what a function of libplumb-read says. */
void serve_grpc_fail(struct serve_call *c, int rc, const plumb_error *err);

/* Sends a file in chunks (plumb.v1.Chunk). `fd`: is closed. */
void serve_grpc_send_file(struct serve_call *c, int fd, const char *path);

#endif
