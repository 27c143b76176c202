/* line.h: sums over a cache line of 16 histogram counts. Vectors where the compiler's baseline has
 * them: at -O2 it makes none by itself here, and a summary adds up tens of lines a node. */
#ifndef PLUMB_BASE_STATS_LINE_H
#define PLUMB_BASE_STATS_LINE_H

#include <stdint.h>

#include "base/atomic.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { PLUMB_LINE_COUNTS = 16, PLUMB_LINE_SUMS = 4 };

/* Sums up each of PLUMB_LINE_SUMS consecutive lines; modulo 2^32. */
static inline void plumb_line_sums(uint32_t out[PLUMB_LINE_SUMS], const uint32_t *counts)
{
#if defined(__SSE2__)
    __m128i line[PLUMB_LINE_SUMS], even, odd;
    for (int l = 0; l < PLUMB_LINE_SUMS; l++, counts += PLUMB_LINE_COUNTS) {
        const __m128i *at = (const __m128i *)(const void *)counts;
        line[l] = _mm_add_epi32(_mm_add_epi32(_mm_loadu_si128(at), _mm_loadu_si128(at + 1)),
                                _mm_add_epi32(_mm_loadu_si128(at + 2), _mm_loadu_si128(at + 3)));
    }
    even =
        _mm_add_epi32(_mm_unpacklo_epi32(line[0], line[1]), _mm_unpackhi_epi32(line[0], line[1]));
    odd = _mm_add_epi32(_mm_unpacklo_epi32(line[2], line[3]), _mm_unpackhi_epi32(line[2], line[3]));
    even = _mm_add_epi32(_mm_unpacklo_epi64(even, odd), _mm_unpackhi_epi64(even, odd));
    _mm_storeu_si128((__m128i *)(void *)out, even);
#else
    for (uint32_t l = 0; l < PLUMB_LINE_SUMS; l++, counts += PLUMB_LINE_COUNTS) {
        out[l] = 0;
        for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
            out[l] += counts[i];
    }
#endif
}

/* Returns how many of the first counts of a line have a sum below `rank`; all 16 together reach
 * `rank`. All of them fit into 31 bits. */
static inline uint32_t plumb_line_place(const uint32_t *counts, uint32_t rank)
{
#if defined(__SSE2__)
    const __m128i *at = (const __m128i *)(const void *)counts;
    __m128i want = _mm_set1_epi32((int)rank), before = _mm_setzero_si128(), below = before;
    for (int i = 0; i < 4; i++) {
        __m128i sum = _mm_loadu_si128(at + i);
        sum = _mm_add_epi32(sum, _mm_slli_si128(sum, 4));
        sum = _mm_add_epi32(_mm_add_epi32(sum, _mm_slli_si128(sum, 8)), before);
        before = _mm_shuffle_epi32(sum, _MM_SHUFFLE(3, 3, 3, 3));
        below = _mm_sub_epi32(below, _mm_cmpgt_epi32(want, sum));
    }
    below = _mm_add_epi32(below, _mm_shuffle_epi32(below, _MM_SHUFFLE(1, 0, 3, 2)));
    below = _mm_add_epi32(below, _mm_shuffle_epi32(below, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(below);
#else
    uint32_t sum = 0, place = 0;
    for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++) {
        sum += counts[i];
        place += rank > sum;
    }
    return place;
#endif
}

/* Adds a line to `to`; modulo 2^32. */
static inline void plumb_line_add(uint32_t *to, const uint32_t *counts)
{
#if defined(__SSE2__)
    __m128i *out = (__m128i *)(void *)to;
    const __m128i *a = (const __m128i *)(const void *)counts;
    for (int i = 0; i < 4; i++)
        _mm_storeu_si128(out + i, _mm_add_epi32(_mm_loadu_si128(out + i), _mm_loadu_si128(a + i)));
#else
    for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
        to[i] += counts[i];
#endif
}

/* The same where 32 bits may be too few. */
static inline void plumb_line_add_wide(uint64_t *to, const uint32_t *counts)
{
    for (uint32_t i = 0; i < PLUMB_LINE_COUNTS; i++)
        to[i] += counts[i];
}

#endif
