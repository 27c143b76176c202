/* wire.h: the fields of a Protocol Buffers message, one after the other, from bytes that cannot be
 * trusted.
 *
 *     struct plumb_wire w = plumb_wire_of(bytes, n);
 *     while (plumb_wire_next(&w))
 *         switch (w.field) { ... w.v ... w.bytes, w.n ... }
 *     if (w.bad) the message is damaged after the fields that were read
 *
 * A field of the wrong wire type reads as 0 or as no bytes, never as garbage. */
#ifndef PLUMB_CODEC_WIRE_H
#define PLUMB_CODEC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "codec/protobuf.h"

struct plumb_wire {
    const unsigned char *p, *end;
    uint32_t field, wire;       /* enum plumb_pb_wire */
    uint64_t v;                 /* of numbers */
    const unsigned char *bytes; /* of texts and messages; never NULL */
    size_t n;
    bool bad;
};

static inline struct plumb_wire plumb_wire_of(const unsigned char *bytes, size_t n)
{
    struct plumb_wire w = {.p = bytes, .end = bytes + n, .bytes = bytes};
    return w;
}

/* Reads a number of up to ten bytes at *p and moves *p past it; false: it is cut off, or longer. */
static PLUMB_ALWAYS_INLINE bool plumb_wire_varint(const unsigned char **p, const unsigned char *end,
                                                  uint64_t *out)
{
    const unsigned char *at = *p;
    uint64_t v = 0;
    if (PLUMB_LIKELY(at < end && *at < 0x80)) {
        *out = *at;
        *p = at + 1;
        return true;
    }
    for (int shift = 0; at < end && shift < 70; shift += 7) {
        v |= (uint64_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80) {
            *out = v;
            *p = at;
            return true;
        }
    }
    return false;
}

static inline uint64_t plumb_wire_little(const unsigned char *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* 0: what is left is too short. */
static inline bool plumb_wire_fixed(struct plumb_wire *w, int n)
{
    if (w->end - w->p < n)
        return false;
    w->v = plumb_wire_little(w->p, n);
    w->p += n;
    return true;
}

static PLUMB_ALWAYS_INLINE bool plumb_wire_next(struct plumb_wire *w)
{
    uint64_t key;
    if (w->p == w->end)
        return false;
    w->n = 0;
    w->v = 0;
    if (PLUMB_UNLIKELY(!plumb_wire_varint(&w->p, w->end, &key) || key >> 3 == 0 || key >> 35))
        goto bad;
    w->field = (uint32_t)(key >> 3);
    w->wire = key & 7;
    switch (w->wire) {
    case PLUMB_PB_VARINT:
        if (PLUMB_UNLIKELY(!plumb_wire_varint(&w->p, w->end, &w->v)))
            goto bad;
        return true;
    case PLUMB_PB_BYTES:
        if (PLUMB_UNLIKELY(!plumb_wire_varint(&w->p, w->end, &key) ||
                           key > (uint64_t)(w->end - w->p)))
            goto bad;
        w->bytes = w->p;
        w->n = (size_t)key;
        w->p += w->n;
        return true;
    case PLUMB_PB_FIXED64:
        if (!plumb_wire_fixed(w, 8))
            goto bad;
        return true;
    case PLUMB_PB_FIXED32:
        if (!plumb_wire_fixed(w, 4))
            goto bad;
        return true;
    default:
        goto bad;
    }
bad:
    w->bad = true;
    w->p = w->end;
    return false;
}

static inline struct plumb_wire plumb_wire_inner(const struct plumb_wire *w)
{
    return plumb_wire_of(w->bytes, w->n);
}

/* Numbers of a repeated field, which may be packed into one: call until it gives false, with *at
 * NULL at first. `wire` is what a packed one consists of. */
static inline bool plumb_wire_each(const struct plumb_wire *w, enum plumb_pb_wire wire,
                                   const unsigned char **at, uint64_t *out)
{
    const unsigned char *end = w->bytes + w->n;
    if (w->wire != PLUMB_PB_BYTES) {
        *out = w->v;
        return !*at && (*at = w->bytes);
    }
    if (!*at)
        *at = w->bytes;
    if (wire == PLUMB_PB_VARINT)
        return plumb_wire_varint(at, end, out);
    if (end - *at < 8)
        return false;
    *out = plumb_wire_little(*at, 8);
    *at += 8;
    return true;
}

static inline double plumb_wire_f64(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
