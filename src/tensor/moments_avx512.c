/* moments_avx512.c: sixteen floats at a time. See moments_vectors.h. */
#include <immintrin.h>
#include <stdint.h>

enum { FLOATS = 16 };
typedef __m512 vec;
typedef __m512d wide;
typedef __m512i tally;
struct octet {
    vec a, b, c, d, e, f, g, h;
};

#define V_REGISTER(v) "+v"(v)
#define v_set(x) _mm512_set1_ps(x)
#define v_add(a, b) _mm512_add_ps(a, b)
#define v_sub(a, b) _mm512_sub_ps(a, b)
#define v_mul(a, b) _mm512_mul_ps(a, b)
#define v_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define v_min(a, b) _mm512_min_ps(a, b)
#define v_max(a, b) _mm512_max_ps(a, b)
#define v_least(v) _mm512_reduce_min_ps(v)
#define v_most(v) _mm512_reduce_max_ps(v)
#define w_zero() _mm512_setzero_pd()
#define w_sum(w) _mm512_reduce_add_pd(w)
#define t_zero() _mm512_setzero_si512()

/* The greater magnitude of a + b and a - b: one instruction less than two magnitudes and their sum,
 * since a + b is there anyway. */
static inline vec v_magnitudes(vec a, vec b)
{
    enum { GREATER_MAGNITUDE = 3, SIGN_CLEARED = 2 << 2 };
    return _mm512_range_ps(v_add(a, b), v_sub(a, b), GREATER_MAGNITUDE | SIGN_CLEARED);
}

static inline wide w_add(wide w, vec v)
{
    return _mm512_add_pd(w, _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(v)),
                                          _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))));
}

static inline tally t_zeros(tally t, vec v)
{
    return _mm512_mask_sub_epi32(t, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_EQ_OQ), t,
                                 _mm512_set1_epi32(-1));
}

static inline uint64_t t_sum(tally t)
{
    return (uint64_t)(uint32_t)_mm512_reduce_add_epi32(t);
}

#define EIGHT(op) ((struct octet){op(0), op(1), op(2), op(3), op(4), op(5), op(6), op(7)})

static inline struct octet load_f32(const unsigned char *at)
{
#define PLAIN(i) _mm512_loadu_ps(at + 64 * (i))
    return EIGHT(PLAIN);
}

static inline struct octet load_f16(const unsigned char *at)
{
#define WIDENED(i)                                                                                 \
    _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(at + 32 * (i))))
    return EIGHT(WIDENED);
}

static inline vec even(__m512i v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

static inline vec odd(__m512i v)
{
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000u)));
}

/* Even and odd values apart: order means nothing here. */
static inline struct octet load_bf16(const unsigned char *at)
{
    __m512i a = _mm512_loadu_si512(at), b = _mm512_loadu_si512(at + 64);
    __m512i c = _mm512_loadu_si512(at + 128), d = _mm512_loadu_si512(at + 192);
    return (struct octet){even(a), odd(a), even(b), odd(b), even(c), odd(c), even(d), odd(d)};
}

#include "tensor/moments_vectors.h"

const struct plumb_moments_kernels plumb_moments_avx512 = {"avx512", VECTOR_TABLE(f32),
                                                           VECTOR_TABLE(f16), VECTOR_TABLE(bf16)};

const struct plumb_moments_kernels plumb_moments_avx512bf16 = {
    "avx512bf16", VECTOR_TABLE(f32), VECTOR_TABLE(f16),
    VECTOR_TABLE_WITH(bf16, plumb_moments_bf16_dot)};
