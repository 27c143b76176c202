/* peak_loops_avx2.c: 256-bit registers. See peak_loops.h. */
#include <cpuid.h>
#include <immintrin.h>

#include "analyze/roofline/peak_loops.h"

#define START(i) v##i = _mm256_set1_pd(i);
#define MULTIPLY_ADD(i) v##i = _mm256_fmadd_pd(v##i, half, one);
#define ADD(i) sum = _mm256_add_pd(sum, v##i);
static void f64(uint64_t rounds, void *sink)
{
    __m256d half = _mm256_set1_pd(0.5), one = _mm256_set1_pd(1), sum = one;
    __m256d v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
    PLUMB_PEAK_EACH(START)
    for (; rounds; rounds--) {
        PLUMB_PEAK_EACH(MULTIPLY_ADD)
    }
    PLUMB_PEAK_EACH(ADD)
    _mm256_storeu_pd(sink, sum);
}
#undef START
#undef MULTIPLY_ADD
#undef ADD

#define START(i) v##i = _mm256_set1_ps(i);
#define MULTIPLY_ADD(i) v##i = _mm256_fmadd_ps(v##i, half, one);
#define ADD(i) sum = _mm256_add_ps(sum, v##i);
static void f32(uint64_t rounds, void *sink)
{
    __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1), sum = one;
    __m256 v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
    PLUMB_PEAK_EACH(START)
    for (; rounds; rounds--) {
        PLUMB_PEAK_EACH(MULTIPLY_ADD)
    }
    PLUMB_PEAK_EACH(ADD)
    _mm256_storeu_ps(sink, sum);
}
#undef START
#undef MULTIPLY_ADD
#undef ADD

#define START(i) v##i = _mm256_set1_epi32(i);
#define MULTIPLY_ADD(i) v##i = _mm256_dpbusd_avx_epi32(v##i, a, b);
#define ADD(i) sum = _mm256_add_epi32(sum, v##i);
__attribute__((target("avx2,avxvnni"))) static void int8(uint64_t rounds, void *sink)
{
    __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-5), sum = a;
    __m256i v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
    PLUMB_PEAK_EACH(START)
    for (; rounds; rounds--) {
        PLUMB_PEAK_EACH(MULTIPLY_ADD)
    }
    PLUMB_PEAK_EACH(ADD)
    _mm256_storeu_si256(sink, sum);
}

/* clang 14 and gcc 12 do not know the name of this feature. */
static bool has_vnni(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
}

static bool has(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static void read_sum(const double *from, size_t n, void *sink)
{
    __m256d s0 = _mm256_setzero_pd(), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < n; i += 16) {
        s0 = _mm256_add_pd(s0, _mm256_load_pd(from + i));
        s1 = _mm256_add_pd(s1, _mm256_load_pd(from + i + 4));
        s2 = _mm256_add_pd(s2, _mm256_load_pd(from + i + 8));
        s3 = _mm256_add_pd(s3, _mm256_load_pd(from + i + 12));
    }
    _mm256_storeu_pd(sink, _mm256_add_pd(_mm256_add_pd(s0, s1), _mm256_add_pd(s2, s3)));
}

/* Stores past the caches: a plain store would first read the line that it overwrites. */
static void triad(double *a, const double *b, const double *c, size_t n)
{
    __m256d s = _mm256_set1_pd(0.5);
    for (size_t i = 0; i < n; i += 4)
        _mm256_stream_pd(a + i, _mm256_fmadd_pd(s, _mm256_load_pd(c + i), _mm256_load_pd(b + i)));
    _mm_sfence();
}

static const struct plumb_peak_loop loops[] = {
    {"avx2 fma", PLUMB_PEAK_F64, 2.0 * 4 * PLUMB_PEAK_CHAINS, f64, NULL},
    {"avx2 fma", PLUMB_PEAK_F32, 2.0 * 8 * PLUMB_PEAK_CHAINS, f32, NULL},
    {"avx-vnni", PLUMB_PEAK_INT8, 2.0 * 32 * PLUMB_PEAK_CHAINS, int8, has_vnni},
    {NULL, PLUMB_PEAK_TYPES, 0, NULL, NULL},
};
const struct plumb_peak_table plumb_peak_avx2 = {has, loops, read_sum, triad};
