/* grpc_reflection.c: grpc.reflection.v1 and v1alpha, which differ in the name alone: every message
 * of one is a message of the other, so both are answered with the messages of v1. */
#include <stdio.h>

#include "grpc_method.h"
#include "grpc_symbol.h"
#include <proto/grpc/reflection/v1/reflection.pb-c.h>

enum { NAMES_MAX = 16 };

/* The generated names are longer than a line may be. */
#define ASKS(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define SAYS(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

typedef Grpc__Reflection__V1__ServerReflectionRequest reflection_request;
typedef Grpc__Reflection__V1__ServerReflectionResponse reflection_response;

static bool say_error(struct serve_call *c, reflection_response *reply, grpc_status_code status,
                      const char *what, const char *name)
{
    char text[512];
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    snprintf(text, sizeof text, "%s '%s'", what, name);
    error.error_code = (int32_t)status;
    error.error_message = text;
    reply->message_response_case = SAYS(ERROR_RESPONSE);
    reply->error_response = &error;
    return serve_call_send(c, &reply->base);
}

static bool say_file(struct serve_call *c, reflection_response *reply,
                     const ProtobufCBinaryData *file, const char *what, const char *name)
{
    Grpc__Reflection__V1__FileDescriptorResponse files =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    if (!file)
        return say_error(c, reply, GRPC_STATUS_NOT_FOUND, what, name);
    files.n_file_descriptor_proto = 1;
    files.file_descriptor_proto = (ProtobufCBinaryData *)file;
    reply->message_response_case = SAYS(FILE_DESCRIPTOR_RESPONSE);
    reply->file_descriptor_response = &files;
    return serve_call_send(c, &reply->base);
}

static bool say_services(struct serve_call *c, reflection_response *reply)
{
    Grpc__Reflection__V1__ServiceResponse names[NAMES_MAX], *list[NAMES_MAX];
    Grpc__Reflection__V1__ListServiceResponse services =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    size_t n = 0;
    for (; n < NAMES_MAX && serve_service_get(n); n++) {
        grpc__reflection__v1__service_response__init(&names[n]);
        names[n].name = (char *)serve_service_get(n)->name;
        list[n] = &names[n];
    }
    services.n_service = n;
    services.service = list;
    reply->message_response_case = SAYS(LIST_SERVICES_RESPONSE);
    reply->list_services_response = &services;
    return serve_call_send(c, &reply->base);
}

/* No file here has extensions. */
static bool say_extensions(struct serve_call *c, reflection_response *reply, const char *type)
{
    Grpc__Reflection__V1__ExtensionNumberResponse numbers =
        GRPC__REFLECTION__V1__EXTENSION_NUMBER_RESPONSE__INIT;
    if (!serve_file_of_symbol(type))
        return say_error(c, reply, GRPC_STATUS_NOT_FOUND, "unknown type", type);
    numbers.base_type_name = (char *)type;
    reply->message_response_case = SAYS(ALL_EXTENSION_NUMBERS_RESPONSE);
    reply->all_extension_numbers_response = &numbers;
    return serve_call_send(c, &reply->base);
}

static bool reply_to(struct serve_call *c, reflection_request *r)
{
    reflection_response reply = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    reply.valid_host = r->host;
    reply.original_request = r;
    switch (r->message_request_case) {
    case ASKS(FILE_BY_FILENAME):
        return say_file(c, &reply, serve_file_named(r->file_by_filename), "unknown file",
                        r->file_by_filename);
    case ASKS(FILE_CONTAINING_SYMBOL):
        return say_file(c, &reply, serve_file_of_symbol(r->file_containing_symbol),
                        "unknown symbol", r->file_containing_symbol);
    case ASKS(LIST_SERVICES):
        return say_services(c, &reply);
    case ASKS(ALL_EXTENSION_NUMBERS_OF_TYPE):
        return say_extensions(c, &reply, r->all_extension_numbers_of_type);
    case ASKS(FILE_CONTAINING_EXTENSION):
        return say_error(
            c, &reply, GRPC_STATUS_NOT_FOUND, "unknown extension of",
            r->file_containing_extension ? r->file_containing_extension->containing_type : "");
    default:
        return say_error(c, &reply, GRPC_STATUS_INVALID_ARGUMENT,
                         "the request asks for nothing:", "message_request");
    }
}

static void info(struct serve_call *c, const void *message)
{
    (void)message;
    for (bool more = true; more;) {
        reflection_request *r = (reflection_request *)serve_call_receive(
            c, &grpc__reflection__v1__server_reflection_request__descriptor);
        more = r && reply_to(c, r);
        if (r)
            grpc__reflection__v1__server_reflection_request__free_unpacked(r, NULL);
    }
}

#define ENTRY(version)                                                                             \
    {                                                                                              \
        .path = "/grpc.reflection." version ".ServerReflection/ServerReflectionInfo",              \
        .role = SERVE_ROLE_READ, .talk = true, .run = info                                         \
    }
static const struct serve_method methods[] = {ENTRY("v1"), {.path = NULL}};
static const struct serve_method alpha_methods[] = {ENTRY("v1alpha"), {.path = NULL}};
const struct serve_service serve_service_reflection = {"grpc.reflection.v1.ServerReflection",
                                                       methods};
const struct serve_service serve_service_reflection_alpha = {
    "grpc.reflection.v1alpha.ServerReflection", alpha_methods};
