/* chrome_spans.c: lines of plain spans: two pieces, copied, and two numbers.
 *
 * Everything is written in whole registers and the place for the next one moves by what counts, so
 * that no length of a name or of a number costs a branch. */
#include <string.h>

#include "codec/chrome.h"
#include "codec/digits.h"

/* A line after its pieces: two numbers, what stands between, and what whole registers touch. */
enum { LINE_REST = 64 + PLUMB_CHROME_PAD };

static inline uint64_t clamp_ns(uint64_t ns)
{
    return ns <= PLUMB_CHROME_NS_MAX ? ns : PLUMB_CHROME_NS_MAX;
}

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

size_t plumb_chrome_spans(struct plumb_out *out, const struct plumb_chrome_piece *names,
                          const struct plumb_chrome_piece *tracks,
                          const struct plumb_chrome_span *spans, size_t n)
{
    unsigned char *p = out->base + out->used, *const end = out->base + out->size;
    size_t i = 0;
    for (; i < n; i++) {
        const struct plumb_chrome_piece *name = &names[spans[i].name],
                                        *track = &tracks[spans[i].track];
        if ((size_t)(end - p) < name->bytes + track->bytes + LINE_REST)
            break;
        p = put_piece(p, name);
        p = put_piece(p, track);
        p = plumb_put_us(p, clamp_ns(spans[i].ns));
        memcpy(p, ",\"dur\":", 8);
        p = plumb_put_us(p + 7, clamp_ns(spans[i].dur_ns));
        memcpy(p, "},\n", 4);
        p += 3;
    }
    out->used = (size_t)(p - out->base);
    return i;
}
