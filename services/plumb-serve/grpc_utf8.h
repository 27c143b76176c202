/* grpc_utf8.h: texts of messages are UTF-8, which gRPC clients check; command lines and paths of
 * processes may be anything. */
#ifndef PLUMB_SERVE_GRPC_UTF8_H
#define PLUMB_SERVE_GRPC_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/* Returns the length of the UTF-8 character at `text`; 0: it is not one. */
size_t serve_utf8_length(const char *text);
/* Replaces each byte of `text` that is not part of a UTF-8 character by '?'. */
void serve_utf8_mend(char *text);
/* Returns whether every text of the message, and of those in it, is UTF-8. */
bool serve_utf8_valid(const ProtobufCMessage *message);
/* The same, and mends them: the message and its texts must be the caller's own, as unpacked. */
void serve_utf8_mend_message(ProtobufCMessage *message);

#endif
