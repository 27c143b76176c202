/* match.c: match_body.h in registers that every processor has, and the choice. */
#include <stddef.h>
#include <string.h>

#include "codec/gz/parts.h"
#include "codec/varint.h"

static PLUMB_ALWAYS_INLINE uint32_t equal_bytes(const unsigned char *p, const unsigned char *q,
                                                size_t most)
{
    uint32_t n = 0;
    for (; n + 8 <= most; n += 8) {
        uint64_t differ = plumb_load_le64(p + n) ^ plumb_load_le64(q + n);
        if (differ)
            return n + ((uint32_t)__builtin_ctzll(differ) >> 3);
    }
    while (n < most && p[n] == q[n])
        n++;
    return n;
}

/* Bytes '.', '/' and '0' to '9' from p on. */
static PLUMB_ALWAYS_INLINE size_t number_bytes(const unsigned char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (size_t n = 0;; n += 8) {
        uint64_t v = plumb_load_le64(p + n);
        uint64_t other = ((v + ones * 0x46) | ~(v + ones * 0x52) | v) & ones << 7;
        if (other)
            return n + ((size_t)__builtin_ctzll(other) >> 3);
    }
}

static PLUMB_ALWAYS_INLINE size_t line_bytes(const unsigned char *p, size_t most)
{
    const unsigned char *end = memchr(p, '\n', most);
    return end ? (size_t)(end - p) + 1 : most;
}

#define plumb_gz_match_by plumb_gz_match_scalar
#include "codec/gz/match_body.h"

plumb_gz_match_fn *plumb_gz_match_pick(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init(); /* the compiler's own constructor may be yet to run */
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return plumb_gz_match_avx512;
    if (__builtin_cpu_supports("avx2"))
        return plumb_gz_match_avx2;
#endif
    return plumb_gz_match_scalar;
}
