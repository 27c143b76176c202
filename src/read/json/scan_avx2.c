/* scan_avx2.c: the scan for processors with AVX2, 32 bytes at a time. */
#include <immintrin.h>

#include "base/atomic.h"
#include "read/json/scan_parts.h"

static PLUMB_ALWAYS_INLINE __m256i load(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static PLUMB_ALWAYS_INLINE uint32_t equal(__m256i v, char c)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(c)));
}

static PLUMB_ALWAYS_INLINE const char *string_end(const char *p, bool *high)
{
    for (;; p += 32) {
        __m256i v = load(p);
        __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v);
        uint32_t ends = (uint32_t)_mm256_movemask_epi8(control) | equal(v, '"') | equal(v, '\\');
        uint32_t outside = (uint32_t)_mm256_movemask_epi8(v);
        if (PLUMB_LIKELY(ends)) {
            unsigned at = (unsigned)__builtin_ctz(ends);
            *high |= (outside & ((UINT32_C(1) << at) - 1)) != 0;
            return p + at;
        }
        *high |= outside != 0;
    }
}

static PLUMB_ALWAYS_INLINE const char *blanks_end(const char *p, char newline)
{
    for (;; p += 32) {
        __m256i v = load(p);
        uint32_t others = ~(equal(v, ' ') | equal(v, newline) | equal(v, '\t') | equal(v, '\r'));
        if (PLUMB_LIKELY(others))
            return p + __builtin_ctz(others);
    }
}

static PLUMB_ALWAYS_INLINE bool spelled_here(const struct plumb_json_slot *slot, const char *p)
{
    __m256i same = _mm256_cmpeq_epi8(load(slot->spelled), load(p));
    return slot->mask && ((uint32_t)_mm256_movemask_epi8(same) & slot->mask) == slot->mask;
}

#define NEXT plumb_json_next_avx2
#include "read/json/scan_body.h"
