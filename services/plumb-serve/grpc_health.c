/* grpc_health.c: grpc.health.v1.Health. Probes have no tokens, so Check answers any caller; Watch,
 * which holds a stream, does not. */
#include <string.h>

#include "grpc_method.h"
#include <proto/grpc/health/v1/health.pb-c.h>

enum { LOOK_AGAIN_NS = 1000000000 };

static bool knows(const char *name)
{
    if (!*name)
        return true;
    for (size_t i = 0; serve_service_get(i); i++)
        if (strcmp(serve_service_get(i)->name, name) == 0)
            return true;
    return false;
}

static bool say(struct serve_call *c, Grpc__Health__V1__HealthCheckResponse__ServingStatus status)
{
    Grpc__Health__V1__HealthCheckResponse reply = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    reply.status = status;
    return serve_call_send(c, &reply.base);
}

static bool say_state(struct serve_call *c)
{
    return say(c, atomic_load(&c->serve->draining)
                      ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
                      : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING);
}

static void check(struct serve_call *c, const void *message)
{
    const Grpc__Health__V1__HealthCheckRequest *r = message;
    if (knows(r->service))
        say_state(c);
    else
        serve_call_fail(c, GRPC_STATUS_NOT_FOUND, "service '%s' does not exist", r->service);
}

static void watch(struct serve_call *c, const void *message)
{
    const Grpc__Health__V1__HealthCheckRequest *r = message;
    bool sent =
        knows(r->service)
            ? say_state(c)
            : say(c, GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN);
    while (sent && serve_call_wait(c, LOOK_AGAIN_NS))
        continue;
    if (sent && c->status == GRPC_STATUS_UNAVAILABLE)
        say_state(c);
}

#define METHOD(name) "/grpc.health.v1.Health/" name
static const struct serve_method methods[] = {
    {.path = METHOD("Check"),
     .open = true,
     .request = &grpc__health__v1__health_check_request__descriptor,
     .run = check},
    {.path = METHOD("Watch"),
     .role = SERVE_ROLE_READ,
     .stream = true,
     .request = &grpc__health__v1__health_check_request__descriptor,
     .run = watch},
    {.path = NULL},
};
const struct serve_service serve_service_health = {"grpc.health.v1.Health", methods};
