/* peak_loops_avx512.h: what the two files of 512-bit loops share. For them alone. */
#ifndef PLUMB_ANALYZE_ROOFLINE_PEAK_LOOPS_AVX512_H
#define PLUMB_ANALYZE_ROOFLINE_PEAK_LOOPS_AVX512_H

#include <immintrin.h>

#include "analyze/roofline/peak_loops.h"

/* A loop of `type` registers: `start` makes one of a small number, `step` is a multiply-add on
 * register v, with the operands a and b. */
#define LOOP(name, isa, type, start, step, add)                                                    \
    __attribute__((target(isa))) static void name(uint64_t rounds, void *sink)                     \
    {                                                                                              \
        type v0 = start(0), v1 = start(1), v2 = start(2), v3 = start(3), v4 = start(4);            \
        type v5 = start(5), v6 = start(6), v7 = start(7), v8 = start(8), v9 = start(9);            \
        type v10 = start(10), v11 = start(11);                                                     \
        for (; rounds; rounds--) {                                                                 \
            v0 = step(v0), v1 = step(v1), v2 = step(v2), v3 = step(v3);                            \
            v4 = step(v4), v5 = step(v5), v6 = step(v6), v7 = step(v7);                            \
            v8 = step(v8), v9 = step(v9), v10 = step(v10), v11 = step(v11);                        \
        }                                                                                          \
        v0 = add(add(add(v0, v1), add(v2, v3)), add(add(v4, v5), add(v6, v7)));                    \
        v0 = add(v0, add(add(v8, v9), add(v10, v11)));                                             \
        _mm512_storeu_si512(sink, *(__m512i *)&v0);                                                \
    }

/* peak_loops_avx512fp16.c */
void plumb_peak_f16_avx512(uint64_t rounds, void *sink);
bool plumb_peak_has_f16_avx512(void);

#endif
