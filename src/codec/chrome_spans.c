/* chrome_spans.c: lines of plain spans: two pieces, copied, and two numbers.
 *
 * Everything is written in whole registers and the place for the next one moves by what counts, so
 * that no length of a name or of a number costs a branch. */
#include <string.h>

#include "codec/chrome.h"
#include "codec/chrome_spans.h"
#include "codec/digits.h"

static PLUMB_ALWAYS_INLINE unsigned char *put_piece(unsigned char *p,
                                                    const struct plumb_chrome_piece *piece)
{
    const unsigned char *text = piece->text;
    size_t n = piece->bytes;
    memcpy(p, text, 64);
    if (PLUMB_UNLIKELY(n > 64))
        memcpy(p + 64, text + 64, n - 64);
    return p + n;
}

size_t plumb_chrome_spans_scalar(struct plumb_out *out, const struct plumb_chrome_piece *names,
                                 const struct plumb_chrome_piece *lanes,
                                 const struct plumb_chrome_span *spans, size_t n)
{
    unsigned char *p = out->base + out->used, *const end = out->base + out->size;
    size_t i = 0;
    for (; i < n; i++) {
        const struct plumb_chrome_piece *name = &names[spans[i].name],
                                        *lane = &lanes[spans[i].lane];
        if ((size_t)(end - p) < name->bytes + lane->bytes + PLUMB_CHROME_SPAN_REST)
            break;
        p = put_piece(p, name);
        p = put_piece(p, lane);
        p = plumb_put_us(p, plumb_chrome_ns(spans[i].ns));
        memcpy(p, ",\"dur\":", 8);
        p = plumb_put_us(p + 7, plumb_chrome_ns(spans[i].dur_ns));
        memcpy(p, "},\n", 4);
        p += 3;
    }
    out->used = (size_t)(p - out->base);
    return i;
}

size_t plumb_chrome_spans(struct plumb_out *out, const struct plumb_chrome_piece *names,
                          const struct plumb_chrome_piece *lanes,
                          const struct plumb_chrome_span *spans, size_t n)
{
#if defined(__x86_64__)
    if (plumb_chrome_has_ifma())
        return plumb_chrome_spans_ifma(out, names, lanes, spans, n);
#endif
    return plumb_chrome_spans_scalar(out, names, lanes, spans, n);
}

#if defined(__x86_64__)
bool plumb_chrome_has_ifma(void)
{
    __builtin_cpu_init(); /* the compiler's own constructor may be yet to run */
    return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
}
#endif
