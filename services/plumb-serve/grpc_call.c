/* grpc_call.c: one call. Its completion queue is plucked by the call's thread alone. One operation,
 * RECV_CLOSE, is open from the begin to the end: it says that the client has cancelled, or that the
 * deadline has passed, and so is what a waiting handler waits for. */
#include "grpc_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>

#include "grpc_utf8.h"
#include "log.h"

static char batch_tag, close_tag;
enum { LOOK_AGAIN_NS = 100000000, REQUEST_S = 10 };

struct serve_call *serve_call_new(struct serve *s, void *owner)
{
    struct serve_call *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->serve = s;
    c->owner = owner;
    c->cq = grpc_completion_queue_create_for_pluck(NULL);
    grpc_call_details_init(&c->details);
    grpc_metadata_array_init(&c->metadata);
    return c;
}

void serve_call_free(struct serve_call *c)
{
    if (c->call)
        grpc_call_unref(c->call);
    grpc_byte_buffer_destroy(c->reply);
    grpc_metadata_array_destroy(&c->metadata);
    grpc_call_details_destroy(&c->details);
    grpc_completion_queue_shutdown(c->cq);
    grpc_completion_queue_destroy(c->cq);
    free(c);
}

void serve_call_begin(struct serve_call *c)
{
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    char *peer = grpc_call_get_peer(c->call);
    snprintf(c->peer, sizeof c->peer, "%s", peer ? peer : "");
    gpr_free(peer);
    size_t n = GRPC_SLICE_LENGTH(c->details.method);
    snprintf(c->path, sizeof c->path, "%.*s", n < sizeof c->path ? (int)n : (int)sizeof c->path,
             (const char *)GRPC_SLICE_START_PTR(c->details.method));
    op.data.recv_close_on_server.cancelled = &c->cancelled;
    if (grpc_call_start_batch(c->call, &op, 1, &close_tag, NULL) != GRPC_CALL_OK) {
        c->cancelled = 1;
        c->closed = true;
    }
}

/* Waits for the end of the call until `limit`. */
static bool closed(struct serve_call *c, gpr_timespec limit)
{
    if (!c->closed)
        c->closed =
            grpc_completion_queue_pluck(c->cq, &close_tag, limit, NULL).type == GRPC_OP_COMPLETE;
    return c->closed;
}

static bool run_batch(struct serve_call *c, const grpc_op *ops, size_t n)
{
    if (grpc_call_start_batch(c->call, ops, n, &batch_tag, NULL) != GRPC_CALL_OK)
        return false;
    return grpc_completion_queue_pluck(c->cq, &batch_tag, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
        .success;
}

static const char *status_name(grpc_status_code status)
{
    static const char *const names[] = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "?";
}

void serve_call_finish(struct serve_call *c)
{
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    size_t n = c->headers_sent ? 0 : 1;
    serve_utf8_mend(c->message);
    grpc_slice text = grpc_slice_from_copied_string(c->message);
    if (c->status == GRPC_STATUS_OK && c->reply) {
        ops[n] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
        ops[n++].data.send_message.send_message = c->reply;
    }
    ops[n] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    ops[n].data.send_status_from_server.status = c->status;
    ops[n++].data.send_status_from_server.status_details = c->message[0] ? &text : NULL;
    if (c->status != GRPC_STATUS_OK && c->status != GRPC_STATUS_CANCELLED)
        serve_log("refused %s of %s: %s: %s", c->path, c->peer, status_name(c->status), c->message);
    run_batch(c, ops, n);
    closed(c, gpr_inf_future(GPR_CLOCK_MONOTONIC));
    grpc_slice_unref(text);
    serve_call_free(c);
}

static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *type, grpc_byte_buffer *buffer)
{
    grpc_byte_buffer_reader reader;
    if (!grpc_byte_buffer_reader_init(&reader, buffer))
        return NULL;
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    ProtobufCMessage *message =
        protobuf_c_message_unpack(type, NULL, GRPC_SLICE_LENGTH(all), GRPC_SLICE_START_PTR(all));
    grpc_slice_unref(all);
    grpc_byte_buffer_reader_destroy(&reader);
    return message;
}

/* A worker waits for the request, so a client that sends none must not keep it. */
static bool receive(struct serve_call *c, grpc_byte_buffer **out)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
    gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC), limit = never;
    op.data.recv_message.recv_message = out;
    if (!c->method->talk)
        limit = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                             gpr_time_from_seconds(REQUEST_S, GPR_TIMESPAN));
    if (grpc_call_start_batch(c->call, &op, 1, &batch_tag, NULL) != GRPC_CALL_OK)
        return false;
    grpc_event event = grpc_completion_queue_pluck(c->cq, &batch_tag, limit, NULL);
    if (event.type == GRPC_QUEUE_TIMEOUT) {
        serve_call_fail(c, GRPC_STATUS_DEADLINE_EXCEEDED, "the request has not come within %d s",
                        REQUEST_S);
        grpc_call_cancel_with_status(c->call, c->status, c->message, NULL);
        event = grpc_completion_queue_pluck(c->cq, &batch_tag, never, NULL);
    }
    return event.success;
}

