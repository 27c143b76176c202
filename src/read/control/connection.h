/* connection.h: a front end's connection to one process: it sends a request and waits for the
 * response, for a bounded time. One thread at a time. */
#ifndef PLUMB_READ_CONTROL_CONNECTION_H
#define PLUMB_READ_CONTROL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "control/message.h"
#include "read/control/find.h"

struct plumb_connection {
    struct plumb_found process;
    int fd;               /* -1: none */
    bool broken;          /* no call after this can work */
    unsigned char *bytes; /* the last response; malloc */
    char notes[4096];     /* of all responses */
};

/* Connects within `timeout_ns`. After an error nothing is left to be closed. Errors:
 * PLUMB_ERR_STATE: the socket is not that process's, or nothing accepts; PLUMB_ERR_NOT_FOUND:
 * nothing listens. */
int plumb_connection_open(struct plumb_connection *out, const struct plumb_found *process,
                          uint64_t timeout_ns, plumb_error *err);
void plumb_connection_close(struct plumb_connection *c);
/* Sends a request, whose response plumb_connection_response() reads: several processes can be asked
 * before the first response is waited for. */
int plumb_connection_request(struct plumb_connection *c,
                             const struct plumb_control_request *request, uint64_t timeout_ns,
                             plumb_error *err);
/* Reads the response into `*out`, whose parts lie in `a`. The error of the process, if it answers
 * with one, is returned as this function's. */
int plumb_connection_response(struct plumb_control_response *out, struct plumb_connection *c,
                              struct plumb_arena *a, uint64_t timeout_ns, plumb_error *err);
/* Both, within `timeout_ns`. */
int plumb_connection_call(struct plumb_control_response *out, struct plumb_connection *c,
                          struct plumb_arena *a, const struct plumb_control_request *request,
                          uint64_t timeout_ns, plumb_error *err);

#endif
