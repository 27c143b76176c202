/* line.h: sums over a cache line of 16 histogram counts. Vectors where the compiler's baseline has
 * them: at -O2 it makes none by itself here, and a summary adds up tens of lines a node. */
#ifndef PLUMB_BASE_LINE_H
#define PLUMB_BASE_LINE_H

#include <stdint.h>

#include "base/atomic.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { PLUMB_LINE_COUNTS = 16 };

/* The sum of `lines` lines that follow each other; modulo 2^32. */
static inline PLUMB_RACY uint32_t plumb_lines_sum(const uint32_t *counts, uint32_t lines)
{
#if defined(__SSE2__)
    const __m128i *at = (const __m128i *)(const void *)counts;
    __m128i a = _mm_setzero_si128(), b = a;
    for (; lines; lines--, at += 4) {
        a = _mm_add_epi32(a, _mm_add_epi32(_mm_loadu_si128(at), _mm_loadu_si128(at + 1)));
        b = _mm_add_epi32(b, _mm_add_epi32(_mm_loadu_si128(at + 2), _mm_loadu_si128(at + 3)));
    }
    a = _mm_add_epi32(a, b);
    a = _mm_add_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2)));
    a = _mm_add_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(a);
#else
    uint32_t sum = 0;
    for (uint32_t i = 0; i < lines * PLUMB_LINE_COUNTS; i++)
        sum += counts[i];
    return sum;
#endif
}

/* The same where 32 bits may be too few. */
static inline PLUMB_RACY uint64_t plumb_lines_sum_wide(const uint32_t *counts, uint32_t lines)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lines * PLUMB_LINE_COUNTS; i++)
        sum += counts[i];
    return sum;
}

/* Reads a line that another thread may be changing. */
static inline PLUMB_RACY void plumb_read_line(uint32_t to[PLUMB_LINE_COUNTS],
                                              const uint32_t from[PLUMB_LINE_COUNTS])
{
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
    for (int i = 0; i < PLUMB_LINE_COUNTS; i += 4)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
#else
    for (int i = 0; i < PLUMB_LINE_COUNTS; i++)
        to[i] = PLUMB_LOAD(from[i]);
#endif
}

static inline void plumb_line_add(uint64_t to[PLUMB_LINE_COUNTS],
                                  const uint32_t from[PLUMB_LINE_COUNTS])
{
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    for (int i = 0; i < PLUMB_LINE_COUNTS; i += 4) {
        __m128i four = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        __m128i *low = (__m128i *)(void *)(to + i), *high = low + 1;
        _mm_storeu_si128(low, _mm_add_epi64(_mm_loadu_si128(low), _mm_unpacklo_epi32(four, zero)));
        _mm_storeu_si128(high,
                         _mm_add_epi64(_mm_loadu_si128(high), _mm_unpackhi_epi32(four, zero)));
    }
#else
    for (int i = 0; i < PLUMB_LINE_COUNTS; i++)
        to[i] += from[i];
#endif
}

#endif
