/* Owns the header's JSON: a reader that takes any bytes, and a writer.
 *
 * Why not a JSON library: the header uses a small part of JSON, and everything else is an error
 * here. Errors stick: after the first, every reading function returns false. */
#include "safetensors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- Reading JSON ---------------------------------------------------------------------------- */

struct cursor {
    const char *begin, *at, *end;
    char *error;
    size_t error_bytes;
};

static bool fail(struct cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct cursor *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->error, c->error_bytes, format, args);
    va_end(args);
    return false;
}

static char peek(struct cursor *c)
{
    while (c->at < c->end && *c->at && strchr(" \t\r\n", *c->at))
        c->at++;
    return c->at < c->end ? *c->at : '\0';
}

static bool expect(struct cursor *c, char wanted)
{
    if (peek(c) != wanted)
        return fail(c, "no '%c' at byte %td of its header", wanted, c->at - c->begin);
    c->at++;
    return true;
}

/* Reads the separator after an element of a list that ends with `close`. Sets *more if another
 * element follows. */
static bool next(struct cursor *c, char close, bool *more)
{
    *more = peek(c) == ',';
    return expect(c, *more ? ',' : close);
}

static bool read_string(struct cursor *c, char *out, size_t size)
{
    size_t length = 0;

    if (!expect(c, '"'))
        return false;
    for (; c->at < c->end && *c->at != '"'; c->at++) {
        if (*c->at < ' ' || *c->at > '~' || *c->at == '\\')
            return fail(c, "no plain ASCII at byte %td of its header", c->at - c->begin);
        if (length + 1 == size)
            return fail(c, "a text longer than %zu bytes at byte %td of its header", size - 1,
                        c->at - c->begin);
        out[length++] = *c->at;
    }
    out[length] = '\0';
    return expect(c, '"');
}

static bool read_number(struct cursor *c, uint64_t *out)
{
    const uint64_t most = UINT64_C(1) << 53; /* beyond, JSON numbers are not exact */
    const char *first;

    peek(c);
    first = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && *out <= most; c->at++)
        *out = 10 * *out + (uint64_t)(*c->at - '0');
    if (c->at == first || *out > most)
        return fail(c, "no number up to 2^53 at byte %td of its header", first - c->begin);
    return true;
}

/* "[1, 2]"; *n is set to how many there are. */
static bool read_numbers(struct cursor *c, uint64_t *out, int most, int *n)
{
    bool more = true;

    *n = 0;
    if (!expect(c, '['))
        return false;
    if (peek(c) == ']')
        return expect(c, ']');
    while (more) {
        if (*n == most)
            return fail(c, "more than %d numbers at byte %td of its header", most,
                        c->at - c->begin);
        if (!read_number(c, &out[(*n)++]) || !next(c, ']', &more))
            return false;
    }
    return true;
}

/* ---- Reading the header ---------------------------------------------------------------------- */

struct fields {
    bool dtype, shape, offsets;
};

static bool read_dtype(struct cursor *c, const struct safetensors_tensor *t)
{
    char dtype[16];

    if (!read_string(c, dtype, sizeof(dtype)))
        return false;
    return strcmp(dtype, "F32") == 0 || fail(c, "'%s' holds %s, not F32", t->name, dtype);
}

static bool read_shape(struct cursor *c, struct safetensors_tensor *t)
{
    uint64_t shape[SAFETENSORS_MAX_AXES] = {0};

    if (!read_numbers(c, shape, SAFETENSORS_MAX_AXES, &t->n_axes))
        return false;
    for (int i = 0; i < t->n_axes; i++)
        t->shape[i] = (int64_t)shape[i];
    return true;
}

static bool read_offsets(struct cursor *c, struct safetensors_tensor *t)
{
    uint64_t offsets[2] = {0};
    int n;

    if (!read_numbers(c, offsets, 2, &n))
        return false;
    if (n != 2 || offsets[0] > offsets[1])
        return fail(c, "'%s' has wrong data_offsets", t->name);
    t->begin_bytes = offsets[0];
    t->end_bytes = offsets[1];
    return true;
}

static bool read_field(struct cursor *c, struct safetensors_tensor *t, struct fields *seen)
{
    char key[16];
    bool *field;

    if (!read_string(c, key, sizeof(key)) || !expect(c, ':'))
        return false;
    field = strcmp(key, "dtype") == 0          ? &seen->dtype
            : strcmp(key, "shape") == 0        ? &seen->shape
            : strcmp(key, "data_offsets") == 0 ? &seen->offsets
                                               : NULL;
    if (!field || *field)
        return fail(c, "'%s' has %s '%s'", t->name, field ? "two fields" : "an unknown field", key);
    *field = true;
    return field == &seen->dtype   ? read_dtype(c, t)
           : field == &seen->shape ? read_shape(c, t)
                                   : read_offsets(c, t);
}

static bool read_tensor(struct cursor *c, struct safetensors_header *h, const char *name)
{
    struct safetensors_tensor *t = &h->tensors[h->n_tensors];
    struct fields seen = {false, false, false};
    bool more = true;

    if (safetensors_find(h, name))
        return fail(c, "it has two tensors '%s'", name);
    if (h->n_tensors == SAFETENSORS_MAX_TENSORS)
        return fail(c, "it has more than %d tensors", SAFETENSORS_MAX_TENSORS);
    snprintf(t->name, sizeof(t->name), "%s", name);
    if (!expect(c, '{'))
        return false;
    while (more)
        if (!read_field(c, t, &seen) || !next(c, '}', &more))
            return false;
    if (!seen.dtype || !seen.shape || !seen.offsets)
        return fail(c, "'%s' lacks dtype, shape or data_offsets", name);
    h->n_tensors++;
    return true;
}

