/* peak_loops_neon.c: 128-bit registers of every 64-bit ARM processor. See peak_loops.h. The
 * optional instructions for f16, bf16 and int8 are not measured: these types are absent. */
#include <arm_neon.h>

#include "analyze/roofline/peak_loops.h"

/* The instruction adds to its destination, so a chain must accumulate: x + 0.5 * 1. */
#define START(i) v##i = vdupq_n_f64(i);
#define MULTIPLY_ADD(i) v##i = vfmaq_f64(v##i, half, one);
#define ADD(i) sum = vaddq_f64(sum, v##i);
static void f64(uint64_t rounds, void *sink)
{
    float64x2_t half = vdupq_n_f64(0.5), one = vdupq_n_f64(1), sum = one;
    float64x2_t v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
    PLUMB_PEAK_EACH(START)
    for (; rounds; rounds--) {
        PLUMB_PEAK_EACH(MULTIPLY_ADD)
    }
    PLUMB_PEAK_EACH(ADD)
    vst1q_f64(sink, sum);
}
#undef START
#undef MULTIPLY_ADD
#undef ADD

#define START(i) v##i = vdupq_n_f32(i);
#define MULTIPLY_ADD(i) v##i = vfmaq_f32(v##i, half, one);
#define ADD(i) sum = vaddq_f32(sum, v##i);
static void f32(uint64_t rounds, void *sink)
{
    float32x4_t half = vdupq_n_f32(0.5f), one = vdupq_n_f32(1), sum = one;
    float32x4_t v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
    PLUMB_PEAK_EACH(START)
    for (; rounds; rounds--) {
        PLUMB_PEAK_EACH(MULTIPLY_ADD)
    }
    PLUMB_PEAK_EACH(ADD)
    vst1q_f32(sink, sum);
}

static void read_sum(const double *from, size_t n, void *sink)
{
    float64x2_t s0 = vdupq_n_f64(0), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < n; i += 8) {
        s0 = vaddq_f64(s0, vld1q_f64(from + i));
        s1 = vaddq_f64(s1, vld1q_f64(from + i + 2));
        s2 = vaddq_f64(s2, vld1q_f64(from + i + 4));
        s3 = vaddq_f64(s3, vld1q_f64(from + i + 6));
    }
    vst1q_f64(sink, vaddq_f64(vaddq_f64(s0, s1), vaddq_f64(s2, s3)));
}

static void triad(double *a, const double *b, const double *c, size_t n)
{
    float64x2_t s = vdupq_n_f64(0.5);
    for (size_t i = 0; i < n; i += 2)
        vst1q_f64(a + i, vfmaq_f64(vld1q_f64(b + i), s, vld1q_f64(c + i)));
}

static const struct plumb_peak_loop loops[] = {
    {"neon fma", PLUMB_PEAK_F64, 2.0 * 2 * PLUMB_PEAK_CHAINS, f64, NULL},
    {"neon fma", PLUMB_PEAK_F32, 2.0 * 4 * PLUMB_PEAK_CHAINS, f32, NULL},
    {NULL, PLUMB_PEAK_TYPES, 0, NULL, NULL},
};
const struct plumb_peak_table plumb_peak_neon = {NULL, loops, read_sum, triad};
