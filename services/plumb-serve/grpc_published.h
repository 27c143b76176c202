/* grpc_published.h: the descriptors of share/proto, as protoc writes them: a FileDescriptorSet. */
#ifndef PLUMB_SERVE_GRPC_PUBLISHED_H
#define PLUMB_SERVE_GRPC_PUBLISHED_H

#include <stddef.h>

extern const char serve_published[];
extern const size_t serve_published_size;

#endif
