/* peak_loops_avx512.c: 512-bit registers. See peak_loops.h. */
#include <immintrin.h>

#include "analyze/roofline/peak_loops_avx512.h"

#define START_F64(i) _mm512_set1_pd(i)
#define STEP_F64(v) _mm512_fmadd_pd(v, _mm512_set1_pd(0.5), _mm512_set1_pd(1))
LOOP(f64, "avx512f", __m512d, START_F64, STEP_F64, _mm512_add_pd)

#define START_F32(i) _mm512_set1_ps(i)
#define STEP_F32(v) _mm512_fmadd_ps(v, _mm512_set1_ps(0.5f), _mm512_set1_ps(1))
LOOP(f32, "avx512f", __m512, START_F32, STEP_F32, _mm512_add_ps)

#define STEP_BF16(v)                                                                               \
    _mm512_dpbf16_ps(v, (__m512bh)_mm512_set1_epi32(0x3e803e80),                                   \
                     (__m512bh)_mm512_set1_epi32(0x3f003f00))
LOOP(bf16, "avx512f,avx512bw,avx512vl,avx512bf16", __m512, START_F32, STEP_BF16, _mm512_add_ps)

#define START_I32(i) _mm512_set1_epi32(i)
#define STEP_INT8(v) _mm512_dpbusd_epi32(v, _mm512_set1_epi32(0x03050709), _mm512_set1_epi32(-2))
LOOP(int8, "avx512f,avx512bw,avx512vl,avx512vnni", __m512i, START_I32, STEP_INT8, _mm512_add_epi32)

static bool has(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool has_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16");
}

static bool has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static void read_sum(const double *from, size_t n, void *sink)
{
    __m512d s0 = _mm512_setzero_pd(), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < n; i += 32) {
        s0 = _mm512_add_pd(s0, _mm512_load_pd(from + i));
        s1 = _mm512_add_pd(s1, _mm512_load_pd(from + i + 8));
        s2 = _mm512_add_pd(s2, _mm512_load_pd(from + i + 16));
        s3 = _mm512_add_pd(s3, _mm512_load_pd(from + i + 24));
    }
    _mm512_storeu_pd(sink, _mm512_add_pd(_mm512_add_pd(s0, s1), _mm512_add_pd(s2, s3)));
}

/* Stores past the caches: a plain store would first read the line that it overwrites. */
static void triad(double *a, const double *b, const double *c, size_t n)
{
    __m512d s = _mm512_set1_pd(0.5);
    for (size_t i = 0; i < n; i += 8)
        _mm512_stream_pd(a + i, _mm512_fmadd_pd(s, _mm512_load_pd(c + i), _mm512_load_pd(b + i)));
    _mm_sfence();
}

static const struct plumb_peak_loop loops[] = {
    {"avx512 fma", PLUMB_PEAK_F64, 2.0 * 8 * PLUMB_PEAK_CHAINS, f64, NULL},
    {"avx512 fma", PLUMB_PEAK_F32, 2.0 * 16 * PLUMB_PEAK_CHAINS, f32, NULL},
    {"avx512-bf16", PLUMB_PEAK_BF16, 2.0 * 32 * PLUMB_PEAK_CHAINS, bf16, has_bf16},
    {"avx512-fp16", PLUMB_PEAK_F16, 2.0 * 32 * PLUMB_PEAK_CHAINS, plumb_peak_f16_avx512,
     plumb_peak_has_f16_avx512},
    {"avx512-vnni", PLUMB_PEAK_INT8, 2.0 * 64 * PLUMB_PEAK_CHAINS, int8, has_vnni},
    {NULL, PLUMB_PEAK_TYPES, 0, NULL, NULL},
};
const struct plumb_peak_table plumb_peak_avx512 = {has, loops, read_sum, triad};