static bool read_facts(struct cursor *c, struct safetensors_header *h)
{
    bool more = true;

    if (!expect(c, '{'))
        return false;
    if (peek(c) == '}')
        return expect(c, '}');
    while (more) {
        struct safetensors_fact *fact;
        if (h->n_facts == SAFETENSORS_MAX_FACTS)
            return fail(c, "it has more than %d lines of metadata", SAFETENSORS_MAX_FACTS);
        fact = &h->facts[h->n_facts];
        if (!read_string(c, fact->key, sizeof(fact->key)) || !expect(c, ':') ||
            !read_string(c, fact->value, sizeof(fact->value)))
            return false;
        h->n_facts++;
        if (!next(c, '}', &more))
            return false;
    }
    return true;
}

static bool read_header(struct cursor *c, struct safetensors_header *h)
{
    bool more = true;

    if (!expect(c, '{'))
        return false;
    while (more) {
        char name[sizeof(h->tensors[0].name)];
        if (!read_string(c, name, sizeof(name)) || !expect(c, ':'))
            return false;
        if (!(strcmp(name, "__metadata__") == 0 ? read_facts(c, h) : read_tensor(c, h, name)))
            return false;
        if (!next(c, '}', &more))
            return false;
    }
    peek(c);
    return c->at == c->end || fail(c, "more than one object in its header");
}

/* ---- Checking the layout --------------------------------------------------------------------- */

static bool has_size_of_shape(const struct safetensors_tensor *t)
{
    uint64_t bytes = sizeof(float);

    for (int i = 0; i < t->n_axes; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)t->shape[i], &bytes))
            return false;
    return t->end_bytes - t->begin_bytes == bytes;
}

/* Walks from tensor to tensor through the data. An empty tensor covers nothing. */
static bool covers_data(struct cursor *c, const struct safetensors_header *h, uint64_t data_bytes)
{
    uint64_t at = 0, sum = 0;

    for (int i = 0; i < h->n_tensors; i++) {
        const struct safetensors_tensor *t = &h->tensors[i];
        if (!has_size_of_shape(t))
            return fail(c, "'%s' does not have the size of its shape", t->name);
        if (t->end_bytes > data_bytes)
            return fail(c, "'%s' ends behind the %" PRIu64 " bytes of data", t->name, data_bytes);
        sum += t->end_bytes - t->begin_bytes;
    }
    for (int i = 0; i < h->n_tensors;) {
        const struct safetensors_tensor *t = &h->tensors[i];
        bool follows = t->begin_bytes == at && t->end_bytes > at;
        at = follows ? t->end_bytes : at;
        i = follows ? 0 : i + 1;
    }
    if (at != sum)
        return fail(c, "its tensors overlap or leave gaps");
    if (at != data_bytes)
        return fail(c, "it has %" PRIu64 " bytes of data, and its tensors take %" PRIu64,
                    data_bytes, at);
    return true;
}

int safetensors_parse(struct safetensors_header *out, const char *json, size_t size,
                      uint64_t data_bytes, char *error, size_t error_bytes)
{
    struct cursor c = {json, json, json + size, error, error_bytes};
    struct safetensors_header h = {0};

    if (!read_header(&c, &h) || !covers_data(&c, &h, data_bytes))
        return -1;
    *out = h;
    return 0;
}

const struct safetensors_tensor *safetensors_find(const struct safetensors_header *header,
                                                  const char *name)
{
    for (int i = 0; i < header->n_tensors; i++)
        if (strcmp(header->tensors[i].name, name) == 0)
            return &header->tensors[i];
    return NULL;
}

const char *safetensors_fact(const struct safetensors_header *header, const char *key)
{
    for (int i = 0; i < header->n_facts; i++)
        if (strcmp(header->facts[i].key, key) == 0)
            return header->facts[i].value;
    return NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct text {
    char *out;
    size_t size, length; /* length may exceed size: then it did not fit */
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
    size_t room = t->length < t->size ? t->size - t->length : 0;
    va_list args;

    va_start(args, format);
    t->length += (size_t)vsnprintf(room ? t->out + t->length : NULL, room, format, args);
    va_end(args);
}

static void put_tensor(struct text *t, const struct safetensors_tensor *tensor)
{
    put(t, "\"%s\":{\"dtype\":\"F32\",\"shape\":[", tensor->name);
    for (int i = 0; i < tensor->n_axes; i++)
        put(t, "%s%" PRId64, i ? "," : "", tensor->shape[i]);
    put(t, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", tensor->begin_bytes, tensor->end_bytes);
}

size_t safetensors_format(const struct safetensors_header *header, char *json, size_t size)
{
    struct text t = {json, size, 0};

    put(&t, "{\"__metadata__\":{");
    for (int i = 0; i < header->n_facts; i++)
        put(&t, "%s\"%s\":\"%s\"", i ? "," : "", header->facts[i].key, header->facts[i].value);
    put(&t, "}");
    for (int i = 0; i < header->n_tensors; i++) {
        put(&t, ",");
        put_tensor(&t, &header->tensors[i]);
    }
    put(&t, "}");
    while (t.length % 8 != 0)
        put(&t, " ");
    return t.length < size ? t.length : 0;
}
