/* sqrt.h: the square root, within 1 ulp, without libm (libplumb links libc only, and
 * __builtin_sqrt() still refers to sqrt() for its errno). The processor's own instruction where one
 * is known; else Newton's iteration from the guess that halving the exponent gives (within 6.1 %):
 * four steps bring it below 2^-53, the fifth is the margin. */
#ifndef PLUMB_BASE_STATS_SQRT_H
#define PLUMB_BASE_STATS_SQRT_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Returns 0 for arguments that are not above 0, NaN included. */
static inline double plumb_sqrt_newton(double x)
{
    double scale = 1;
    double root;
    uint64_t bits;
    if (!(x > 0) || x - x != 0)
        return x > 0 ? x : 0;
    if (x < 0x1p-1000) { /* subnormal numbers have no exponent to halve */
        x *= 0x1p108;
        scale = 0x1p-54;
    }
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 1) + ((uint64_t)1023 << 51);
    memcpy(&root, &bits, sizeof root);
    for (int i = 0; i < 5; i++)
        root = 0.5 * (root + x / root);
    return root * scale;
}

static inline double plumb_sqrt(double x)
{
#if defined(__SSE2__)
    if (!(x > 0) || x - x != 0)
        return x > 0 ? x : 0;
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x)));
#else
    return plumb_sqrt_newton(x);
#endif
}

#endif
