/* grpc_method.c: finds the method of a call, decides whether its caller may call it, and runs it.
 * Whether a method exists is said to any caller: the .proto files are public. */
#include "grpc_method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/grpc_security.h>

static const struct serve_service *const services[] = {
    &serve_service_cuvis,      &serve_service_profiler,         &serve_service_health,
    &serve_service_reflection, &serve_service_reflection_alpha,
};
enum { SERVICES = sizeof services / sizeof *services };

const struct serve_service *serve_service_get(size_t i)
{
    return i < SERVICES ? services[i] : NULL;
}

const struct serve_method *serve_method_find(const char *path)
{
    for (size_t i = 0; i < SERVICES; i++)
        for (const struct serve_method *m = services[i]->methods; m->path; m++)
            if (strcmp(m->path, path) == 0)
                return m;
    return NULL;
}

/* ---- The caller ------------------------------------------------------------------------------ */

/* Splits "ipv4:127.0.0.1:4242" and "ipv6:%5B::1%5D:4242". */
static bool read_peer(const char *peer, char host[64], uint16_t *port)
{
    const char *text =
        strncmp(peer, "ipv4:", 5) == 0 || strncmp(peer, "ipv6:", 5) == 0 ? peer + 5 : NULL;
    const char *colon = text ? strrchr(text, ':') : NULL;
    if (!colon)
        return false;
    size_t n = (size_t)(colon - text);
    if (n > 6 && strncmp(text, "%5B", 3) == 0) {
        text += 3;
        n -= 6;
    } else if (n > 2 && text[0] == '[') {
        text++;
        n -= 2;
    }
    if (n >= 64)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    *port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return true;
}

/* gRPC does not say at which address a caller on loopback has reached us: one that we listen on, or
 * where that is a name or a wildcard, the one of the same kind as the caller's. Two users may have
 * connections from one port to two of them, so none of them may be another user's. */
static bool same_user(const char *peer, uint16_t peer_port, const struct serve_address *own,
                      size_t count)
{
    bool v6 = strchr(peer, ':') != NULL, found = false;
    for (size_t i = 0; i < count; i++) {
        const char *host = own[i].host;
        enum serve_peer whose;
        if (own[i].place == SERVE_UNIX)
            continue;
        if (own[i].place != SERVE_LOOPBACK || strcmp(host, "localhost") == 0)
            host = v6 ? "::1" : "127.0.0.1";
        whose = serve_auth_peer(peer, peer_port, host, own[i].port);
        if (whose == SERVE_PEER_OTHER)
            return false;
        found = found || whose == SERVE_PEER_OWN;
    }
    return found;
}

static bool has_control_name(const struct serve_call *c)
{
    static const char *const properties[] = {GRPC_X509_CN_PROPERTY_NAME,
                                             GRPC_X509_SAN_PROPERTY_NAME};
    const struct serve_list *names = &c->serve->options.control_name;
    grpc_auth_context *context = names->count ? grpc_call_auth_context(c->call) : NULL;
    bool found = false;
    for (int i = 0; context && i < 2; i++) {
        grpc_auth_property_iterator it =
            grpc_auth_context_find_properties_by_name(context, properties[i]);
        const grpc_auth_property *p;
        while ((p = grpc_auth_property_iterator_next(&it)))
            for (size_t k = 0; k < names->count; k++)
                found = found || (strlen(names->item[k]) == p->value_length &&
                                  memcmp(names->item[k], p->value, p->value_length) == 0);
    }
    if (context)
        grpc_auth_context_release(context);
    return found;
}

static struct serve_caller caller_of(const struct serve_call *c, const struct serve_address *own,
                                     size_t own_count)
{
    struct serve_caller caller = {.place = SERVE_NETWORK};
    char host[64] = "";
    uint16_t port = 0;
    if (strncmp(c->peer, "unix:", 5) == 0)
        caller.place = SERVE_UNIX;
    else if (read_peer(c->peer, host, &port))
        caller.place = serve_address_place(host);
    const struct serve_options *o = &c->serve->options;
    if (caller.place == SERVE_LOOPBACK && !serve_auth_wants_token(c->serve->auth) && !o->any_user &&
        !o->client_ca)
        caller.same_user = same_user(host, port, own, own_count);
    caller.authorization = serve_call_metadata(c, "authorization", &caller.authorization_size);
    caller.control_name = has_control_name(c);
    return caller;
}

bool serve_method_allow(struct serve_call *c, const struct serve_address *own, size_t own_count)
{
    const char *why = "";
    if (!c->method) {
        serve_call_fail(c, GRPC_STATUS_UNIMPLEMENTED, "method '%s' does not exist", c->path);
        return false;
    }
    if (c->method->open)
        return true;
    struct serve_caller caller = caller_of(c, own, own_count);
    enum serve_role role = serve_auth_role(c->serve->auth, &caller, &why);
    if (role >= c->method->role)
        return true;
    if (role != SERVE_ROLE_NONE)
        serve_call_fail(c, GRPC_STATUS_PERMISSION_DENIED,
                        "this call needs the control role, and the caller may only read");
    else
        serve_call_fail(c,
                        serve_auth_wants_token(c->serve->auth) ? GRPC_STATUS_UNAUTHENTICATED
                                                               : GRPC_STATUS_PERMISSION_DENIED,
                        "%s", why);
    return false;
}

/* ---- Running --------------------------------------------------------------------------------- */

void serve_method_run(struct serve_call *c)
{
    const struct serve_method *m = c->method;
    if (m->talk) {
        m->run(c, NULL);
        return;
    }
    ProtobufCMessage *request = serve_call_receive(c, m->request);
    if (!request) {
        serve_call_fail(c, GRPC_STATUS_INVALID_ARGUMENT, "no request, or one above --max-message");
        return;
    }
    m->run(c, request);
    protobuf_c_message_free_unpacked(request, NULL);
}
