/* match_avx2.c: match_body.h by 32 bytes at a time. */
#include <immintrin.h>
#include <string.h>

#include "base/atomic.h"
#include "codec/gz/parts.h"

static PLUMB_ALWAYS_INLINE __m256i load(const unsigned char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static PLUMB_ALWAYS_INLINE uint32_t equal_bytes(const unsigned char *p, const unsigned char *q,
                                                size_t most)
{
    size_t n = 0;
    do {
        uint32_t equal =
            (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(p + n), load(q + n)));
        if (~equal) {
            n += (size_t)__builtin_ctz(~equal);
            break;
        }
        n += 32;
    } while (n < most);
    return (uint32_t)(n < most ? n : most);
}

static PLUMB_ALWAYS_INLINE size_t number_bytes(const unsigned char *p)
{
    for (size_t n = 0;; n += 32) {
        __m256i above = _mm256_sub_epi8(load(p + n), _mm256_set1_epi8('.'));
        __m256i inside =
            _mm256_cmpeq_epi8(_mm256_min_epu8(above, _mm256_set1_epi8('9' - '.')), above);
        uint32_t other = ~(uint32_t)_mm256_movemask_epi8(inside);
        if (other)
            return n + (size_t)__builtin_ctz(other);
    }
}

static PLUMB_ALWAYS_INLINE size_t line_bytes(const unsigned char *p, size_t most)
{
    const unsigned char *end = memchr(p, '\n', most);
    return end ? (size_t)(end - p) + 1 : most;
}

#define plumb_gz_match_by plumb_gz_match_avx2
#include "codec/gz/match_body.h"
