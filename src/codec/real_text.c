/* real_text.c: see real_text.h. Records of activations are mostly such numbers, and printf with the
 * reading back took two thirds of the time that a record cost.
 *
 * A double is m * 2^e. Times 10^p, with p chosen so that 17 digits stand before the point, that is
 * X = m * 5^p, shifted by e + p. These are whole numbers, which fit into 192 bits if the magnitude
 * is neither tiny nor huge. So nothing here is an approximation: how X rounds to 17, 16 and 15
 * digits, and whether a candidate lies within half a step of v, are comparisons of integers.
 * Published algorithms (Steele and White 1990, and those after it) trade these for tables; the
 * range that is exact in 128 bits is what profiles have. Everything else goes through printf. */
#include "codec/real_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/u128.h"
#include "codec/decimal.h"

typedef plumb_u128 wide;

enum { FIVES = 28, P_MAX = 48, DIGITS = 17 };
static const uint64_t TEN_16 = 10000000000000000u;

static const uint64_t five_to[FIVES] = {1u,
                                        5u,
                                        25u,
                                        125u,
                                        625u,
                                        3125u,
                                        15625u,
                                        78125u,
                                        390625u,
                                        1953125u,
                                        9765625u,
                                        48828125u,
                                        244140625u,
                                        1220703125u,
                                        6103515625u,
                                        30517578125u,
                                        152587890625u,
                                        762939453125u,
                                        3814697265625u,
                                        19073486328125u,
                                        95367431640625u,
                                        476837158203125u,
                                        2384185791015625u,
                                        11920928955078125u,
                                        59604644775390625u,
                                        298023223876953125u,
                                        1490116119384765625u,
                                        7450580596923828125u};

/* v as whole + rest / 2^shift, in units of the 17th digit. */
struct scaled {
    uint64_t whole; /* 10^16 <= whole < 10^17 */
    wide rest;
    int shift;
    wide five_p;  /* half a step of v is five_p / 2^(shift + 1) */
    int exponent; /* of ten, of the first digit */
    bool even;    /* v's last bit is 0: a candidate half a step away reads back as v */
    bool power;   /* of two: the step below v is half as long */
};

/* False: v * 10^(16 - exponent) does not have 17 digits before the point, or 192 bits are not
 * enough. */
static bool scale(struct scaled *s, uint64_t m, int e, int exponent)
{
    int p = DIGITS - 1 - exponent, shift = -(e + p);
    wide low, high;
    if (p < 0 || p > P_MAX || shift < 1 || shift > 112)
        return false;
    s->five_p = (wide)five_to[p < FIVES ? p : FIVES - 1] * five_to[p < FIVES ? 0 : p - FIVES + 1];
    low = (wide)m * (uint64_t)s->five_p;
    high = (wide)m * (uint64_t)(s->five_p >> 64) + (uint64_t)(low >> 64);
    low = (uint64_t)low;
    /* X is high * 2^64 + low. */
    if (shift < 64) {
        if (high >> shift)
            return false; /* 2^64 and more */
        s->whole = (uint64_t)(high << (64 - shift)) | (uint64_t)(low >> shift);
        s->rest = low & (((wide)1 << shift) - 1);
    } else {
        if (high >> (shift - 64) >> 64)
            return false;
        s->whole = (uint64_t)(high >> (shift - 64));
        s->rest = (high & (((wide)1 << (shift - 64)) - 1)) << 64 | low;
    }
    s->shift = shift;
    s->exponent = exponent;
    s->even = !(m & 1);
    s->power = m == (uint64_t)1 << 52;
    return s->whole >= TEN_16 && s->whole < TEN_16 * 10;
}

/* v rounded to a multiple of `unit`, in units of the 17th digit; halves to even, as printf does. */
static uint64_t rounded(const struct scaled *s, uint64_t unit)
{
    uint64_t down = s->whole / unit, over = s->whole - down * unit;
    wide half = (wide)1 << (s->shift - 1);
    bool up;
    if (unit == 1)
        up = s->rest > half || (s->rest == half && (down & 1));
    else
        up = over > unit / 2 || (over == unit / 2 && (s->rest || (down & 1)));
    return (down + up) * unit;
}

