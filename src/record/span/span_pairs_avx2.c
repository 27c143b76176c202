/* span_pairs_avx2.c: four pairs at a time. See span_pairs.h.
 *
 * Squares of durations below 2^32 ticks are exact in 64 bits; their halves are added up separately,
 * so no sum overflows. A row with longer ones (seconds) is left to the scalar code as a whole. */
#include <immintrin.h>

#include "record/span/span_pairs.h"

/* floor(log2(x)) for 0 < x < 2^52, from the exponent of the double that x is. */
static inline __m256i log2_of(__m256i x)
{
    const __m256i two_52 = _mm256_set1_epi64x(0x4330000000000000);
    __m256d d =
        _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, two_52)), _mm256_castsi256_pd(two_52));
    return _mm256_sub_epi64(_mm256_srli_epi64(_mm256_castpd_si256(d), 52),
                            _mm256_set1_epi64x(1023));
}

static inline __m256i index_of(__m256i d)
{
    __m256i shift = _mm256_sub_epi64(log2_of(_mm256_or_si256(d, _mm256_set1_epi64x(64))),
                                     _mm256_set1_epi64x(PLUMB_SKETCH_SUB_BITS));
    return _mm256_add_epi64(_mm256_slli_epi64(shift, PLUMB_SKETCH_SUB_BITS),
                            _mm256_srlv_epi64(d, shift));
}

void plumb_leaves_avx2(struct plumb_leaves *out, const uint64_t *words, uint32_t pairs)
{
    /* The unpacking below puts pairs 0, 2, 1, 3 in a vector; this puts their indices in order. */
    const __m256i in_order = _mm256_setr_epi32(0, 4, 2, 6, 0, 4, 2, 6);
    const __m256i zero = _mm256_setzero_si256(), low = _mm256_set1_epi64x(0xffffffff);
    __m256i total = zero, any = zero, sq_low = zero, sq_high = zero, max = zero;
    __m256i min = _mm256_set1_epi64x(INT64_MAX);
    uint64_t t[4], l[4], h[4], least[4], most[4], bits[4];
    uint32_t i = 0;
    for (; i + 4 <= pairs; i += 4) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(words + 2 * i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(words + 2 * i + 4));
        __m256i begin = _mm256_srli_epi64(_mm256_unpacklo_epi64(a, b), 64 - PLUMB_TICK_BITS);
        __m256i end = _mm256_srli_epi64(_mm256_unpackhi_epi64(a, b), 64 - PLUMB_TICK_BITS);
        __m256i d = _mm256_sub_epi64(end, begin), sq;
        d = _mm256_andnot_si256(_mm256_cmpgt_epi64(zero, d), d);
        total = _mm256_add_epi64(total, d);
        any = _mm256_or_si256(any, d);
        sq = _mm256_mul_epu32(d, d);
        sq_low = _mm256_add_epi64(sq_low, _mm256_and_si256(sq, low));
        sq_high = _mm256_add_epi64(sq_high, _mm256_srli_epi64(sq, 32));
        min = _mm256_blendv_epi8(min, d, _mm256_cmpgt_epi64(min, d));
        max = _mm256_blendv_epi8(max, d, _mm256_cmpgt_epi64(d, max));
        _mm_storeu_si128(
            (__m128i *)(void *)(out->index + i),
            _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(index_of(d), in_order)));
    }
    _mm256_storeu_si256((__m256i *)(void *)t, total);
    _mm256_storeu_si256((__m256i *)(void *)l, sq_low);
    _mm256_storeu_si256((__m256i *)(void *)h, sq_high);
    _mm256_storeu_si256((__m256i *)(void *)least, min);
    _mm256_storeu_si256((__m256i *)(void *)most, max);
    _mm256_storeu_si256((__m256i *)(void *)bits, any);
    if ((bits[0] | bits[1] | bits[2] | bits[3]) >> 32) {
        plumb_leaves_scalar(out, words, pairs);
        return;
    }
    out->total = out->max = 0;
    out->min = UINT64_MAX;
    out->squares = 0;
    for (int k = 0; k < 4; k++) {
        out->total += t[k];
        out->squares += ((plumb_u128)h[k] << 32) + l[k];
        out->max = most[k] > out->max ? most[k] : out->max;
        out->min = i && least[k] < out->min ? least[k] : out->min;
    }
    for (; i < pairs; i++) {
        uint64_t b = plumb_record_ticks(words[2 * i]), e = plumb_record_ticks(words[2 * i + 1]),
                 d = e > b ? e - b : 0;
        out->total += d;
        out->squares += (plumb_u128)d * d;
        out->min = d < out->min ? d : out->min;
        out->max = d > out->max ? d : out->max;
        out->index[i] = plumb_sketch_index(d);
    }
    out->last = 0;
    if (pairs) {
        uint64_t b = plumb_record_ticks(words[2 * pairs - 2]),
                 e = plumb_record_ticks(words[2 * pairs - 1]);
        out->last = e > b ? e - b : 0;
    }
}
