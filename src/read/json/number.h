/* number.h: a number of a JSON text as the nearest double, and exactly where it is whole and
 * fits into 64 bits. Equal to strtod() in every bit, in any locale.
 *
 * Up to 19 digits and exponents of ten from -64 to 64 (all that statistics are made of) take one
 * multiplication of 64 bits by 128. It is from "Number Parsing at a Gigabyte per Second" (Daniel
 * Lemire, 2021), which proves that it never rounds wrongly. Other numbers go to the C library. */
#ifndef PLUMB_READ_JSON_NUMBER_H
#define PLUMB_READ_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"

enum plumb_json_number_kind {
    PLUMB_JSON_NUMBER_NONE = 0,  /* not spelled as a number */
    PLUMB_JSON_NUMBER_INT = 1,   /* `whole`, and `real` the double nearest to it */
    PLUMB_JSON_NUMBER_UINT = 2,  /* the same, above INT64_MAX */
    PLUMB_JSON_NUMBER_REAL = 3,  /* `real` alone: a fraction, an exponent, or beyond 64 bits */
    PLUMB_JSON_NUMBER_RANGE = 4, /* nearer to infinity than to any double */
    PLUMB_JSON_NUMBER_MEMORY = 5
};

struct plumb_json_number {
    enum plumb_json_number_kind kind;
    uint64_t whole; /* as int64_t where it is INT */
    double real;
};

/* Where the exact way is too narrow. `end` points past the last character. */
PLUMB_COLD void plumb_json_number_slowly(struct plumb_json_number *out, const char *begin,
                                         const char *end);

enum { PLUMB_JSON_POWER_MIN = -64, PLUMB_JSON_POWER_MAX = 64 };
extern const uint64_t plumb_json_powers[PLUMB_JSON_POWER_MAX - PLUMB_JSON_POWER_MIN + 1][2];