/* Whether the candidate lies within half a step of v. */
static bool reads_back(const struct scaled *s, uint64_t candidate)
{
    bool above = candidate > s->whole;
    uint64_t apart = above ? candidate - s->whole : s->whole - candidate;
    wide distance;
    if (apart > 12) /* half a step is 11.1 at the most, so nothing below overflows */
        return false;
    distance = (wide)apart << s->shift;
    distance = 2 * (above ? distance - s->rest : distance + s->rest);
    if (!above && s->power)
        distance *= 2;
    return distance < s->five_p || (distance == s->five_p && s->even);
}

/* As %g writes them: `digits` of them count, the others are 0. */
static size_t put(char *out, uint64_t value, int exponent, int digits, bool minus)
{
    char text[DIGITS];
    char *to = out;
    int n = DIGITS;
    uint32_t half[2];
    if (value == TEN_16 * 10) {
        value = TEN_16;
        exponent++;
    }
    half[0] = (uint32_t)(value / 100000000 % 100000000);
    half[1] = (uint32_t)(value % 100000000);
    text[0] = (char)('0' + value / TEN_16);
    for (int part = 0; part < 2; part++) {
        for (int i = 8; i > 0; i--) {
            text[part * 8 + i] = (char)('0' + half[part] % 10);
            half[part] /= 10;
        }
    }
    while (n > 1 && text[n - 1] == '0')
        n--;
    if (minus)
        *to++ = '-';
    if (exponent < -4 || exponent >= digits) {
        *to++ = text[0];
        if (n > 1)
            *to++ = '.';
        memcpy(to, text + 1, (size_t)n - 1);
        to += n - 1;
        *to++ = 'e';
        *to++ = exponent < 0 ? '-' : '+';
        exponent = exponent < 0 ? -exponent : exponent;
        *to++ = (char)('0' + exponent / 10);
        *to++ = (char)('0' + exponent % 10);
    } else if (exponent < 0) {
        memcpy(to, "0.000", 5);
        to += 1 - exponent;
        memcpy(to, text, (size_t)n);
        to += n;
    } else {
        int before = exponent + 1;
        memcpy(to, text, (size_t)before); /* zeros too */
        to += before;
        if (n > before) {
            *to++ = '.';
            memcpy(to, text + before, (size_t)(n - before));
            to += n - before;
        }
    }
    *to = '\0';
    return (size_t)(to - out);
}

size_t plumb_real_text_slowly(char out[PLUMB_REAL_TEXT], double v)
{
    for (int digits = 15; digits <= DIGITS; digits++) {
        snprintf(out, PLUMB_REAL_TEXT, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            break;
    }
    plumb_decimal_point(out);
    return strlen(out);
}

/* The exponent of ten of the first digit, or one less. */
static int guess_exponent(int binary)
{
    return (binary * 1233) >> 12; /* log10(2); exact to one up to 2^1000 */
}

size_t plumb_real_text(char out[PLUMB_REAL_TEXT], double v)
{
    static const uint64_t units[] = {100, 10, 1};
    struct scaled s;
    uint64_t bits, m;
    int biased, exponent;
    memcpy(&bits, &v, sizeof bits);
    m = bits & (((uint64_t)1 << 52) - 1);
    biased = (int)(bits >> 52 & 0x7ff);
    if (biased == 0 && m == 0) {
        memcpy(out, "-0", 3);
        if (!(bits >> 63))
            memcpy(out, "0", 2);
        return strlen(out);
    }
    if (biased == 0 || biased == 0x7ff)
        return plumb_real_text_slowly(out, v);
    m |= (uint64_t)1 << 52;
    exponent = guess_exponent(biased - 1023);
    if (!scale(&s, m, biased - 1075, exponent) && !scale(&s, m, biased - 1075, exponent + 1))
        return plumb_real_text_slowly(out, v);
    for (int i = 0; i < 2; i++) {
        uint64_t candidate = rounded(&s, units[i]);
        if (reads_back(&s, candidate))
            return put(out, candidate, s.exponent, 15 + i, bits >> 63);
    }
    return put(out, rounded(&s, 1), s.exponent, DIGITS, bits >> 63);
}
