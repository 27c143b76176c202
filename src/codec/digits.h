/* digits.h: numbers as decimal digits without a loop: eight at a time in one register, each step
 * splitting every part of it in two. Functions return the end and may touch PLUMB_DIGITS_TOUCHES
 * bytes from `p` on. */
#ifndef PLUMB_CODEC_DIGITS_H
#define PLUMB_CODEC_DIGITS_H

#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "codec/varint.h"

enum { PLUMB_DIGITS_TOUCHES = 32 };

/* Eight digits of x < 10^8, leading zeros included, as values 0..9; the first in the lowest byte.
 */
static PLUMB_ALWAYS_INLINE uint64_t plumb_digits_of(uint32_t x)
{
    uint64_t v = x / 10000 | (uint64_t)(x % 10000) << 32;
    uint64_t q = (v * 10486 >> 20) & UINT64_C(0x7f0000007f); /* of 100; exact below 10^4 */
    v = q | (v - q * 100) << 16;
    q = (v * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* of 10; exact below 10^2 */
    return q | (v - q * 10) << 8;
}

static PLUMB_ALWAYS_INLINE unsigned char *plumb_put_8_digits(unsigned char *p, uint32_t x)
{
    plumb_store_le64(p, plumb_digits_of(x) | UINT64_C(0x3030303030303030));
    return p + 8;
}

/* x < 10^8 without leading zeros. */
static PLUMB_ALWAYS_INLINE unsigned char *plumb_put_small(unsigned char *p, uint32_t x)
{
    uint64_t digits = plumb_digits_of(x);
    /* The last digit stays even where it is zero. */
    int zeros = __builtin_ctzll(digits | UINT64_C(1) << 56) >> 3;
    plumb_store_le64(p, (digits | UINT64_C(0x3030303030303030)) >> 8 * zeros);
    return p + 8 - zeros;
}

/* x < 10^16. */
static PLUMB_ALWAYS_INLINE unsigned char *plumb_put_medium(unsigned char *p, uint64_t x)
{
    if (PLUMB_LIKELY(x < 100000000))
        return plumb_put_small(p, (uint32_t)x);
    p = plumb_put_small(p, (uint32_t)(x / 100000000));
    return plumb_put_8_digits(p, (uint32_t)(x % 100000000));
}

static inline unsigned char *plumb_put_digits(unsigned char *p, uint64_t x)
{
    const uint64_t ten_16 = UINT64_C(10000000000000000);
    if (PLUMB_LIKELY(x < ten_16))
        return plumb_put_medium(p, x);
    p = plumb_put_small(p, (uint32_t)(x / ten_16));
    x %= ten_16;
    p = plumb_put_8_digits(p, (uint32_t)(x / 100000000));
    return plumb_put_8_digits(p, (uint32_t)(x % 100000000));
}

/* Nanoseconds below 10^18 as microseconds with three decimals: 1234567 is 1234.567. */
static PLUMB_ALWAYS_INLINE unsigned char *plumb_put_us(unsigned char *p, uint64_t ns)
{
    uint64_t us = ns / 1000;
    uint32_t rest = (uint32_t)(ns - us * 1000);
    uint32_t hundreds = rest * 41 >> 12; /* exact below 1024 */
    uint32_t tens = (rest -= hundreds * 100) * 103 >> 10, ones = rest - tens * 10;
    p = plumb_put_medium(p, us);
    uint32_t text = (uint32_t)'.' | (hundreds | tens << 8 | ones << 16 | 0x303030u) << 8;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    text = __builtin_bswap32(text);
#endif
    memcpy(p, &text, sizeof text);
    return p + 4;
}

#endif
