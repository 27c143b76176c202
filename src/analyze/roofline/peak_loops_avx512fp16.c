/* peak_loops_avx512fp16.c: 512-bit registers of 16-bit floats. A file of its own, because
 * clang 14 knows the type only where the whole file is compiled for it. */
#include "analyze/roofline/peak_loops_avx512.h"

#include <cpuid.h>

/* By their bits, since ISO C lacks the type: 0.5, and 1 and the numbers just above it. */
#define START_F16(i) ((__m512h)_mm512_set1_epi16(0x3c00 + (i)))
#define STEP_F16(v) _mm512_fmadd_ph(v, (__m512h)_mm512_set1_epi16(0x3800), START_F16(0))
LOOP(f16, "avx512fp16", __m512h, START_F16, STEP_F16, _mm512_add_ph)

void plumb_peak_f16_avx512(uint64_t rounds, void *sink)
{
    f16(rounds, sink);
}

/* clang 14 does not know the name of this feature. */
bool plumb_peak_has_f16_avx512(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & (1u << 23));
}
