/* grpc_symbol.h: the published .proto files, by name and by what they declare. Constant after
 * serve_symbols_open(). */
#ifndef PLUMB_SERVE_GRPC_SYMBOL_H
#define PLUMB_SERVE_GRPC_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/* Reads the descriptors in the program. Returns false without memory. */
bool serve_symbols_open(void);
void serve_symbols_close(void);
/* Returns the bytes of the file with this name, or of that which declares the service, method,
 * message, field, enum or value with this full name; NULL: the program has no such file. */
const ProtobufCBinaryData *serve_file_named(const char *name);
const ProtobufCBinaryData *serve_file_of_symbol(const char *symbol);

#endif
