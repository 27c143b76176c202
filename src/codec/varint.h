/* varint.h: integers as Protocol Buffers write them: 7 bits a byte, the lowest first, the highest
 * bit set in all but the last. */
#ifndef PLUMB_CODEC_VARINT_H
#define PLUMB_CODEC_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"

enum { PLUMB_VARINT_MAX = 10 };

/* Bytes that `v` takes: 1 to 10. */
static inline size_t plumb_varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

/* Returns the end. */
static inline unsigned char *plumb_varint_put(unsigned char *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (unsigned char)(v | 0x80);
    *p++ = (unsigned char)v;
    return p;
}

/* 8 bytes, the lowest first, on any machine. */
static PLUMB_ALWAYS_INLINE void plumb_store_le64(unsigned char *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &v, sizeof v);
#else
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> 8 * i);
#endif
}

static PLUMB_ALWAYS_INLINE uint64_t plumb_load_le64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

#endif
