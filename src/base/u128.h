/* u128.h: 128-bit unsigned integers for exact sums of squares; the compiler's own type, named once
 * so that only src/base/ uses the extension. */
#ifndef PLUMB_BASE_U128_H
#define PLUMB_BASE_U128_H

#include <stdint.h>

__extension__ typedef unsigned __int128 plumb_u128;

static inline plumb_u128 plumb_u128_make(uint64_t lo, uint64_t hi)
{
    return ((plumb_u128)hi << 64) | lo;
}

#endif
