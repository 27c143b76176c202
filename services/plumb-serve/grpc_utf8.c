/* grpc_utf8.c: walks over the texts of any message, as its descriptor says. */
#include "grpc_utf8.h"

#include <stdint.h>
#include <string.h>

size_t serve_utf8_length(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
               : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
               : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Longer than needed, a surrogate, or beyond U+10FFFF. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* Returns the first byte that is not UTF-8, or NULL. */
static char *first_bad(char *text)
{
    while (*text) {
        size_t n = serve_utf8_length(text);
        if (n == 0)
            return text;
        text += n;
    }
    return NULL;
}

void serve_utf8_mend(char *text)
{
    while ((text = first_bad(text)))
        *text = '?';
}

/* Returns whether all texts are good; `mend`: they are afterwards. */
static bool walk(const ProtobufCMessage *message, bool mend);

static bool look(const ProtobufCFieldDescriptor *field, void *value, bool mend)
{
    void *pointer = *(void **)value;
    if (!pointer)
        return true;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return walk(pointer, mend);
    if (!first_bad(pointer))
        return true;
    if (mend)
        serve_utf8_mend(pointer);
    return false;
}

static bool walk(const ProtobufCMessage *message, bool mend)
{
    bool good = true;
    for (unsigned i = 0; i < message->descriptor->n_fields && (good || mend); i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        char *base = (char *)message;
        if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            *(const uint32_t *)(base + field->quantifier_offset) != field->id)
            continue;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            good = look(field, base + field->offset, mend) && good;
            continue;
        }
        void **items = *(void ***)(base + field->offset);
        size_t n = *(const size_t *)(base + field->quantifier_offset);
        for (size_t k = 0; k < n && (good || mend); k++)
            good = look(field, &items[k], mend) && good;
    }
    return good;
}

bool serve_utf8_valid(const ProtobufCMessage *message)
{
    return walk(message, false);
}

void serve_utf8_mend_message(ProtobufCMessage *message)
{
    walk(message, true);
}
