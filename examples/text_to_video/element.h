/* The element types that tensors have, and the way between each and float. Pure; any thread.
 *
 * Rounding is to nearest, ties to even, as processors do it; NaN stays NaN, and what is too large
 * becomes infinite. */
#ifndef TEXT_TO_VIDEO_ELEMENT_H
#define TEXT_TO_VIDEO_ELEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum element { ELEMENT_F32, ELEMENT_BF16, ELEMENT_F16 };

static inline size_t element_bytes(enum element type)
{
    return type == ELEMENT_F32 ? sizeof(float) : sizeof(uint16_t);
}

static inline uint32_t element_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float element_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint16_t element_to_bf16(float value)
{
    uint32_t bits = element_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float element_from_bf16(uint16_t value)
{
    return element_of_bits((uint32_t)value << 16);
}

static inline uint16_t element_to_f16(float value)
{
    uint32_t bits = element_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;

    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (bits >= 0x47800000u) /* 2^16 */
        return (uint16_t)(sign | 0x7c00u);
    if (bits < 0x38800000u) /* 2^-14: steps of 2^-24, which are those of floats near 0.5 */
        return (uint16_t)(sign | (element_bits(element_of_bits(bits) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | ((bits - 0x38000000u + 0xfff + (bits >> 13 & 1)) >> 13));
}

static inline float element_from_f16(uint16_t value)
{
    uint32_t sign = (uint32_t)(value & 0x8000u) << 16;
    uint32_t rest = (uint32_t)(value & 0x7fffu) << 13;

    if (rest >= 0x0f800000u) /* infinite, NaN */
        return element_of_bits(sign | 0x70000000u | rest);
    if (rest >= 0x00800000u)
        return element_of_bits(sign | (rest + 0x38000000u));
    return (sign ? -1.0f : 1.0f) * (float)(value & 0x3ffu) * 0x1p-24f;
}

/* Element `i` of an array. */
static inline float element_get(enum element type, const void *data, int64_t i)
{
    if (type == ELEMENT_F32)
        return ((const float *)data)[i];
    return type == ELEMENT_BF16 ? element_from_bf16(((const uint16_t *)data)[i])
                                : element_from_f16(((const uint16_t *)data)[i]);
}

static inline void element_put(enum element type, void *data, int64_t i, float value)
{
    if (type == ELEMENT_F32)
        ((float *)data)[i] = value;
    else
        ((uint16_t *)data)[i] =
            type == ELEMENT_BF16 ? element_to_bf16(value) : element_to_f16(value);
}

#endif
