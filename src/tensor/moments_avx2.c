/* moments_avx2.c: eight floats at a time. See moments_vectors.h. */
#include <immintrin.h>
#include <stdint.h>

enum { FLOATS = 8 };
typedef __m256 vec;
typedef __m256d wide;
typedef __m256i tally;
struct octet {
    vec a, b, c, d, e, f, g, h;
};

#define V_REGISTER(v) "+x"(v)
#define v_set(x) _mm256_set1_ps(x)
#define v_add(a, b) _mm256_add_ps(a, b)
#define v_sub(a, b) _mm256_sub_ps(a, b)
#define v_mul(a, b) _mm256_mul_ps(a, b)
#define v_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define v_min(a, b) _mm256_min_ps(a, b)
#define v_max(a, b) _mm256_max_ps(a, b)
#define v_abs(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define v_magnitudes(a, b) v_add(v_abs(a), v_abs(b))
#define w_zero() _mm256_setzero_pd()
#define t_zero() _mm256_setzero_si256()

static inline float v_least(vec v)
{
    __m128 x = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_min_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_min_ss(x, _mm_movehdup_ps(x)));
}

static inline float v_most(vec v)
{
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

static inline wide w_add(wide w, vec v)
{
    return _mm256_add_pd(w, _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(v)),
                                          _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))));
}

static inline double w_sum(wide w)
{
    __m128d x = _mm_add_pd(_mm256_castpd256_pd128(w), _mm256_extractf128_pd(w, 1));
    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
}

static inline tally t_zeros(tally t, vec v)
{
    return _mm256_sub_epi32(t,
                            _mm256_castps_si256(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ)));
}

static inline uint64_t t_sum(tally t)
{
    uint32_t count[FLOATS];
    uint64_t sum = 0;
    _mm256_storeu_si256((__m256i *)(void *)count, t);
    for (int i = 0; i < FLOATS; i++)
        sum += count[i];
    return sum;
}

#define EIGHT(op) ((struct octet){op(0), op(1), op(2), op(3), op(4), op(5), op(6), op(7)})

static inline struct octet load_f32(const unsigned char *at)
{
#define PLAIN(i) _mm256_loadu_ps((const float *)(const void *)(at + 32 * (i)))
    return EIGHT(PLAIN);
}

static inline struct octet load_f16(const unsigned char *at)
{
#define WIDENED(i) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at + 16 * (i))))
    return EIGHT(WIDENED);
}

static inline __m256i sixteen(const unsigned char *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static inline vec even(__m256i v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}

static inline vec odd(__m256i v)
{
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000u)));
}

/* Even and odd values apart: order means nothing here. */
static inline struct octet load_bf16(const unsigned char *at)
{
    __m256i a = sixteen(at), b = sixteen(at + 32), c = sixteen(at + 64), d = sixteen(at + 96);
    return (struct octet){even(a), odd(a), even(b), odd(b), even(c), odd(c), even(d), odd(d)};
}

#include "tensor/moments_vectors.h"

const struct plumb_moments_kernels plumb_moments_avx2 = {"avx2", VECTOR_TABLE(f32),
                                                         VECTOR_TABLE(f16), VECTOR_TABLE(bf16)};