ProtobufCMessage *serve_call_receive(struct serve_call *c, const ProtobufCMessageDescriptor *type)
{
    grpc_byte_buffer *buffer = NULL;
    if (!receive(c, &buffer) || !buffer)
        return NULL;
    ProtobufCMessage *message = unpack(type, buffer);
    grpc_byte_buffer_destroy(buffer);
    if (!message)
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "the request is not a %s", type->name);
    return message;
}

static grpc_byte_buffer *pack(const ProtobufCMessage *message)
{
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/* Texts belong to whoever made the message, so they are mended in a copy. */
static grpc_byte_buffer *pack_mended(const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(size ? size : 1);
    ProtobufCMessage *copy = NULL;
    grpc_byte_buffer *buffer = NULL;
    if (bytes) {
        protobuf_c_message_pack(message, bytes);
        copy = protobuf_c_message_unpack(message->descriptor, NULL, size, bytes);
    }
    if (copy) {
        serve_utf8_mend_message(copy);
        buffer = pack(copy);
        protobuf_c_message_free_unpacked(copy, NULL);
    }
    free(bytes);
    return buffer;
}

bool serve_call_send(struct serve_call *c, const ProtobufCMessage *message)
{
    grpc_op ops[2] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}, {.op = GRPC_OP_SEND_MESSAGE}};
    grpc_byte_buffer *buffer = serve_utf8_valid(message) ? pack(message) : pack_mended(message);
    if (!buffer) {
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
        return false;
    }
    if (!c->method->stream && !c->method->talk) {
        grpc_byte_buffer_destroy(c->reply);
        c->reply = buffer;
        return true;
    }
    ops[1].data.send_message.send_message = buffer;
    bool sent = run_batch(c, ops + c->headers_sent, 2 - (size_t)c->headers_sent);
    c->headers_sent = true;
    grpc_byte_buffer_destroy(buffer);
    return sent;
}

void serve_call_fail(struct serve_call *c, grpc_status_code status, const char *format, ...)
{
    va_list args;
    if (c->status != GRPC_STATUS_OK)
        return;
    c->status = status;
    va_start(args, format);
    vsnprintf(c->message, sizeof c->message, format, args);
    va_end(args);
}

bool serve_call_alive(struct serve_call *c)
{
    return !closed(c, gpr_time_0(GPR_CLOCK_MONOTONIC)) || !c->cancelled;
}

bool serve_call_wait(struct serve_call *c, uint64_t ns)
{
    gpr_timespec end =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos((int64_t)ns, GPR_TIMESPAN));
    for (;;) {
        gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
        gpr_timespec next = gpr_time_add(now, gpr_time_from_nanos(LOOK_AGAIN_NS, GPR_TIMESPAN));
        if (closed(c, gpr_time_min(next, end))) {
            serve_call_fail(c, GRPC_STATUS_CANCELLED, "the client has ended the call");
            return false;
        }
        if (atomic_load(&c->serve->draining)) {
            serve_call_fail(c, GRPC_STATUS_UNAVAILABLE, "the server is shutting down");
            return false;
        }
        if (gpr_time_cmp(gpr_now(GPR_CLOCK_MONOTONIC), end) >= 0)
            return true;
    }
}

uint32_t serve_call_left_ms(const struct serve_call *c, uint32_t most_ms)
{
    gpr_timespec end = gpr_convert_clock_type(c->details.deadline, GPR_CLOCK_MONOTONIC);
    gpr_timespec left = gpr_time_sub(end, gpr_now(GPR_CLOCK_MONOTONIC));
    if (gpr_time_cmp(left, gpr_time_from_millis(most_ms, GPR_TIMESPAN)) >= 0)
        return most_ms;
    int32_t ms = gpr_time_to_millis(left);
    return ms > 0 ? (uint32_t)ms : 0;
}

const char *serve_call_metadata(const struct serve_call *c, const char *key, size_t *size)
{
    for (size_t i = 0; i < c->metadata.count; i++)
        if (grpc_slice_str_cmp(c->metadata.metadata[i].key, key) == 0) {
            *size = GRPC_SLICE_LENGTH(c->metadata.metadata[i].value);
            return (const char *)GRPC_SLICE_START_PTR(c->metadata.metadata[i].value);
        }
    return NULL;
}
