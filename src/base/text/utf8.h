/* utf8.h: well-formed UTF-8 as the Unicode standard has it (table 3-7): no surrogates, no overlong
 * forms, nothing above U+10FFFF. */
#ifndef PLUMB_BASE_TEXT_UTF8_H
#define PLUMB_BASE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the text at `p` is `\xHH`, which is how plumb writes a byte that is not UTF-8. */
static inline bool plumb_utf8_looks_escaped(const char *p)
{
    if (p[0] != '\\' || p[1] != 'x')
        return false;
    for (int i = 2; i < 4; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f') ||
              (p[i] >= 'A' && p[i] <= 'F')))
            return false;
    return true;
}

/* Returns the bytes of the well-formed sequence at `text` (NUL-terminated): 1..4, or 0 when there
 * is none. NUL is not a sequence. */
static inline size_t plumb_utf8_sequence(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t n;
    if (p[0] == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    /* The NUL at the end is not a continuation byte, so this never reads beyond it. */
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Returns whether the whole text is well-formed. */
static inline bool plumb_utf8_valid(const char *text)
{
    size_t n;
    while ((n = plumb_utf8_sequence(text)) > 0)
        text += n;
    return *text == '\0';
}

#endif
