/* crc32_pclmul.c: 64 bytes at a time: the remainder of a long polynomial is folded onto what
 * follows by carry-less products with x^k mod P, and the last 16 bytes are reduced as Barrett does.
 * (V. Gopal and others: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel,
 * 2009; the constants are those of the reflected polynomial of gzip, 0xedb88320.) */
#include <immintrin.h>

#include "base/atomic.h"
#include "codec/gz/parts.h"

static PLUMB_ALWAYS_INLINE __m128i load(const unsigned char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* `x`, moved ahead by what the factors stand for, onto `next`. */
static PLUMB_ALWAYS_INLINE __m128i fold(__m128i x, __m128i factors, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(x, factors, 0x00);
    __m128i high = _mm_clmulepi64_si128(x, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static uint32_t reduce(__m128i x)
{
    const __m128i by_128 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i by_64 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
    x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by_128, 0x10));
    x = _mm_xor_si128(_mm_srli_si128(x, 4),
                      _mm_clmulepi64_si128(_mm_and_si128(x, low), by_64, 0x00));
    __m128i q = _mm_clmulepi64_si128(_mm_and_si128(x, low), polynomial, 0x10);
    x = _mm_xor_si128(x, _mm_clmulepi64_si128(_mm_and_si128(q, low), polynomial, 0x00));
    return (uint32_t)_mm_extract_epi32(x, 1);
}

uint32_t plumb_crc32_pclmul(uint32_t crc, const unsigned char *p, size_t n)
{
    const __m128i by_512 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_128 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));
    __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
        a = fold(a, by_512, load(p));
        b = fold(b, by_512, load(p + 16));
        c = fold(c, by_512, load(p + 32));
        d = fold(d, by_512, load(p + 48));
    }
    a = fold(fold(fold(a, by_128, b), by_128, c), by_128, d);
    for (; n >= 16; p += 16, n -= 16)
        a = fold(a, by_128, load(p));
    return reduce(a);
}
