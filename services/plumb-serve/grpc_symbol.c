/* grpc_symbol.c: finds the file of a symbol. A FileDescriptorSet is read twice: as descriptors, and
 * as a list of bytes, one for each file, which are what a client gets (the message that holds them
 * in the reflection service has the same form). */
#include "grpc_symbol.h"

#include <string.h>

#include "grpc_published.h"
#include <proto/descriptor.pb-c.h>
#include <proto/grpc/reflection/v1/reflection.pb-c.h>

/* Set before the server starts, and constant until it has ended. */
static struct {
    Serve__DescriptorSet *set;
    Grpc__Reflection__V1__FileDescriptorResponse *bytes;
} published;

bool serve_symbols_open(void)
{
    const uint8_t *data = (const uint8_t *)serve_published;
    published.set = serve__descriptor_set__unpack(NULL, serve_published_size, data);
    published.bytes =
        grpc__reflection__v1__file_descriptor_response__unpack(NULL, serve_published_size, data);
    return published.set && published.bytes;
}

void serve_symbols_close(void)
{
    serve__descriptor_set__free_unpacked(published.set, NULL);
    grpc__reflection__v1__file_descriptor_response__free_unpacked(published.bytes, NULL);
    published.set = NULL;
    published.bytes = NULL;
}

/* Returns what follows "name" or "name." at the begin of `symbol`; NULL: another name is there. */
static const char *after(const char *symbol, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(symbol, name, n) != 0)
        return NULL;
    if (!symbol[n])
        return symbol + n;
    return symbol[n] == '.' && symbol[n + 1] ? symbol + n + 1 : NULL;
}

static bool is_one_of(const char *symbol, Serve__NamedDescription *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(symbol, names[i]->name) == 0)
            return true;
    return false;
}

static bool in_enums(const char *symbol, Serve__EnumDescription *const *enums, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *rest = after(symbol, enums[i]->name);
        if ((rest && (!*rest || is_one_of(rest, enums[i]->value, enums[i]->n_value))) ||
            is_one_of(symbol, enums[i]->value, enums[i]->n_value))
            return true;
    }
    return false;
}

static bool in_messages(const char *symbol, Serve__MessageDescription *const *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Serve__MessageDescription *m = messages[i];
        const char *rest = after(symbol, m->name);
        if (rest && (!*rest || is_one_of(rest, m->field, m->n_field) ||
                     in_enums(rest, m->enum_type, m->n_enum_type) ||
                     in_messages(rest, m->nested_type, m->n_nested_type)))
            return true;
    }
    return false;
}

static bool in_services(const char *symbol, Serve__ServiceDescription *const *services, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *rest = after(symbol, services[i]->name);
        if (rest && (!*rest || is_one_of(rest, services[i]->method, services[i]->n_method)))
            return true;
    }
    return false;
}

const ProtobufCBinaryData *serve_file_named(const char *name)
{
    for (size_t i = 0; i < published.set->n_file; i++)
        if (strcmp(published.set->file[i]->name, name) == 0)
            return &published.bytes->file_descriptor_proto[i];
    return NULL;
}

const ProtobufCBinaryData *serve_file_of_symbol(const char *symbol)
{
    for (size_t i = 0; i < published.set->n_file; i++) {
        const Serve__FileDescription *f = published.set->file[i];
        const char *rest = after(symbol, f->package);
        if (rest && *rest &&
            (in_services(rest, f->service, f->n_service) ||
             in_messages(rest, f->message_type, f->n_message_type) ||
             in_enums(rest, f->enum_type, f->n_enum_type)))
            return &published.bytes->file_descriptor_proto[i];
    }
    return NULL;
}
