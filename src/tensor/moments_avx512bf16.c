/* moments_avx512bf16.c: sums of bfloat16 by dot products with ones: 32 values an instruction, where
 * widening them takes four. AMD's processors gain by it; on Intel's a dot product is slower than
 * what it replaces, and moments.c prefers the other kernel.
 *
 * A dot product rounds twice. DEPTH of them, the first of which rounds once, and the tree that
 * joins the four sums of a group, make 15 roundings. It takes subnormal numbers for 0, so a sum
 * that these could matter to is found again by widening. */
#include <immintrin.h>

#include "tensor/moments.h"
#include "tensor/small_float.h"

enum { LINES = 4, GROUP = 32 * LINES, DEPTH = 7, AHEAD_BYTES = 4096 };

/* The sum of subnormal numbers is at most a few times 2^-126 a value. */
#define SMALLEST_MEAN 0x1p-100

/* One sum for each line of a group; apart, because a dot product takes six cycles. */
struct dots {
    __m512 a, b, c, d;
};

static inline __m512i line_of(const unsigned char *group, int line)
{
    _mm_prefetch((const char *)group + AHEAD_BYTES + 64 * line, _MM_HINT_T1);
    return _mm512_loadu_si512(group + 64 * line);
}

static inline void add_line(__m512 *sum, __m512 *abs_sum, __m512i v)
{
    const __m512bh ones = (__m512bh)_mm512_set1_epi16(0x3f80);
    __m512i magnitudes = _mm512_and_si512(v, _mm512_set1_epi16(0x7fff));
    *sum = _mm512_dpbf16_ps(*sum, (__m512bh)v, ones);
    *abs_sum = _mm512_dpbf16_ps(*abs_sum, (__m512bh)magnitudes, ones);
}

static inline __m512d carry_on(__m512d to, const struct dots *d)
{
    __m512 x = _mm512_add_ps(_mm512_add_ps(d->a, d->b), _mm512_add_ps(d->c, d->d));
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    return _mm512_add_pd(to, _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))));
}

static void add_rest(struct plumb_moments *out, const unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, at + 2 * i, sizeof bits);
        double x = plumb_from_bf16(bits);
        out->sum += x;
        out->abs_sum += x < 0 ? -x : x;
    }
}

void plumb_moments_bf16_dot(struct plumb_moments *out, const void *values, size_t n, float pivot)
{
    const unsigned char *at = values;
    const __m512 zero = _mm512_setzero_ps();
    __m512d sum = _mm512_setzero_pd(), abs_sum = _mm512_setzero_pd();
    for (size_t left = n / GROUP; left > 0;) {
        size_t some = left < DEPTH ? left : DEPTH;
        struct dots sums = {zero, zero, zero, zero}, abs_sums = sums;
        left -= some;
        for (; some > 0; some--, at += 64 * LINES) {
            add_line(&sums.a, &abs_sums.a, line_of(at, 0));
            add_line(&sums.b, &abs_sums.b, line_of(at, 1));
            add_line(&sums.c, &abs_sums.c, line_of(at, 2));
            add_line(&sums.d, &abs_sums.d, line_of(at, 3));
        }
        sum = carry_on(sum, &sums);
        abs_sum = carry_on(abs_sum, &abs_sums);
    }
    *out = (struct plumb_moments){.sum = _mm512_reduce_add_pd(sum),
                                  .abs_sum = _mm512_reduce_add_pd(abs_sum)};
    add_rest(out, at, n % GROUP);
    if (out->abs_sum < (double)n * SMALLEST_MEAN)
        plumb_moments_avx512.bf16[0](out, values, n, pivot);
}
