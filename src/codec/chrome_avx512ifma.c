/* chrome_avx512ifma.c: chrome_spans.c with all digits of a number at once.
 *
 * Digit k (from the left) of eight is the whole part of ten times the fraction of x / 10^(8-k).
 * Fractions are 52 bits here: IFMA's low half of x * (2^52 / 10^(8-k)), and its high half of that
 * times ten is the digit. The factors are rounded up, which adds less than one x has to give before
 * the next digit; only the first is so small that it must be rounded down, and gets back what
 * that may have taken. (D. Lemire, W. Mula: "Converting integers to decimal strings faster
 * with AVX-512", 2022.) A byte permutation then leaves out leading zeros and makes room for the
 * point. */
#include <immintrin.h>
#include <string.h>

#include "codec/chrome.h"
#include "codec/chrome_spans.h"
#include "codec/digits.h"

/* [n]: from 16 digits, those of a number of n, with the point before the last three. */
static const unsigned char places[16][16] = {
#define PLACE(n, i) ((i) < (n)-3 ? 8 * (16 - (n) + (i)) : 8 * (16 - (n) + (i)-1))
#define PLACES(n)                                                                                  \
    {                                                                                              \
        PLACE(n, 0) & 127, PLACE(n, 1) & 127, PLACE(n, 2) & 127, PLACE(n, 3) & 127,                \
            PLACE(n, 4) & 127, PLACE(n, 5) & 127, PLACE(n, 6) & 127, PLACE(n, 7) & 127,            \
            PLACE(n, 8) & 127, PLACE(n, 9) & 127, PLACE(n, 10) & 127, PLACE(n, 11) & 127,          \
            PLACE(n, 12) & 127, PLACE(n, 13) & 127, PLACE(n, 14) & 127, PLACE(n, 15) & 127         \
    }
    {0},       {0},       {0},        {0},        PLACES(4),  PLACES(5),  PLACES(6),  PLACES(7),
    PLACES(8), PLACES(9), PLACES(10), PLACES(11), PLACES(12), PLACES(13), PLACES(14), PLACES(15),
#undef PLACES
#undef PLACE
};

struct digits {
    __m512i factors, first, ten, zero, point;
};

/* A constant that the compiler does not know: it stays in a register, and is not made anew for each
 * number from one that is as scarce. */
static PLUMB_ALWAYS_INLINE __m512i keep(__m512i x)
{
    __asm__("" : "+v"(x));
    return x;
}

static PLUMB_ALWAYS_INLINE struct digits digits_open(void)
{
    return (struct digits){
        .factors =
            keep(_mm512_setr_epi64(45035996, 450359963, 4503599628, 45035996274, 450359962738,
                                   4503599627371, 45035996273705, 450359962737050)),
        .first = keep(_mm512_setr_epi64(30000000, 0, 0, 0, 0, 0, 0, 0)),
        .ten = keep(_mm512_set1_epi64(10)),
        .zero = keep(_mm512_set1_epi64('0')),
        .point = keep(_mm512_set1_epi8('.')),
    };
}

/* x < 10^8: eight characters, one in each lane. */
static PLUMB_ALWAYS_INLINE __m512i eight(const struct digits *d, uint64_t x)
{
    __m512i fraction = _mm512_madd52lo_epu64(d->first, _mm512_set1_epi64((int64_t)x), d->factors);
    return _mm512_madd52hi_epu64(d->zero, fraction, d->ten);
}

/* Digits of ns, at least four. */
static PLUMB_ALWAYS_INLINE unsigned digit_count(uint64_t ns)
{
    static const uint64_t tens[16] = {
        0,
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
    };
    ns = ns > 1000 ? ns : 1000;
    unsigned about = (64 - (unsigned)__builtin_clzll(ns)) * 1233 >> 12; /* bits * log10(2) */
    return about + (ns >= tens[about]);
}

static PLUMB_ALWAYS_INLINE unsigned char *put_us(unsigned char *p, const struct digits *d,
                                                 uint64_t ns)
{
    if (PLUMB_UNLIKELY(ns >= UINT64_C(1000000000000000)))
        return plumb_put_us(p, plumb_chrome_ns(ns));
    unsigned n = digit_count(ns);
    __m512i at = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)places[n]));
    __m512i text;
    if (PLUMB_LIKELY(ns <
                     100000000)) { /* the places are the same: no digit is before the last eight */
        text = _mm512_permutexvar_epi8(at, eight(d, ns));
    } else {
        uint64_t high = ns / 100000000;
        text = _mm512_permutex2var_epi8(eight(d, high), at, eight(d, ns - high * 100000000));
    }
    __m128i pointed = _mm_mask_mov_epi8(_mm512_castsi512_si128(text), (__mmask16)(1u << (n - 3)),
                                        _mm512_castsi512_si128(d->point));
    _mm_storeu_si128((__m128i *)(void *)p, pointed);
    return p + n + 1;
}

static PLUMB_ALWAYS_INLINE unsigned char *put_piece(unsigned char *p,
                                                    const struct plumb_chrome_piece *piece)
{
    const unsigned char *text = piece->text;
    size_t n = piece->bytes;
    if (n <= 32) { /* a wider store would often touch two lines of the cache */
        _mm256_storeu_si256((__m256i *)(void *)p,
                            _mm256_loadu_si256((const __m256i *)(const void *)text));
        return p + n;
    }
    _mm512_storeu_si512(p, _mm512_loadu_si512(text));
    if (PLUMB_UNLIKELY(n > 64))
        memcpy(p + 64, text + 64, n - 64);
    return p + n;
}

size_t plumb_chrome_spans_ifma(struct plumb_out *out, const struct plumb_chrome_piece *names,
                               const struct plumb_chrome_piece *lanes,
                               const struct plumb_chrome_span *spans, size_t n)
{
    const struct digits d = digits_open();
    unsigned char *p = out->base + out->used, *const end = out->base + out->size;
    size_t i = 0;
    for (; i < n; i++) {
        const struct plumb_chrome_piece *name = &names[spans[i].name],
                                        *lane = &lanes[spans[i].lane];
        if ((size_t)(end - p) < name->bytes + lane->bytes + PLUMB_CHROME_SPAN_REST)
            break;
        p = put_piece(p, name);
        p = put_piece(p, lane);
        p = put_us(p, &d, spans[i].ns);
        memcpy(p, ",\"dur\":", 8);
        p = put_us(p + 7, &d, spans[i].dur_ns);
        memcpy(p, "},\n", 4);
        p += 3;
    }
    out->used = (size_t)(p - out->base);
    return i;
}
