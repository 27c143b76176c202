/* random_fill.h: pseudo-random values of every element type, from a seed.
 *
 * The same parameters give the same bytes with every compiler, on every machine, whatever its
 * floating-point modes are: nothing here is computed in floating point. The text of this file is
 * also part of the programs that plumb generates, so it needs only these three headers. It is C11
 * without extensions.
 *
 * Value i depends on the seed and on i alone: a tensor may be filled in pieces, in any order.
 * A value is a sum of 12 or of 3 uniform numbers of 16 bits (nearly normal), or uniform, or one of
 * two values, in fixed point; it is then rounded once to the element type, halves to even. Words of
 * 64 bits come from SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014), whose state is a counter. Any thread; no state, no errors. */
#ifndef PLUMB_RANDOM_FILL_H
#define PLUMB_RANDOM_FILL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum plumb_random_element {
    PLUMB_RANDOM_F64 = 0,
    PLUMB_RANDOM_F32 = 1,
    PLUMB_RANDOM_F16 = 2,
    PLUMB_RANDOM_BF16 = 3,
    PLUMB_RANDOM_F8_E4M3FN = 4,
    PLUMB_RANDOM_F8_E5M2 = 5,
    PLUMB_RANDOM_I64 = 6,
    PLUMB_RANDOM_I32 = 7,
    PLUMB_RANDOM_I16 = 8,
    PLUMB_RANDOM_I8 = 9,
    PLUMB_RANDOM_U64 = 10,
    PLUMB_RANDOM_U32 = 11,
    PLUMB_RANDOM_U16 = 12,
    PLUMB_RANDOM_U8 = 13, /* and bool */
    PLUMB_RANDOM_ELEMENTS = 14
};

/* Fixed-point numbers are in units of 2^exponent. */
struct plumb_random {
    uint64_t seed;
    uint32_t element;        /* enum plumb_random_element */
    uint32_t shape;          /* 12, 3: sum of so many; 1: uniform; 0: only extremes */
    uint32_t extreme;        /* in 2^32: how often a value is `low` or `high` */
    uint32_t high_of;        /* in 2^32: how often it is then `high` */
    int32_t exponent;        /* -1200 to 1100 */
    int64_t center;          /* magnitudes below 2^60, as `low` and `high` */
    int64_t spread;          /* below 2^42: deviation of a sum; half the uniform range */
    int64_t low, high;       /* no value lies outside */
    int64_t least;           /* of signed integers: no value lies outside ... */
    int64_t most;            /* ... */
    uint64_t unsigned_least; /* of unsigned ones */
    uint64_t unsigned_most;
};

/* ---- Words ----------------------------------------------------------------------------------- */

