/* glob.h: shell patterns: '*', '?' and sets ("[a-z]", "[!0-9]"), as fnmatch() without flags, but
 * for texts that end at a given length, and without libc, for code that must not call it. Bytes,
 * not characters. Any thread. Cost O(pattern x text) at worst. */
#ifndef PLUMB_BASE_TEXT_GLOB_H
#define PLUMB_BASE_TEXT_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the end of the set that begins after '[' at `p`, and whether it has `c`. NULL: the set
 * is not closed, and '[' stands for itself. */
static inline const char *plumb_glob_set_(const char *p, const char *end, char c, bool *has)
{
    bool negated = p < end && (*p == '!' || *p == '^'), found = false;
    const char *first = p += negated;
    for (; p < end && (*p != ']' || p == first); p++) {
        unsigned char low = (unsigned char)*p, high = low;
        if (end - p > 2 && p[1] == '-' && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        found |= low <= (unsigned char)c && (unsigned char)c <= high;
    }
    *has = found != negated;
    return p < end ? p + 1 : NULL;
}

/* Returns the place after the pattern's first element if it matches `c`, otherwise NULL. */
static inline const char *plumb_glob_one_(const char *p, const char *end, char c)
{
    bool has;
    const char *after = *p == '[' ? plumb_glob_set_(p + 1, end, c, &has) : NULL;
    if (after)
        return has ? after : NULL;
    return *p == '?' || *p == c ? p + 1 : NULL;
}

/* Returns whether the pattern of `n` bytes matches all of `text`. */
static inline bool plumb_glob_matches(const char *pattern, size_t n, const char *text)
{
    const char *p = pattern, *end = pattern + n, *star = NULL, *again = NULL;
    while (*text) {
        const char *next = p < end && *p != '*' ? plumb_glob_one_(p, end, *text) : NULL;
        if (p < end && *p == '*') {
            star = ++p;
            again = text;
        } else if (next) {
            p = next;
            text++;
        } else if (star) {
            p = star; /* the last star takes one byte more */
            text = ++again;
        } else {
            return false;
        }
    }
    while (p < end && *p == '*')
        p++;
    return p == end;
}

#endif
