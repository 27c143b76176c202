/* grpc_call.h: one call, as its handler sees it: blocking, straight-line code on one thread. */
#ifndef PLUMB_SERVE_GRPC_CALL_H
#define PLUMB_SERVE_GRPC_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <grpc/grpc.h>
#include <grpc/status.h>
#include <protobuf-c/protobuf-c.h>

#include "auth.h"
#include "serve.h"

struct serve_call;

struct serve_method {
    const char *path; /* "/plumb.v1.Profiler/GetSummary" */
    enum serve_role role;
    bool open;   /* answered without a token: health */
    bool stream; /* lasts: it gets a thread of its own, so that workers stay free */
    bool talk;   /* the client streams too: the handler receives by itself */
    const ProtobufCMessageDescriptor *request; /* unless `talk` */
    /* Sends what there is to send. `request` lives until it returns; NULL for `talk`. */
    void (*run)(struct serve_call *c, const void *request);
};

struct serve_call {
    struct serve *serve;
    const struct serve_method *method; /* NULL: unknown */
    grpc_call *call;
    grpc_completion_queue *cq; /* of this call alone, for pluck */
    grpc_call_details details;
    grpc_metadata_array metadata;
    char path[128];
    char peer[128]; /* "ipv4:127.0.0.1:4242" */
    bool headers_sent;
    bool closed;             /* `cancelled` is known */
    int cancelled;           /* by the client, its deadline, or the server */
    grpc_byte_buffer *reply; /* of a call that does not stream: sent with the status */
    grpc_status_code status;
    char message[600];
    void *owner; /* of grpc_server.c */
    /* Set by the thread that posts the call, read by the one that takes it: what the core does to
     * order the two is not seen by ThreadSanitizer. */
    atomic_bool posted;
};

/* Makes a call that grpc_server_request_call() can fill; NULL: no memory. */
struct serve_call *serve_call_new(struct serve *s, void *owner);
/* Begins to watch for the end of the call; once, after it was filled. */
void serve_call_begin(struct serve_call *c);
/* Sends the reply and the status, and frees the call. A failure is one line of the log. */
void serve_call_finish(struct serve_call *c);
/* Frees a call that was never filled, or has been finished. */
void serve_call_free(struct serve_call *c);

/* Receives a message; free it with protobuf_c_message_free_unpacked(). NULL: the client sends no
 * more, or the call has ended; after a damaged message, or where the only one has not come within
 * 10 s, the call has failed. */
ProtobufCMessage *serve_call_receive(struct serve_call *c, const ProtobufCMessageDescriptor *type);
/* Sends a message of a stream, or keeps the reply of another call. Texts that are not UTF-8 are
 * sent with '?' in place of the bytes that are not: clients refuse a message otherwise. Waits while
 * the client does not read. Returns false when the call has ended. */
bool serve_call_send(struct serve_call *c, const ProtobufCMessage *message);
/* Fails the call; the first failure counts. */
void serve_call_fail(struct serve_call *c, grpc_status_code status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns false when the call was cancelled, or its deadline has passed. */
bool serve_call_alive(struct serve_call *c);
/* Waits. Returns false when the call has ended in the meantime, or the server drains; it has then
 * failed with UNAVAILABLE. */
bool serve_call_wait(struct serve_call *c, uint64_t ns);
/* Returns the time until the deadline of the call, at most `most_ms`; 0: it has passed. */
uint32_t serve_call_left_ms(const struct serve_call *c, uint32_t most_ms);
/* Returns the value of a metadata key, or NULL. */
const char *serve_call_metadata(const struct serve_call *c, const char *key, size_t *size);

#endif
