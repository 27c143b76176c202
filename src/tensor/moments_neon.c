/* moments_neon.c: four floats at a time. See moments_vectors.h. */
#include <arm_neon.h>
#include <stdint.h>

enum { FLOATS = 4 };
typedef float32x4_t vec;
typedef float64x2_t wide;
typedef uint32x4_t tally;
struct octet {
    vec a, b, c, d, e, f, g, h;
};

#define V_REGISTER(v) "+w"(v)
#define v_set(x) vdupq_n_f32(x)
#define v_add(a, b) vaddq_f32(a, b)
#define v_sub(a, b) vsubq_f32(a, b)
#define v_mul(a, b) vmulq_f32(a, b)
#define v_fma(a, b, c) vfmaq_f32(c, a, b)
#define v_min(a, b) vminq_f32(a, b)
#define v_max(a, b) vmaxq_f32(a, b)
#define v_abs(a) vabsq_f32(a)
#define v_magnitudes(a, b) v_add(v_abs(a), v_abs(b))
#define v_least(v) vminvq_f32(v)
#define v_most(v) vmaxvq_f32(v)
#define w_zero() vdupq_n_f64(0)
#define w_sum(w) vaddvq_f64(w)
#define t_zero() vdupq_n_u32(0)
#define t_zeros(t, v) vsubq_u32(t, vceqzq_f32(v))
#define t_sum(t) ((uint64_t)vaddvq_u32(t))

static inline wide w_add(wide w, vec v)
{
    return vaddq_f64(w, vaddq_f64(vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v)));
}

static inline uint16x8_t eight(const unsigned char *at)
{
    return vreinterpretq_u16_u8(vld1q_u8(at));
}

static inline struct octet load_f32(const unsigned char *at)
{
#define PLAIN(i) vreinterpretq_f32_u8(vld1q_u8(at + 16 * (i)))
    return (struct octet){PLAIN(0), PLAIN(1), PLAIN(2), PLAIN(3),
                          PLAIN(4), PLAIN(5), PLAIN(6), PLAIN(7)};
}

static inline vec low_f16(uint16x8_t v)
{
    return vcvt_f32_f16(vget_low_f16(vreinterpretq_f16_u16(v)));
}

static inline vec high_f16(uint16x8_t v)
{
    return vcvt_high_f32_f16(vreinterpretq_f16_u16(v));
}

static inline vec low_bf16(uint16x8_t v)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16));
}

static inline vec high_bf16(uint16x8_t v)
{
    return vreinterpretq_f32_u32(vshll_high_n_u16(v, 16));
}

static inline struct octet load_f16(const unsigned char *at)
{
    uint16x8_t a = eight(at), b = eight(at + 16), c = eight(at + 32), d = eight(at + 48);
    return (struct octet){low_f16(a), high_f16(a), low_f16(b), high_f16(b),
                          low_f16(c), high_f16(c), low_f16(d), high_f16(d)};
}

static inline struct octet load_bf16(const unsigned char *at)
{
    uint16x8_t a = eight(at), b = eight(at + 16), c = eight(at + 32), d = eight(at + 48);
    return (struct octet){low_bf16(a), high_bf16(a), low_bf16(b), high_bf16(b),
                          low_bf16(c), high_bf16(c), low_bf16(d), high_bf16(d)};
}

#include "tensor/moments_vectors.h"

const struct plumb_moments_kernels plumb_moments_neon = {"neon", VECTOR_TABLE(f32),
                                                         VECTOR_TABLE(f16), VECTOR_TABLE(bf16)};
