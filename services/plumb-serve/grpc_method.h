/* grpc_method.h: the methods of each service. A service is a file with one table of them. */
#ifndef PLUMB_SERVE_GRPC_METHOD_H
#define PLUMB_SERVE_GRPC_METHOD_H

#include "grpc_call.h"

struct serve_service {
    const char *name;
    const struct serve_method *methods; /* ends with a NULL path */
};

extern const struct serve_service serve_service_cuvis, serve_service_profiler, serve_service_health,
    serve_service_reflection, serve_service_reflection_alpha;

/* grpc_method.c */
/* Returns service `i`, or NULL beyond the last. */
const struct serve_service *serve_service_get(size_t i);
/* Returns the method with this path, or NULL. */
const struct serve_method *serve_method_find(const char *path);
/* Checks whether the caller may call c->method, which may be NULL; otherwise the call has failed.
 */
bool serve_method_allow(struct serve_call *c, const struct serve_address *own, size_t own_count);
/* Receives the request, and runs the method. */
void serve_method_run(struct serve_call *c);

#endif
