/* message.h: what a front end and a controlled process say to each other. share/control.proto is
 * the schema; this is the same as structs, with functions that write and read them.
 *
 * A connection carries frames: 4 bytes with the length of the message, the lowest first, then the
 * message. The front end sends a request and reads its response; a connection has one request at a
 * time. Fields and commands are only ever added: an unknown field is skipped, an unknown command is
 * answered with PLUMB_ERR_ABSENT.
 *
 * Names are bytes, not texts of Protocol Buffers, because a program's names may hold any bytes. */
#ifndef PLUMB_CONTROL_MESSAGE_H
#define PLUMB_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include <plumb/control.h>

struct plumb_pb;

enum {
    PLUMB_CONTROL_HEAD_BYTES = 4,
    PLUMB_CONTROL_REQUEST_MAX = 64 * 1024,         /* bytes of a request */
    PLUMB_CONTROL_RESPONSE_MAX = 64 * 1024 * 1024, /* of a response */
    PLUMB_CONTROL_WAIT_MS = 1000                   /* of a status that waits */
};

enum plumb_control_command {
    PLUMB_CONTROL_STATUS = 1,
    PLUMB_CONTROL_PIPELINES = 2,
    PLUMB_CONTROL_SUMMARY = 3,
    PLUMB_CONTROL_START = 4,
    PLUMB_CONTROL_STOP = 5,
    PLUMB_CONTROL_CONFIGURE = 6,
    PLUMB_CONTROL_RESET = 7,
    PLUMB_CONTROL_TRACE_ON = 8,
    PLUMB_CONTROL_TRACE_OFF = 9,
    PLUMB_CONTROL_KEEP = 10,
    PLUMB_CONTROL_REGIONS = 11,
    PLUMB_CONTROL_NODES = 12,
    PLUMB_CONTROL_DEBUG = 13,
    PLUMB_CONTROL_LOG_LEVEL = 14
};

struct plumb_control_request {
    uint32_t command;     /* enum plumb_control_command */
    const char *pipeline; /* NULL: not given, as the other texts */
    const char *phase;
    const char *text;      /* why, names, patterns, or the file of a trace */
    const char **settings; /* [setting_count] "name=value" */
    size_t setting_count;
    plumb_config config;
    plumb_control_trace trace;
    int64_t value;            /* on or off, a level; of a status the ms that it waits */
    uint32_t while_connected; /* 1: a run or a trace that it opens ends with the connection */
};

struct plumb_control_response {
    int32_t status;               /* enum plumb_status */
    const char *message;          /* of an error */
    const char *notes;            /* lines about a run that a front end has opened */
    const char *path;             /* of a file */
    const plumb_process *process; /* NULL: not given */
    const plumb_control_pipeline *pipelines;
    size_t pipeline_count;
    const plumb_row *rows;
    size_t row_count;
};

/* Write a message; `w->full` says that it did not fit. */
void plumb_control_put_request(struct plumb_pb *w, const struct plumb_control_request *r);
void plumb_control_put_response(struct plumb_pb *w, const struct plumb_control_response *r);
/* Read a message from bytes that cannot be trusted; what is in it is copied to `a`, with a NUL
 * after each text. Errors: PLUMB_ERR_FORMAT: it is damaged; PLUMB_ERR_MEMORY. */
int plumb_control_get_request(struct plumb_control_request *out, struct plumb_arena *a,
                              const unsigned char *bytes, size_t n, plumb_error *err);
int plumb_control_get_response(struct plumb_control_response *out, struct plumb_arena *a,
                               const unsigned char *bytes, size_t n, plumb_error *err);

/* The length in front of a message. */
static inline uint32_t plumb_control_length(const unsigned char head[PLUMB_CONTROL_HEAD_BYTES])
{
    return (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
           (uint32_t)head[3] << 24;
}
static inline void plumb_control_put_length(unsigned char head[PLUMB_CONTROL_HEAD_BYTES],
                                            uint32_t n)
{
    for (int i = 0; i < PLUMB_CONTROL_HEAD_BYTES; i++)
        head[i] = (unsigned char)(n >> 8 * i);
}

#endif
