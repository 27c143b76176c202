/* ascii.h: comparing words without regard to case, whatever the host's locale is (in a Turkish one
 * strcasecmp() takes "INFO" and "info" for different words). */
#ifndef PLUMB_BASE_TEXT_ASCII_H
#define PLUMB_BASE_TEXT_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline char plumb_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Compares the first `n` bytes; both texts have at least so many. */
static inline bool plumb_ascii_equal_n(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (plumb_ascii_lower(a[i]) != plumb_ascii_lower(b[i]))
            return false;
    return true;
}

static inline bool plumb_ascii_equal(const char *a, const char *b)
{
    size_t n = strlen(a);
    return n == strlen(b) && plumb_ascii_equal_n(a, b, n);
}

#endif
