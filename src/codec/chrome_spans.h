/* chrome_spans.h: what the writers of plain spans share. */
#ifndef PLUMB_CODEC_CHROME_SPANS_H
#define PLUMB_CODEC_CHROME_SPANS_H

#include <stdint.h>

#include "codec/chrome.h"

/* A line behind its pieces: two numbers, what stands between, and what whole registers touch. */
enum { PLUMB_CHROME_SPAN_REST = 64 + PLUMB_CHROME_PAD };

static inline uint64_t plumb_chrome_ns(uint64_t ns)
{
    return ns <= PLUMB_CHROME_NS_MAX ? ns : PLUMB_CHROME_NS_MAX;
}

#endif
