/* small_float.h: floats of less than 32 bits, and integers' kin, as double. Exact. Pure. */
#ifndef PLUMB_TENSOR_SMALL_FLOAT_H
#define PLUMB_TENSOR_SMALL_FLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double plumb_power_of_2(int exponent)
{
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* All values but those that are not finite. */
static inline double plumb_small_float(uint32_t v, int exponent_bits, int mantissa_bits)
{
    int exponent = (int)(v >> mantissa_bits & ((1u << exponent_bits) - 1));
    uint32_t mantissa = v & ((1u << mantissa_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent > 0)
        mantissa |= 1u << mantissa_bits;
    else
        exponent = 1;
    double value = mantissa * plumb_power_of_2(exponent - bias - mantissa_bits);
    return v >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

static inline double plumb_from_f16(uint16_t v)
{
    if ((v & 0x7c00) == 0x7c00)
        return v & 0x3ff ? (double)NAN : v & 0x8000 ? -(double)INFINITY : (double)INFINITY;
    return plumb_small_float(v, 5, 10);
}

static inline double plumb_from_bf16(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double plumb_from_f8_e4m3fn(uint8_t v)
{
    return (v & 0x7f) == 0x7f ? (double)NAN : plumb_small_float(v, 4, 3);
}

static inline double plumb_from_f8_e5m2(uint8_t v)
{
    return plumb_from_f16((uint16_t)(v << 8)); /* its upper half */
}

#endif
