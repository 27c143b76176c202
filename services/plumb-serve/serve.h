/* serve.h: what the parts of plumb-serve share.
 *
 * plumb-serve answers questions about the processes of its user that plumb is in, and steers them.
 * It talks to them through <plumb/control.h> and reads runs through <plumb/read/run.h>; no gRPC,
 * HTTP or TLS ever enters the recorded process. Each protocol is a part: an entry of the table in
 * main.c. */
#ifndef PLUMB_SERVE_H
#define PLUMB_SERVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

enum { SERVE_EXIT_OK = 0, SERVE_EXIT_TROUBLE = 2 };
enum { SERVE_LIST_MAX = 8 };

/* An option that may be given several times. */
struct serve_list {
    const char *item[SERVE_LIST_MAX];
    size_t count;
};

/* The command line. Texts belong to argv; NULL: not given. */
struct serve_options {
    struct serve_list listen;       /* gRPC: HOST:PORT or unix:PATH */
    struct serve_list http;         /* HTTP: the same */
    struct serve_list control_name; /* names of client certificates with the control role */
    const char *tls_cert, *tls_key; /* PEM files */
    const char *client_ca;          /* PEM file: demands client certificates */
    const char *token;              /* file with the token of the control role */
    const char *read_token;         /* file with the token of the read-only role */
    const char *runs;               /* folder of runs; NULL: plumb_runs_dir() */
    const char *otlp;               /* URL of a collector; NULL: none */
    uint64_t workers;               /* threads that answer calls */
    uint64_t max_message_bytes;
    uint64_t device_interval_s; /* between readings of devices; 0: none is read */
    uint64_t idle_s;            /* until a gRPC connection without calls is closed; 0: never */
    uint64_t drain_s;           /* how long calls may go on after SIGTERM */
    bool read_only;             /* no caller has the control role */
    bool any_user;              /* loopback: other users of this machine too */
    bool insecure;              /* other addresses without TLS */
};

struct serve_auth;
struct serve_sessions;

/* The server. Made before any part starts, and the same until the last has stopped. */
struct serve {
    struct serve_options options;
    struct serve_auth *auth;
    struct serve_sessions *sessions;
    atomic_bool draining; /* streams end; new work is refused */
};

/* A protocol. main() calls its functions from one thread, one part after the other. */
struct serve_part {
    const char *name;
    /* Sets `out` and serves from then on, with threads of its own; leaves it NULL where no option
     * asks for the part. */
    int (*start)(void **out, struct serve *s, plumb_error *err);
    /* Called often until it returns true: no new work is taken, and all that was taken has ended.
     * `now`: ends it. s->draining is set before the first call. */
    bool (*drained)(void *part, bool now);
    /* Ends the part and frees it. It has been drained, or was started while a later part failed. */
    void (*stop)(void *part);
};

extern const struct serve_part serve_part_grpc, serve_part_http, serve_part_otlp;

/* options.c: reads the command line and GRPC_MAX_WORKERS, GRPC_MAX_MSG_SIZE. Returns a status;
 * after SERVE_HELP the help was shown. */
enum { SERVE_HELP = 1 };
int serve_options_read(struct serve_options *out, int argc, char **argv, plumb_error *err);

#endif