/* Digits at the front of 8 bytes, 0 to 8. */
static PLUMB_ALWAYS_INLINE unsigned plumb_json_digits(uint64_t chars)
{
    uint64_t from_zero = chars ^ UINT64_C(0x3030303030303030); /* digits: 0 to 9 */
    /* No carry leaves a byte: its highest bit is masked before. */
    uint64_t above =
        ((from_zero & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | from_zero;
    above &= UINT64_C(0x8080808080808080);
    return above ? (unsigned)__builtin_ctzll(above) / 8 : 8;
}

/* The value of `n` digits (0 to 8) at the front of 8 bytes. */
static PLUMB_ALWAYS_INLINE uint64_t plumb_json_digits_value(uint64_t chars, unsigned n)
{
    /* Leading zeros fill the rest, pairs become numbers below 100, then below 10^4 and 10^8. */
    uint64_t v = n ? (chars ^ UINT64_C(0x3030303030303030)) << (64 - 8 * n) : 0;
    v = (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    v = (v & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (v & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

/* Reads the digits from p on into *value, which wraps beyond 19 of them. Returns where they end. At
 * least 8 bytes after the last digit must be readable. */
static PLUMB_ALWAYS_INLINE const char *plumb_json_take_digits(const char *p, uint64_t *value)
{
    static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    for (;;) {
        uint64_t chars;
        memcpy(&chars, p, sizeof chars);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        chars = __builtin_bswap64(chars);
#endif
        unsigned n = plumb_json_digits(chars);
        /* No branch for 0: how many digits a number has is hard to guess. */
        *value = *value * powers[n] + plumb_json_digits_value(chars, n);
        p += n;
        if (n < 8)
            return p;
    }
}

/* digits * 10^power, rounded to the nearest double, ties to even: `digits` is not 0, `power` is in
 * the table. False where 128 bits of the power do not decide the rounding. */
static PLUMB_ALWAYS_INLINE bool plumb_json_scale(double *out, uint64_t digits, int power)
{
    const uint64_t *five = plumb_json_powers[power - PLUMB_JSON_POWER_MIN];
    int zeros = __builtin_clzll(digits);
    __extension__ typedef unsigned __int128 wide;
    digits <<= zeros;
    wide product = (wide)digits * five[0];
    uint64_t high = (uint64_t)(product >> 64);
    uint64_t low = (uint64_t)product;
    /* 55 bits are needed; where the 9 below are all ones, the second half of the power may carry
     * into them. */
    if (PLUMB_UNLIKELY((high & 0x1ff) == 0x1ff)) {
        uint64_t more = (uint64_t)((wide)digits * five[1] >> 64);
        low += more;
        high += low < more;
        if (low == UINT64_MAX && (power < -27 || power > 55))
            return false;
    }
    unsigned top = (unsigned)(high >> 63);
    uint64_t mantissa = high >> (top + 9);
    /* 217706 / 2^16 is the logarithm of 10 to base 2, near enough in this range. */
    int exponent = (int)((217706 * (int64_t)power) >> 16) + 63 + (int)top - zeros + 1023;
    /* A tie: only these powers have one, and then the product is exact. */
    if (PLUMB_UNLIKELY(low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1) &&
        mantissa << (top + 9) == high)
        mantissa &= ~UINT64_C(1);
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    exponent += (int)(mantissa >> 53); /* rounded up to the next power of two */
    uint64_t bits = (mantissa & ((UINT64_C(1) << 52) - 1)) | (uint64_t)exponent << 52;
    memcpy(out, &bits, sizeof *out);
    return true;
}

static PLUMB_ALWAYS_INLINE const char *plumb_json_take_exponent(const char *p, int *exponent)
{
    bool negative = *p == '-';
    uint64_t value = 0;
    p += *p == '-' || *p == '+';
    const char *end = plumb_json_take_digits(p, &value);
    if (end == p)
        return NULL;
    while (*p == '0')
        p++;
    int e = end - p > 5 ? 99999 : (int)value;
    *exponent = negative ? -e : e;
    return end;
}

/* Digits of `begin`..`end`, which may hold a point, that are not leading zeros. */
static inline size_t plumb_json_significant(const char *begin, const char *end)
{
    size_t points = memchr(begin, '.', (size_t)(end - begin)) != NULL;
    const char *p = begin;
    for (; p < end && (*p == '0' || *p == '.'); p++)
        points -= *p == '.';
    return (size_t)(end - p) - points;
}

/* Reads the number at `p`, which points at a '-' or a digit; 16 bytes after the number must be
 * readable. Returns where it ends; NULL: not a number. */
static PLUMB_ALWAYS_INLINE const char *plumb_json_take_number(const char *p,
                                                              struct plumb_json_number *out)
{
    const char *begin = p;
    bool negative = *p == '-';
    uint64_t digits = 0;
    int power = 0;
    p += negative;
    const char *first = p;
    if (*p == '0')
        p++;
    else
        p = plumb_json_take_digits(p, &digits);
    if (p == first)
        return NULL;
    const char *end = p;
    bool whole = true;
    if (*p == '.') {
        const char *fraction = p + 1;
        end = p = plumb_json_take_digits(fraction, &digits);
        if (p == fraction)
            return NULL;
        power = (int)(fraction - p);
        whole = false;
    }
    if ((*p | 0x20) == 'e') {
        int exponent;
        if (!(p = plumb_json_take_exponent(p + 1, &exponent)))
            return NULL;
        power += exponent;
        whole = false;
    }
    bool many = end - first > 19 && plumb_json_significant(first, end) > 19;
    if (PLUMB_LIKELY(!many && whole) && (!negative || digits <= UINT64_C(1) << 63)) {
        out->kind =
            digits > INT64_MAX && !negative ? PLUMB_JSON_NUMBER_UINT : PLUMB_JSON_NUMBER_INT;
        out->whole = negative ? -digits : digits;
        out->real = negative ? -(double)digits : (double)digits;
        return p;
    }
    out->kind = PLUMB_JSON_NUMBER_REAL;
    if (digits == 0 && !many) {
        out->real = negative ? -0.0 : 0.0;
        return p;
    }
    if (PLUMB_LIKELY(!many && power >= PLUMB_JSON_POWER_MIN && power <= PLUMB_JSON_POWER_MAX) &&
        plumb_json_scale(&out->real, digits, power)) {
        out->real = negative ? -out->real : out->real;
        return p;
    }
    plumb_json_number_slowly(out, begin, p);
    return p;
}

#endif