static inline uint64_t plumb_random_word(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The seed of one input of a stage: FNV-1a over the bytes of both names, each with its NUL. */
static inline uint64_t plumb_random_seed(uint64_t seed, const char *stage, const char *input)
{
    const char *const names[2] = {stage, input};
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ plumb_random_word(seed, 0);
    for (int i = 0; i < 2; i++) {
        const char *p = names[i];
        do
            hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
        while (*p++);
    }
    return hash;
}

/* ---- Fixed point ----------------------------------------------------------------------------- */

/* v / 2^by, rounded down; |v| < 2^62, by < 62. (Shifting a negative number is not portable.) */
static inline int64_t plumb_random_shift(int64_t v, unsigned by)
{
    const uint64_t offset = UINT64_C(1) << 62;
    return (int64_t)(((uint64_t)v + offset) >> by) - (int64_t)(offset >> by);
}

static inline int64_t plumb_random_two(const struct plumb_random *r, uint64_t word)
{
    return (uint32_t)(word >> 32) < r->high_of ? r->high : r->low;
}

/* Value `i`. A sum of k numbers below 2^16 is taken as 2 * sum - k * 65535, which is symmetric and
 * deviates by 2^16 * sqrt(k / 3). */
static inline int64_t plumb_random_value(const struct plumb_random *r, uint64_t i)
{
    const uint64_t lanes = UINT64_C(0x0000ffff0000ffff);
    uint64_t w = plumb_random_word(r->seed, 4 * i);
    int64_t sum, v;
    if (r->shape == 12) {
        uint64_t x = plumb_random_word(r->seed, 4 * i + 1);
        uint64_t y = plumb_random_word(r->seed, 4 * i + 2);
        uint64_t t = (w & lanes) + ((w >> 16) & lanes) + (x & lanes) + ((x >> 16) & lanes) +
                     (y & lanes) + ((y >> 16) & lanes);
        sum = 2 * (int64_t)((t & 0xffffffff) + (t >> 32)) - 12 * 65535;
        v = r->center + plumb_random_shift(sum * r->spread, 17);
    } else if (r->shape == 3) {
        sum = 2 * (int64_t)((w & 0xffff) + ((w >> 16) & 0xffff) + ((w >> 32) & 0xffff)) - 3 * 65535;
        v = r->center + plumb_random_shift(sum * r->spread, 16);
    } else if (r->shape == 1) {
        uint64_t x = r->extreme ? plumb_random_word(r->seed, 4 * i + 3) : 0;
        if ((uint32_t)x < r->extreme)
            return plumb_random_two(r, x);
        sum = 2 * (int64_t)(w & 0xffff) - 65535;
        v = r->center + plumb_random_shift(sum * r->spread, 16);
    } else {
        return plumb_random_two(r, w);
    }
    return v < r->low ? r->low : v > r->high ? r->high : v;
}

/* ---- Elements -------------------------------------------------------------------------------- */

/* Bits that `m`, which is not 0, needs. */
static inline int plumb_random_bits(uint64_t m)
{
#if defined(__GNUC__) && !defined(PLUMB_RANDOM_PORTABLE)
    return 64 - __builtin_clzll(m);
#else
    int bits = 0;
    for (int step = 32; step > 0; step /= 2) {
        if (m >> step) {
            m >>= step;
            bits += step;
        }
    }
    return bits + 1;
#endif
}

/* The bits of v * 2^exponent in a format with so many bits of mantissa and of exponent, rounded to
 * nearest, halves to even; magnitudes beyond `largest`, the bits of the largest finite one, are
 * that. Zero is positive. |v| < 2^60. */
static inline uint64_t plumb_random_float(int64_t v, int32_t exponent, int mantissa,
                                          int exponent_bits, uint64_t largest)
{
    uint64_t sign = (uint64_t)(v < 0) << (mantissa + exponent_bits);
    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    uint64_t bits;
    int bias = (1 << (exponent_bits - 1)) - 1, top, biased, drop;
    if (m == 0)
        return 0;
    top = plumb_random_bits(m) - 1;
    biased = top + exponent + bias;
    drop = biased > 0 ? top - mantissa : 1 - bias - mantissa - exponent;
    if (drop > 63) {
        bits = 0;
    } else if (drop > 0) {
        uint64_t rest = m & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
        bits = m >> drop;
        bits += (rest > half) | ((rest == half) & (bits & 1));
    } else {
        bits = m << -drop;
    }
    /* The leading bit of a normal number, or a carry into it, adds 1 to the exponent. */
    if (biased > 0)
        bits += (uint64_t)(biased - 1) << mantissa;
    return sign | (bits > largest ? largest : bits);
}

/* v * 2^exponent as an integer, halves upwards; `*above`: 1 beyond the largest uint64_t. */
static inline int64_t plumb_random_whole(int64_t v, int32_t exponent, int *above)
{
    *above = 0;
    if (exponent < -61)
        return 0;
    if (exponent < 0)
        return plumb_random_shift(v + (INT64_C(1) << (-exponent - 1)), (unsigned)-exponent);
    if (v > 0 && (exponent > 63 || (uint64_t)v > UINT64_MAX >> exponent))
        *above = 1;
    if (v < 0)
        return exponent > 62 || 0 - (uint64_t)v > (UINT64_C(1) << 63) >> exponent
                   ? INT64_MIN
                   : (int64_t)(0 - ((0 - (uint64_t)v) << exponent));
    return *above || v == 0 ? 0 : (int64_t)((uint64_t)v << exponent);
}

static inline int64_t plumb_random_signed(const struct plumb_random *r, uint64_t i)
{
    int64_t v = plumb_random_value(r, i), whole;
    int above;
    whole = plumb_random_whole(v, r->exponent, &above);
    if (above || (v > 0 && whole < 0))
        return r->most;
    return whole < r->least ? r->least : whole > r->most ? r->most : whole;
}

static inline uint64_t plumb_random_unsigned(const struct plumb_random *r, uint64_t i)
{
    int64_t v = plumb_random_value(r, i);
    uint64_t whole;
    int above;
    if (v < 0)
        return r->unsigned_least;
    whole = (uint64_t)plumb_random_whole(v, r->exponent, &above);
    if (above)
        return r->unsigned_most;
    return whole < r->unsigned_least  ? r->unsigned_least
           : whole > r->unsigned_most ? r->unsigned_most
                                      : whole;
}

static inline uint64_t plumb_random_f32(const struct plumb_random *r, uint64_t i)
{
    return plumb_random_float(plumb_random_value(r, i), r->exponent, 23, 8, 0x7f7fffff);
}

static inline uint64_t plumb_random_small(const struct plumb_random *r, uint64_t i)
{
    int64_t v = plumb_random_value(r, i);
    switch (r->element) {
    case PLUMB_RANDOM_F16:
        return plumb_random_float(v, r->exponent, 10, 5, 0x7bff);
    case PLUMB_RANDOM_BF16:
        return plumb_random_float(v, r->exponent, 7, 8, 0x7f7f);
    case PLUMB_RANDOM_F8_E4M3FN:
        return plumb_random_float(v, r->exponent, 3, 4, 0x7e);
    case PLUMB_RANDOM_F8_E5M2:
        return plumb_random_float(v, r->exponent, 2, 5, 0x7b);
    default:
        return plumb_random_float(v, r->exponent, 52, 11, UINT64_C(0x7fefffffffffffff));
    }
}

static inline size_t plumb_random_element_bytes(uint32_t element)
{
    static const unsigned char bytes[PLUMB_RANDOM_ELEMENTS] = {8, 4, 2, 2, 1, 1, 8,
                                                               4, 2, 1, 8, 4, 2, 1};
    return element < PLUMB_RANDOM_ELEMENTS ? bytes[element] : 0;
}

/* Stores the low `bytes` bytes of `bits` as this machine stores a number of that size. */
static inline void plumb_random_store(unsigned char *to, uint64_t bits, size_t bytes)
{
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;
    if (bytes == 1)
        memcpy(to, &b1, 1);
    else if (bytes == 2)
        memcpy(to, &b2, 2);
    else if (bytes == 4)
        memcpy(to, &b4, 4);
    else
        memcpy(to, &bits, 8);
}

/* Writes the values `first`, `first` + 1, ... to `to`, `count` of them, without gaps. A complex
 * number is two values. Some 10 ns a value. */
static inline void plumb_random_fill(void *to, uint64_t first, uint64_t count,
                                     const struct plumb_random *random)
{
    const struct plumb_random r = *random;
    unsigned char *at = (unsigned char *)to;
    size_t bytes = plumb_random_element_bytes(r.element);
    if (r.element == PLUMB_RANDOM_F32)
        for (uint64_t i = 0; i < count; i++, at += 4)
            plumb_random_store(at, plumb_random_f32(&r, first + i), 4);
    else if (r.element <= PLUMB_RANDOM_F8_E5M2)
        for (uint64_t i = 0; i < count; i++, at += bytes)
            plumb_random_store(at, plumb_random_small(&r, first + i), bytes);
    else if (r.element <= PLUMB_RANDOM_I8)
        for (uint64_t i = 0; i < count; i++, at += bytes)
            plumb_random_store(at, (uint64_t)plumb_random_signed(&r, first + i), bytes);
    else if (r.element < PLUMB_RANDOM_ELEMENTS)
        for (uint64_t i = 0; i < count; i++, at += bytes)
            plumb_random_store(at, plumb_random_unsigned(&r, first + i), bytes);
}

#endif
