/* u128.h: 128-bit integers for exact sums of squares and products; the compiler's own types, named
 * once so that only src/base/ uses the extension. */
#ifndef PLUMB_BASE_U128_H
#define PLUMB_BASE_U128_H

#include <stdint.h>

__extension__ typedef unsigned __int128 plumb_u128;
__extension__ typedef __int128 plumb_i128;

static inline plumb_u128 plumb_u128_make(uint64_t lo, uint64_t hi)
{
    return ((plumb_u128)hi << 64) | lo;
}

/* Returns a + b, at most 2^128 - 1. */
static inline plumb_u128 plumb_u128_sum(plumb_u128 a, plumb_u128 b)
{
    return a + b < a ? ~(plumb_u128)0 : a + b;
}

/* Conversions and a division, the same as the compiler's, which calls a function for each: mostly
 * the figures are small. */
static inline double plumb_u128_double(plumb_u128 x)
{
    return x >> 63 ? (double)x : (double)(int64_t)x;
}
static inline plumb_u128 plumb_u128_of(double x)
{
    return x < 0x1p63 ? (plumb_u128)(int64_t)x : (plumb_u128)x;
}
static inline plumb_u128 plumb_u128_over(plumb_u128 x, uint64_t divisor)
{
    return x >> 64 ? x / divisor : (uint64_t)x / divisor;
}

#endif
