/* varint.h: integers as Protocol Buffers write them: 7 bits a byte, the lowest first, the highest
 * bit set in all but the last. Writers only; each states how many bytes it may touch, which can be
 * more than it uses. */
#ifndef PLUMB_BASE_VARINT_H
#define PLUMB_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"

enum { PLUMB_VARINT_MAX = 10, PLUMB_VARINT28_TOUCHES = 4 };
#define PLUMB_VARINT28_END ((uint64_t)1 << 28)

/* Bytes that `v` takes: 1 to 10. */
static inline size_t plumb_varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

/* Touches what it uses. Returns the end. */
static inline unsigned char *plumb_varint_put(unsigned char *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (unsigned char)(v | 0x80);
    *p++ = (unsigned char)v;
    return p;
}

/* The same for v < 2^28, without a branch; touches 4 bytes. */
static PLUMB_ALWAYS_INLINE unsigned char *plumb_varint_put28(unsigned char *p, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t more = (uint32_t)(v >= 1u << 7) + (v >= 1u << 14) + (v >= 1u << 21);
    uint32_t bytes = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
    bytes |= 0x00808080u & ((1u << 8 * more) - 1);
    memcpy(p, &bytes, sizeof bytes);
    return p + more + 1;
#else
    return plumb_varint_put(p, v);
#endif
}

#endif
