/* match_avx512.c: match_body.h by 64 bytes at a time. */
#include <immintrin.h>

#include "base/atomic.h"
#include "codec/gz/parts.h"

static PLUMB_ALWAYS_INLINE uint32_t equal_bytes(const unsigned char *p, const unsigned char *q,
                                                size_t most)
{
    size_t n = 0;
    do {
        uint64_t differ =
            _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(p + n), _mm512_loadu_si512(q + n));
        if (differ) {
            n += (size_t)__builtin_ctzll(differ);
            break;
        }
        n += 64;
    } while (n < most);
    return (uint32_t)(n < most ? n : most);
}

static PLUMB_ALWAYS_INLINE size_t number_bytes(const unsigned char *p)
{
    for (size_t n = 0;; n += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + n));
        uint32_t other = _mm256_cmpgt_epu8_mask(_mm256_sub_epi8(v, _mm256_set1_epi8('.')),
                                                _mm256_set1_epi8('9' - '.'));
        if (other)
            return n + (size_t)__builtin_ctz(other);
    }
}

static PLUMB_ALWAYS_INLINE size_t line_bytes(const unsigned char *p, size_t most)
{
    const __m512i newline = _mm512_set1_epi8('\n');
    for (size_t n = 0; n < most; n += 64) {
        uint64_t found = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p + n), newline);
        if (found) {
            n += (size_t)__builtin_ctzll(found) + 1;
            return n < most ? n : most;
        }
    }
    return most;
}

#define plumb_gz_match_by plumb_gz_match_avx512
#include "codec/gz/match_body.h"
